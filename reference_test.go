package profguard_test

import (
	"fmt"
	"go/ast"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/guard"
	"github.com/profguard/profguard/internal/golden"
	"github.com/profguard/profguard/internal/kinds"
	"github.com/profguard/profguard/internal/profiler"
	"github.com/profguard/profguard/internal/unit"
)

// docs/reference.md is written by hand, but for its tables. A table stands between two marks, and this
// test makes it from the code: from declarations, their comments, and calls. The meanings are written
// where the code is.

var region = regexp.MustCompile(`(?s)(<!-- from the code: ([a-z ]+) -->\n).*?(<!-- end -->)`)

// tables are the tables of docs/reference.md.
var tables = map[string]func(t *testing.T) string{
	"metrics":          guardMetrics,
	"probe metrics":    probeMetrics,
	"label values":     labelValues,
	"outcomes":         outcomes,
	"dump results":     dumpResults,
	"export results":   exportResults,
	"events":           events,
	"event attributes": eventAttributes,
	"started":          startedLine,
	"probe results":    probeResults,
	"probe reasons":    probeReasons,
	"settings":         settings,
	"units":            units,
	"kinds":            profileKinds,
	"figures":          figures,
	"verdicts":         verdicts,
	"states":           states,
	"activities":       activities,
	"environment":      environment,
	"flags":            flags,
}

// TestDocReference makes the tables. Run it with -update after a change of the code.
func TestDocReference(t *testing.T) {
	made := map[string]bool{}
	text := region.ReplaceAllStringFunc(read(t, "docs/reference.md"), func(found string) string {
		m := region.FindStringSubmatch(found)
		table := tables[m[2]]
		if table == nil {
			t.Fatalf("docs/reference.md: expected the name of a table in reference_test.go, found %q", m[2])
		}
		made[m[2]] = true
		return m[1] + "\n" + table(t) + "\n" + m[3]
	})
	for name := range tables {
		if !made[name] {
			t.Errorf("docs/reference.md has no mark for the table %q", name)
		}
	}
	golden.Compare(t, "../docs/reference.md", text)
}

// table is a table in markdown. All rows must be whole: each cell is a text that the code has somewhere.
func table(t testing.TB, head []string, rows [][]string) string {
	t.Helper()
	var b strings.Builder
	line := func(cells []string) { b.WriteString("| " + strings.Join(cells, " | ") + " |\n") }
	line(head)
	b.WriteString(strings.Repeat("|---", len(head)) + "|\n")
	for _, row := range rows {
		if len(row) != len(head) || row[0] == "" || row[len(row)-1] == "" {
			t.Errorf("the row %q of %q is not whole: is a comment missing in the code?", row, head)
		}
		for i := range row {
			row[i] = strings.ReplaceAll(row[i], "|", `\|`)
		}
		line(row)
	}
	if len(rows) == 0 {
		t.Errorf("the table %q has no rows", head)
	}
	return b.String()
}

func code(s string) string { return "`" + s + "`" }

// codes are texts as code, or "none".
func codes(list []string) string {
	if len(list) == 0 {
		return "none"
	}
	return "`" + strings.Join(list, "`, `") + "`"
}

func guardMetrics(t *testing.T) string {
	list := metricsIn(t, "internal/series/series.go", "guard/metrics.go")
	var names []string
	for _, m := range list {
		names = append(names, m.name)
	}
	if described := describedByGuard(); !slices.Equal(described, slices.Sorted(slices.Values(names))) {
		t.Errorf("a guard describes the metrics %q, and the source has %q", described, names)
	}
	files := [][2]string{{"alerts", read(t, "docs/alerts.yml")}, {"dashboard", read(t, "docs/grafana.json")}}
	var rows [][]string
	for _, m := range list {
		var users []string
		for _, f := range files {
			if regexp.MustCompile(m.name + `\b`).MatchString(f[1]) {
				users = append(users, f[0])
			}
		}
		rows = append(rows, []string{code(m.name), codes(m.labels), strings.Join(users, ", "), m.help})
	}
	return table(t, []string{"Metric", "Labels", "Used by", "Meaning"}, rows)
}

func probeMetrics(t *testing.T) string {
	var rows [][]string
	for _, m := range metricsIn(t, "internal/probe/target.go", "internal/probe/probe.go") {
		rows = append(rows, []string{code(m.name), codes(m.labels), m.help})
	}
	return table(t, []string{"Metric", "Labels", "Meaning"}, rows)
}

func probeResults(t *testing.T) string {
	return table(t, []string{"Result", "Meaning"}, rowsOf(t, "internal/probe", "probeResults"))
}

func probeReasons(t *testing.T) string {
	var rows [][]string
	inFunc(t, "internal/probe", "reasonOf", func(file *ast.File, n ast.Node) {
		if r, is := n.(*ast.ReturnStmt); is && text(r.Results[0]) != "" {
			rows = append(rows, []string{code(text(r.Results[0])), behind(file, r)})
		}
	})
	return table(t, []string{"Reason", "Meaning"}, rows)
}

// labelValues are the values of labels, as a guard that has just started has them.
func labelValues(t *testing.T) string {
	var rows [][]string
	for _, v := range valuesOfGuard() {
		if v.label != "outcome" && v.label != "result" { // which have tables of their own
			rows = append(rows, []string{code(v.metric), code(v.label), codes(v.values)})
		}
	}
	return table(t, []string{"Metric", "Label", "Values"}, rows)
}

func outcomes(t *testing.T) string {
	var rows [][]string
	for i, c := range constants(t, "internal/profiler", "Outcome") {
		if o := profiler.Outcome(i); o < profiler.Canceled {
			rows = append(rows, []string{code(o.String()), c.doc})
		}
	}
	return table(t, []string{"Outcome", "Meaning"}, rows)
}

func dumpResults(t *testing.T) string {
	rows := rowsOf(t, "internal/dumps", "reasons")
	for _, c := range constants(t, "guard", "tooSoon") {
		rows = append(rows, []string{code(c.value), c.doc})
	}
	checkValues(t, "profguard_dumps_total", rows)
	return table(t, []string{"Result", "Meaning"}, rows)
}

func exportResults(t *testing.T) string {
	names := rowsOf(t, "internal/export", "results")
	var rows [][]string
	for i, c := range constants(t, "internal/export", "sent") {
		rows = append(rows, []string{names[i][0], c.doc})
	}
	return table(t, []string{"Result", "Meaning"}, rows)
}

// checkValues compares the first cells of rows with the values that the metric of a guard has.
func checkValues(t *testing.T, metric string, rows [][]string) {
	t.Helper()
	var listed []string
	for _, row := range rows {
		listed = append(listed, strings.Trim(row[0], "`"))
	}
	slices.Sort(listed)
	for _, v := range valuesOfGuard() {
		if v.metric == metric && !slices.Equal(v.values, listed) {
			t.Errorf("%s has the values %q, and the source lists %q", metric, v.values, listed)
		}
	}
}

func events(t *testing.T) string {
	severities := cases(t, "guard", "level")
	var rows [][]string
	for _, c := range constants(t, "guard", "EventName") {
		severity := severities[c.name]
		if severity == "" {
			severity = severities[""]
		}
		severity = strings.ToUpper(strings.TrimPrefix(severity, "Level"))
		rows = append(rows, []string{code(c.value), code("guard." + c.name), severity, c.doc})
	}
	return table(t, []string{"Event", "In Go", "Severity", "When"}, rows)
}

func eventAttributes(t *testing.T) string {
	var rows [][]string
	for _, a := range attributesIn(t) {
		row := []string{codes(a.names), "", a.doc}
		if a.logged != "" {
			row[1] = code(a.logged)
		}
		if len(a.names) == 0 {
			row[0] = "none"
		}
		rows = append(rows, row)
	}
	return table(t, []string{"Attribute of OpenTelemetry", "In the log", "Meaning"}, rows)
}

// startedLine is the line that Start logs.
func startedLine(t *testing.T) string {
	var rows [][]string
	for _, a := range loggedAtStart(t) {
		rows = append(rows, []string{code(a.logged), a.doc})
	}
	return table(t, []string{"In the log", "Meaning"}, rows)
}

// settings are the fields of Config, those of its fields that are structs of package guard, and those of
// Checker.
func settings(t *testing.T) string {
	var b strings.Builder
	inCode := defaultsInCode(t)
	for _, s := range structs(t, "Config", "Checker") {
		var rows [][]string
		for _, f := range s.fields {
			checkDefault(t, s.name+"."+f.name, f.value, inCode)
			rows = append(rows, []string{code(f.name), code(f.kind), f.value, f.doc})
		}
		fmt.Fprintf(&b, "### guard.%s\n\n%s\n", s.name, table(t, []string{"Field", "Type", "Default", "Meaning"}, rows))
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// checkDefault compares the default that a comment says with that in the code, if it is there.
func checkDefault(t testing.TB, field, said string, inCode map[string]string) {
	if want := inCode[field]; want != "" && !strings.HasPrefix(said, want) {
		t.Errorf("guard.%s: the comment says Default: %q, and the code has %q", field, said, want)
	}
}

// spy is a test that fails in secret.
type spy struct {
	testing.TB
	said string
}

func (s *spy) Helper()                      {}
func (s *spy) Errorf(f string, args ...any) { s.said += fmt.Sprintf(f, args...) }

// TestDocReferenceFires: a meaning or a default that is missing or wrong fails.
func TestDocReferenceFires(t *testing.T) {
	inCode := defaultsInCode(t)
	for name, tt := range map[string]struct {
		do   func(t testing.TB)
		want string
	}{
		"a meaning":           {func(t testing.TB) { table(t, []string{"A", "B"}, [][]string{{"`x`", "It is x."}}) }, ""},
		"no meaning":          {func(t testing.TB) { table(t, []string{"A", "B"}, [][]string{{"`x`", ""}}) }, "not whole"},
		"no rows":             {func(t testing.TB) { table(t, []string{"A", "B"}, nil) }, "no rows"},
		"the default":         {func(t testing.TB) { checkDefault(t, "DumpLimits.Age", "168h (7 days)", inCode) }, ""},
		"another default":     {func(t testing.TB) { checkDefault(t, "DumpLimits.Age", "24h", inCode) }, `the code has "168h"`},
		"a forgotten default": {func(t testing.TB) { checkDefault(t, "Config.Every", "", inCode) }, `the code has "1m"`},
		"a default by flag":   {func(t testing.TB) { checkDefault(t, "Checker.Max", "5s", inCode) }, `the code has "30s"`},
	} {
		s := &spy{}
		tt.do(s)
		if !strings.Contains(s.said, tt.want) || (s.said == "") != (tt.want == "") {
			t.Errorf("%s: expected %q, found %q", name, tt.want, s.said)
		}
	}
}

func units(t *testing.T) string {
	names := map[unit.Dimension][]string{}
	named, _, _ := strings.Cut(unit.List(), ", or none")
	for _, name := range strings.Split(named, ", ") {
		u, _ := unit.Named(name)
		names[u.Dimension] = append(names[u.Dimension], u.Name)
	}
	var rows [][]string
	for i, c := range constants(t, "internal/unit", "Dimension") {
		if d := unit.Dimension(i); d != unit.Unknown {
			rows = append(rows, []string{strings.ToLower(c.name), codes(names[d]), code(d.String()), c.doc})
		}
	}
	return table(t, []string{"Quantity", "Units in budgets", "Label `unit`", "Meaning"}, rows)
}

func profileKinds(t *testing.T) string {
	docs := map[string]string{}
	for _, c := range constants(t, "internal/kinds", "CPU") {
		docs[c.value] = c.doc
	}
	taken := constants(t, "internal/kinds", "Taken")
	var rows [][]string
	for _, k := range kinds.All {
		labels := "no"
		if k.HasLabels {
			labels = "yes"
		}
		rows = append(rows, []string{code(k.Name), taken[k.Taken-1].doc, labels, docs[k.Name]})
	}
	return table(t, []string{"Kind", "Taken", "Has labels", "Meaning"}, rows)
}

func figures(t *testing.T) string {
	var rows [][]string
	for _, c := range constants(t, "budget", "Figure") {
		rows = append(rows, []string{code(c.value), c.doc})
	}
	return table(t, []string{"Figure", "Meaning"}, rows)
}

func verdicts(t *testing.T) string {
	var rows [][]string
	for i, c := range constants(t, "budget", "Verdict") {
		rows = append(rows, []string{code(budget.Verdict(i).String()), c.doc})
	}
	return table(t, []string{"Verdict", "Meaning"}, rows)
}

func states(t *testing.T) string {
	var rows [][]string
	for i, c := range constants(t, "guard", "State") {
		s := guard.State(i)
		rows = append(rows, []string{code(s.String()), code(fmt.Sprint(int(s - guard.StateOK))), c.doc})
	}
	return table(t, []string{"State", "Value of `profguard_budget_state`", "Meaning"}, rows)
}

func activities(t *testing.T) string {
	var rows [][]string
	for _, c := range constants(t, "guard", "Activity") {
		rows = append(rows, []string{code(c.value), c.doc})
	}
	return table(t, []string{"The guard is", "Meaning"}, rows)
}

// environment are the variables that the libraries read.
func environment(t *testing.T) string {
	var found []string
	dirs := goFolders(t, "export")
	for _, p := range list(t, "-deps", "./budget", "./guard", "./label") {
		if dir, is := strings.CutPrefix(p.ImportPath, module+"/"); is {
			dirs = append(dirs, dir)
		}
	}
	for _, dir := range dirs {
		found = append(found, variablesIn(t, dir)...)
	}
	if len(found) == 0 {
		return "None.\n"
	}
	return codes(found) + ".\n"
}

var (
	helpOf = regexp.MustCompile(`(?ms)^\$ profguard (\w+) -h\n(.*?)^\(\d\)$`)
	flagOf = regexp.MustCompile(`(?m)^  -(\w[\w-]*)(?: (\S+))?(?:\n    \t|\t)(.*)\n`)
)

// flags are those that the command prints: its own test keeps the file.
func flags(t *testing.T) string {
	var b strings.Builder
	for _, m := range helpOf.FindAllStringSubmatch(read(t, "cmd/profguard/testdata/commands.txt"), -1) {
		var rows [][]string
		for _, f := range flagOf.FindAllStringSubmatch(m[2], -1) {
			rows = append(rows, []string{code(strings.TrimSpace("-" + f[1] + " " + f[2])), sentence(f[3])})
		}
		fmt.Fprintf(&b, "### profguard %s\n\n%s\n", m[1], table(t, []string{"Flag", "Meaning"}, rows))
	}
	return strings.TrimSuffix(b.String(), "\n")
}
