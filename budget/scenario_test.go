package budget_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	. "github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/bridge"
	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/folded"
	"github.com/profguard/profguard/internal/judge"
)

var updateScenarios = flag.Bool("update-scenarios", false, "write what the scenarios in testdata result in")

// TestScenarios judges the profiles in testdata/scenarios. In each file,
//
//	-- profile --    is the window, as package folded reads it
//	-- baseline --   what "grows" budgets compare with
//	-- facts --      one Facts field a line, see readFacts
//	-- budgets --    each with a comment that says the verdict: "# fail"
//	-- want --       the results in full, written by -update-scenarios
//
// The comment is written by hand, so that an update cannot turn a verdict round
// unseen.
func TestScenarios(t *testing.T) {
	files, err := filepath.Glob("testdata/scenarios/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no scenarios", err)
	}
	for _, name := range files {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txt"), func(t *testing.T) { playScenario(t, name) })
	}
}

func playScenario(t *testing.T, name string) {
	archive, err := txtar.ParseFile(name)
	if err != nil {
		t.Fatal(err)
	}
	section := map[string]string{}
	for _, f := range archive.Files {
		section[f.Name] = string(f.Data)
	}
	set, err := Parse(section["budgets"])
	if err != nil {
		t.Fatal(err)
	}
	p := folded.Must(section["profile"])
	facts := readFacts(t, section["facts"])
	if text := section["baseline"]; text != "" {
		if facts.Baseline, err = new(decode.Decoder).Profile(folded.Must(text)); err != nil {
			t.Fatal(err)
		}
	}
	rules, err := bridge.Rules(set)
	if err != nil {
		t.Fatal(err)
	}
	j := judge.New(rules)
	table, err := new(decode.Decoder).Profile(p)
	if err != nil {
		t.Fatal(err)
	}
	findings, err := j.Table(t.Context(), table, facts)
	if err != nil {
		t.Fatal(err)
	}
	results := set.Results(findings)

	var expected []string
	for line := range strings.Lines(section["budgets"]) {
		if sentence, comment, ok := strings.Cut(line, " # "); ok && strings.TrimSpace(sentence) != "" {
			expected = append(expected, strings.TrimSpace(comment))
		}
	}
	if len(expected) != len(set) {
		t.Fatalf("%d of %d budgets have a comment that says the verdict", len(expected), len(set))
	}
	var got strings.Builder
	for i, r := range results {
		if r.Verdict.String() != expected[i] {
			t.Errorf("%s: %s, want %s\n%s", r.Budget, r.Verdict, expected[i], r)
		}
		fmt.Fprintf(&got, "%s\n", describe(r, &findings[i]))
	}
	if *updateScenarios {
		for i := range archive.Files {
			if archive.Files[i].Name == "want" {
				archive.Files = append(archive.Files[:i], archive.Files[i+1:]...)
				break
			}
		}
		archive.Files = append(archive.Files, txtar.File{Name: "want", Data: []byte(got.String())})
		if err := os.WriteFile(name, txtar.Format(archive), 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(section["want"], got.String()); diff != "" {
		t.Errorf("results (-want +got), -update-scenarios writes them:\n%s", diff)
	}
}

// describe shows what a result says as values. The sentences for these are in package words' tests.
func describe(r Result, f *judge.Finding) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s\n  %.6g [%.6g, %.6g], %d of %d samples\n  %s", strings.ToUpper(r.Verdict.String()), r.Budget,
		r.Value, r.Low, r.High, r.Hits, r.Samples, strings.TrimPrefix(fmt.Sprintf("%T", f.Reason), "judge."))
	if values := fmt.Sprint(f.Reason); values != "{}" {
		b.WriteString(" " + pointer.ReplaceAllString(values, "..."))
	}
	if f.Notes != (judge.Notes{}) {
		fmt.Fprintf(&b, "\n  %+v", f.Notes)
	}
	for _, o := range r.Offenders {
		fmt.Fprintf(&b, "\n  offender %s %.6g [%.6g, %.6g]", frame(o.Frame), o.Share, o.Low, o.High)
		if o.Within.Function != "" {
			fmt.Fprintf(&b, ", within %s %.6g", frame(o.Within), o.Within.Share)
		}
		if o.Blame.Function != "" {
			fmt.Fprintf(&b, ", blame %s %.6g", frame(o.Blame), o.Blame.Share)
		}
		if o.Owner.Function != "" {
			fmt.Fprintf(&b, ", owner %s %.6g", frame(o.Owner), o.Owner.Share)
		}
		b.WriteString(way("<", o.Callers) + way(">", o.Callees))
	}
	if more := r.Over - len(r.Offenders); more > 0 {
		fmt.Fprintf(&b, "\n  %d more", more)
	}
	return b.String() + "\n"
}

var pointer = regexp.MustCompile(`0x[0-9a-f]+`)

// way is a line with callers or callees.
func way(mark string, frames []Frame) (text string) {
	for i, f := range frames {
		if i == 0 {
			text = "\n   "
		}
		text += fmt.Sprintf(" %s %s %.6g", mark, frame(f), f.Share)
	}
	return text
}

func frame(f Frame) string { return fmt.Sprintf("%s %s:%d", f.Function, f.File, f.Line) }

// readFacts reads lines such as "figure cores 1.5", "no-figure gc none has ended", "work request 1200",
// "baseline-work request 800", "kind mutex", "elapsed 10s", "module example.com/app",
// "not-linked portlist".
func readFacts(t *testing.T, text string) judge.Facts {
	t.Helper()
	f := judge.Facts{Figures: map[string]float64{}, Work: map[string]float64{}, BaselineWork: map[string]float64{}}
	for line := range strings.Lines(text) {
		w := strings.Fields(line)
		if len(w) == 0 {
			continue
		}
		value := func() float64 {
			v, err := strconv.ParseFloat(w[2], 64)
			if err != nil {
				t.Fatal(err)
			}
			return v
		}
		switch w[0] {
		case "figure":
			f.Figures[w[1]] = value()
		case "no-figure":
			if f.NoFigures == nil {
				f.NoFigures = map[string]string{}
			}
			f.NoFigures[w[1]] = strings.Join(w[2:], " ")
		case "work":
			f.Work[w[1]] = value()
		case "baseline-work":
			f.BaselineWork[w[1]] = value()
		case "kind":
			f.Kind = w[1]
		case "elapsed":
			d, err := time.ParseDuration(w[1])
			if err != nil {
				t.Fatal(err)
			}
			f.Elapsed = d
		case "module":
			f.Module = w[1]
		case "not-linked":
			f.NotLinked = append(f.NotLinked, w[1])
		default:
			t.Fatalf("unknown fact %q", line)
		}
	}
	return f
}
