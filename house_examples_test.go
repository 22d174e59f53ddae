package profguard_test

import (
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// shownElsewhere are the exported types without an example of their own, with the reason.
var shownElsewhere = map[string]string{
	"budget.Amount": "a literal in ExampleBudget", "budget.Baseline": "a literal in ExampleFacts", "budget.Condition": "a field of Budget",
	"budget.Figure": "its constants", "budget.Frame": "a part of Offender", "budget.Kind": "its constants", "budget.Offender": "printed in ExampleResult",
	"budget.Rule": "its constants", "budget.Verdict": "printed in ExampleResult",
	"guard.Activity": "its constants", "guard.Baseline": "budget.Baseline", "guard.BudgetStatus": "in ExampleGuard_Status", "guard.Build": "a part of Status",
	"guard.DumpLimits": "a literal in ExampleConfig", "guard.EventName": "its constants", "guard.Export": "a literal in ExampleExporter",
	"guard.Profile": "what ExampleExporter gets", "guard.Release": "a part of Status", "guard.ReleaseFunction": "a part of Release",
	"guard.State": "in ExampleGuard_Status", "guard.Status": "in ExampleGuard_Status", "guard.TB": "a *testing.T in ExampleCheck", "guard.WindowStatus": "a part of Status",
	"bucket.Description": "the JSON beside a profile",
}

// methodsOf are the methods that have an example, too, as programs call them.
var methodsOf = map[string][]string{
	"budget": {"Set_Judge", "Set_JudgeReader"},
	"guard":  {"Guard_Feed", "Guard_Handler", "Guard_SetBudgets", "Guard_Status"},
}

// TestExamples: each exported function and type, and the methods above, has an example that runs: with an // Output.
func TestExamples(t *testing.T) {
	planted := map[string]*ast.File{}
	for name, source := range map[string]string{
		"a.go":      "package guard\nfunc Shown() {}\ntype Bare struct{}\ntype hidden struct{}\ntype Build struct{}\nfunc Compiled() {}",
		"a_test.go": "package guard\nfunc ExampleShown() {\n\t// Output:\n}\nfunc ExampleCompiled() {}",
	} {
		f, err := parser.ParseFile(token.NewFileSet(), name, source, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		planted[name] = f
	}
	if got := strings.Join(withoutExample("guard", planted, nil), " "); got != "Bare Compiled" {
		t.Errorf("of a planted package: found %s", got)
	}
	dirs, err := filepath.Glob("export/*")
	if err != nil || len(dirs) == 0 {
		t.Fatal(dirs, err)
	}
	for _, dir := range append(dirs, "budget", "guard", "label") {
		for _, name := range withoutExample(filepath.Base(dir), parsed(t, dir), methodsOf[dir]) {
			t.Errorf("%s: expected Example%s with an // Output, found none", dir, name)
		}
	}
}

// withoutExample are the names of a package that have no example.
func withoutExample(pkg string, files map[string]*ast.File, wanted []string) (names []string) {
	shown := map[string]bool{}
	for path, file := range files {
		for _, e := range doc.Examples(file) {
			of, variant, _ := strings.Cut(e.Name, "_")
			runs := e.Output != "" || e.EmptyOutput
			shown[of] = shown[of] || runs
			shown[of+"_"+variant] = shown[of+"_"+variant] || runs
		}
		if !strings.HasSuffix(path, "_test.go") {
			wanted = append(wanted, functionsAndTypes(file)...)
		}
	}
	slices.Sort(wanted)
	return slices.DeleteFunc(wanted, func(name string) bool { return shown[name] || shownElsewhere[pkg+"."+name] != "" })
}

// functionsAndTypes are those that a file exports.
func functionsAndTypes(file *ast.File) (names []string) {
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil {
				names = append(names, d.Name.Name)
			}
		case *ast.GenDecl:
			for _, s := range d.Specs {
				if s, is := s.(*ast.TypeSpec); is {
					names = append(names, s.Name.Name)
				}
			}
		}
	}
	return slices.DeleteFunc(names, func(name string) bool { return !ast.IsExported(name) })
}
