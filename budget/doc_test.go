package budget_test

import (
	"go/ast"
	"go/doc/comment"
	goparser "go/parser"
	gotoken "go/token"
	"os"
	"regexp"
	"runtime/pprof"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	. "github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/kinds"
	"github.com/profguard/profguard/internal/unit"
)

// TestDefaultDoc compares the documentation of Default with what it returns.
func TestDefaultDoc(t *testing.T) {
	file, err := goparser.ParseFile(gotoken.NewFileSet(), "default.go", nil, goparser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Name.Name != "Default" {
			continue
		}
		for _, block := range new(comment.Parser).Parse(f.Doc.Text()).Content {
			code, ok := block.(*comment.Code)
			if !ok {
				continue
			}
			shown, err := Parse(code.Text)
			if err != nil {
				t.Fatal(err)
			}
			if pprof.Lookup("goroutineleak") == nil {
				shown = slices.DeleteFunc(shown, func(b Budget) bool { return b.Rule == "leaked" })
			}
			if diff := cmp.Diff(Default(), shown); diff != "" {
				t.Errorf("Default's documentation shows other budgets (-returned +shown):\n%s", diff)
			}
			return
		}
	}
	t.Error("Default's documentation shows no budgets")
}

// docBlocks returns the indented blocks of the package documentation in this
// folder, by the heading that they stand under.
func docBlocks(t *testing.T) map[string][]string {
	t.Helper()
	file, err := goparser.ParseFile(gotoken.NewFileSet(), "doc.go", nil, goparser.ParseComments|goparser.PackageClauseOnly)
	if err != nil {
		t.Fatal(err)
	}
	blocks := map[string][]string{}
	heading := ""
	for _, block := range new(comment.Parser).Parse(file.Doc.Text()).Content {
		switch block := block.(type) {
		case *comment.Heading:
			heading = string(block.Text[0].(comment.Plain))
		case *comment.Code:
			blocks[heading] = append(blocks[heading], strings.TrimSuffix(block.Text, "\n"))
		}
	}
	return blocks
}

// TestDocSentences parses the sentences in the documentation, which shows them
// as they print.
func TestDocSentences(t *testing.T) {
	blocks := docBlocks(t)
	headings := []string{"Budgets", "Values of a label", "Patterns", "Process and figures", "Limits", "Rules", "Clauses"}
	for heading := range blocks {
		if other := []string{"", "Grammar", "Canonical form"}; !slices.Contains(other, heading) && !slices.Contains(headings, heading) {
			headings = append(headings, heading)
		}
	}
	for _, heading := range headings {
		if len(blocks[heading]) == 0 {
			t.Errorf("no sentences under %q", heading)
		}
		for _, block := range blocks[heading] {
			if first, _, _ := strings.Cut(block, " "); slices.Contains([]string{"", "frame", "unit", "kind", "clause", "verdict"}, first) {
				continue // a table
			}
			for line := range strings.SplitSeq(block, "\n") {
				set, err := Parse(line)
				if err != nil {
					t.Errorf("under %q: %v", heading, err)
					continue
				}
				sentence := line
				if before, _, ok := strings.Cut(line, "  #"); ok {
					sentence = strings.TrimRight(before, " ")
				}
				if got := set.String(); got != sentence {
					t.Errorf("under %q: %q prints as %q", heading, sentence, got)
				}
				if err := set.Validate(); err != nil {
					t.Errorf("under %q: %v", heading, err)
				}
			}
		}
	}
}

// TestDocUnits holds the documentation's table of units against the code.
func TestDocUnits(t *testing.T) {
	var table string
	for _, block := range docBlocks(t)["Limits"] {
		if strings.Contains(block, "above, below   ") {
			table = block
		}
	}
	lines := strings.Split(table, "\n")
	if len(lines) < 2 {
		t.Fatal("no table of units under Limits")
	}
	limits, grows := strings.Index(lines[0], "above, below"), strings.Index(lines[0], "grows")
	cell := func(line string, from, to int) string {
		if from >= len(line) {
			return ""
		}
		return strings.TrimSpace(line[from:min(to, len(line))])
	}
	text := func(b Budget) string {
		var units []string
		for _, f := range b.Fits() {
			name := map[unit.Dimension]string{unit.Share: "%", unit.Points: "points", unit.Cores: "cores", unit.Time: "duration", unit.Bytes: "bytes", unit.Count: "count"}[f.Dimension]
			switch {
			case !f.Alone:
				name += " per work"
			case f.Per:
				name += ", also per work"
			}
			units = append(units, name)
		}
		joined := strings.Join(units, ", ")
		joined = strings.Replace(joined, "bytes, also per work, count, also per work", "bytes or count, also per work", 1)
		return joined
	}
	for _, line := range lines[1:] {
		// "process, of heap" is no beginning of a sentence, so that nobody copies it.
		subjects := strings.Replace(cell(line, 0, limits), ", of ", " of ", 1)
		for subject := range strings.SplitSeq(subjects, ", ") {
			b := Budget{Subject: subject}
			if about, kind, ok := strings.Cut(subject, " of "); ok {
				b.Subject, b.Kind = about, Kind(kind)
			} else if slices.Contains(kinds.Names(), subject) && !(subject == "heap" && strings.Contains(line, "rss")) {
				b.Subject, b.Kind = "main.f", Kind(subject)
			}
			if got, want := text(b), cell(line, limits, grows); got != want {
				t.Errorf("the table has %q for %q, the code %q", want, subject, got)
			}
			b.Rule = "grows"
			if got, want := text(b), cell(line, grows, len(line)); got != want {
				t.Errorf("the table has %q for growth of %q, the code %q", want, subject, got)
			}
		}
	}
}

// TestDocClauses holds the table of clauses against the parser.
func TestDocClauses(t *testing.T) {
	subjects := map[string]string{
		"function": "no function above 64MiB", "package": "no package above 64MiB", "pattern": "crypto/tls below 64MiB", "process": "process below 64MiB",
		"label": "no tenant above 30%", "figure": "heap below 64MiB", "leaked": "no goroutine leaked",
	}
	clauses := map[string]string{
		"cumulative": "cumulative", "flat": "flat", "per": "per request", "of": "of allocs", "where": "where a=b", "in": "in main.f",
		"except": "except main", "when": "when gc above 5%", "for": "for 3 windows",
	}
	var table string
	for _, block := range docBlocks(t)["Clauses"] {
		if strings.HasPrefix(block, "clause ") {
			table = block
		}
	}
	shown := map[string]bool{}
	for line := range strings.Lines(table) {
		cells := regexp.MustCompile(` {2,}`).Split(strings.TrimSpace(line), 2)
		if cells[0] == "clause" {
			continue
		}
		for name := range strings.SplitSeq(cells[0], ", ") {
			shown[name] = true
			for about, sentence := range subjects {
				switch {
				case about == "label" && name == "per":
					sentence = "no tenant above 5ms"
				case about != "label" && about != "figure" && about != "leaked" && name != "of":
					sentence += " of allocs"
				}
				sentence += " " + clauses[name]
				if about == "label" {
					sentence = strings.Replace(sentence, "of allocs", "of goroutine", 1)
				}
				_, err := Parse(sentence)
				if takes := strings.HasPrefix(cells[1], "all") || slices.Contains(strings.Split(cells[1], ", "), about); takes != (err == nil) {
					t.Errorf("the table says %t of %s after %s, and %q: %v", takes, name, about, sentence, err)
				}
			}
		}
	}
	for name := range clauses {
		if !shown[name] {
			t.Errorf("the table of clauses lacks %s", name)
		}
	}
}

// TestDocListsUnits: the reference names all units in its text and in its grammar.
func TestDocListsUnits(t *testing.T) {
	text, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	names := strings.FieldsFunc(strings.TrimSuffix(unit.List(), ", or none for a count"), func(r rune) bool { return r == ',' || r == ' ' })
	_, grammar, _ := strings.Cut(string(text), "# Grammar")
	table := docTable(t, "unit")
	for _, name := range names {
		if !strings.Contains(grammar, `"`+name+`"`) {
			t.Errorf("the grammar lacks %s", name)
		}
		if !regexp.MustCompile(`(?m)^([a-zA-Z]+, )*` + regexp.QuoteMeta(name) + `[ ,]`).MatchString(table) {
			t.Errorf("the table of units lacks %s", name)
		}
	}
}

// docTable is the table under Limits whose first line begins with a word.
func docTable(t *testing.T, first string) string {
	t.Helper()
	for _, block := range docBlocks(t)["Limits"] {
		if strings.HasPrefix(block, first+" ") {
			return block
		}
	}
	t.Fatalf("no table under Limits begins with %q", first)
	return ""
}

// TestDocListsKinds: the reference names all kinds of profile in its tables of kinds and limits, and in
// its grammar.
func TestDocListsKinds(t *testing.T) {
	text, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	_, grammar, _ := strings.Cut(string(text), "# Grammar")
	for _, name := range kinds.Names() {
		if !strings.Contains(grammar, `"`+name+`"`) {
			t.Errorf("the grammar lacks %s", name)
		}
		if !regexp.MustCompile(`(?m)^([a-z]+, )*` + name + `[ ,]`).MatchString(docTable(t, "")) {
			t.Errorf("the table of limits in doc.go lacks %s", name)
		}
		if !strings.Contains(docTable(t, "kind"), "\n"+name+" ") {
			t.Errorf("the table of kinds in doc.go lacks %s", name)
		}
	}
}

// TestDocCanonical holds "written -> printed" against the code.
func TestDocCanonical(t *testing.T) {
	count := 0
	for _, block := range docBlocks(t)["Canonical form"] {
		for line := range strings.SplitSeq(block, "\n") {
			written, printed, ok := strings.Cut(line, "->")
			if !ok {
				t.Errorf("no arrow in %q", line)
				continue
			}
			count++
			set, err := Parse(strings.TrimSpace(written))
			if err != nil {
				t.Error(err)
				continue
			}
			if got, want := set.String(), strings.TrimSpace(printed); got != want {
				t.Errorf("%q prints as %q, want %q", strings.TrimSpace(written), got, want)
			}
		}
	}
	if count == 0 {
		t.Error("no examples")
	}
}
