package check

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/folded"
	"github.com/profguard/profguard/internal/reference"
	"github.com/profguard/profguard/internal/release"
)

// TestFault_41_BaselineOfAnotherGo: a check says by which toolchain its baseline was
// made, if it was another.
func TestFault_41_BaselineOfAnotherGo(t *testing.T) {
	for _, test := range []struct{ name, made, note string }{
		{"this one", toolchain(reference.ThisBuild()), ""},
		{"another", "go1.25.1 plan9/386", "was made by go1.25.1 plan9/386, this is " + toolchain(reference.ThisBuild())},
	} {
		p := folded.Must("cpu 10s\nmain.main;main.work 1000\n")
		path := filepath.Join(t.TempDir(), "base.pprof")
		release, arch, _ := strings.Cut(test.made, " ")
		data := reference.EncodeWhole(side(release, arch, map[string]float64{"call": 100}), tableOf(p), time.Now())
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
		r := &run{Config: Config{BaselineFile: path}, budgets: budgets{rules: rulesOf(t, budget.Must("process grows below 10% per call"))}}
		if problem := r.loadBaseline(); problem != "" || r.reference.Pieces.Work["call"] != 100 {
			t.Errorf("%s: %q, %v", test.name, problem, r.reference.Pieces.Work)
		}
		if notes := strings.Join(r.notes, "\n"); !strings.Contains(notes, test.note) || (notes == "") != (test.note == "") {
			t.Errorf("%s: the notes are %q, want one with %q", test.name, notes, test.note)
		}
	}
}

// side is a baseline of one window.
func side(goVersion, arch string, work map[string]float64) *release.Side {
	s := &release.Side{Build: release.Build{Go: goVersion, Arch: arch}}
	s.Pieces.Add(release.Piece{Samples: 1000, CPU: 10, Elapsed: 10, Work: work})
	return s
}

// TestBaselineSize: a check writes a baseline of fewer samples than it wants, and says so, but
// none of less than a quarter of them.
func TestBaselineSize(t *testing.T) {
	p := labelledProfile("ours", 10, []string{checkPackage + ".burnGuilty", checkPackage + ".TestIt.func1", workPackage + ".(*Worker).loop", workPackage + ".(*Worker).run.func3"})
	for _, test := range []struct {
		windows       int
		note, problem string
	}{
		{40, "holds 400 samples of 4000 calls (a check takes 400", ""},
		{10, "holds 100 samples of 1000 calls (a check takes 400", ""},
		{9, "", "90 CPU samples came, and a baseline of less than 100 would hide growth"},
	} {
		r, c := replayed(t, budget.Must("check.burnGuilty below 99%"))
		r.baseline, r.BaselineFile = 400, filepath.Join(t.TempDir(), "small")
		for range test.windows {
			r.worker.Calls.Add(100)
			c.add(r, windowOf(t, p, block))
		}
		r.decided(t)
		problem, notes := r.writeBaseline(), strings.Join(r.notes, "\n")
		if !strings.Contains(problem, test.problem) || (problem == "") != (test.problem == "") {
			t.Errorf("%d windows: %q, want it to say %q", test.windows, problem, test.problem)
		}
		if !strings.Contains(notes, test.note) {
			t.Errorf("%d windows: the notes are %q, want one with %q", test.windows, notes, test.note)
		}
		if _, err := os.Stat(r.BaselineFile); (err == nil) != (problem == "") {
			t.Errorf("%d windows: %v", test.windows, err)
		}
	}
}

// Where most samples are missing, the baseline would be of chance.
func TestBaselineUnsampled(t *testing.T) {
	r, c := replayed(t, budget.Must("check.burnGuilty below 99%"))
	r.BaselineFile, r.judged["cpu"] = filepath.Join(t.TempDir(), "unsampled"), tableOf(folded.Must("cpu 10s\nmain.main 1000\n"))
	c.cover = coverage{cpu: 10 * time.Second, samples: 12}
	if problem := r.writeBaseline(); !strings.Contains(problem, "12 samples came, but 10s of CPU should give about 1000") {
		t.Error(problem)
	}
}

// A baseline keeps amounts that are no whole numbers, and units that have labels.
func TestBaselineUnits(t *testing.T) {
	p := labelledProfile("ours", 10, []string{checkPackage + ".burnGuilty", checkPackage + ".TestIt.func1", workPackage + ".(*Worker).loop", workPackage + ".(*Worker).run.func3"})
	r, c := replayed(t, budget.Must("check.burnGuilty below 99%"))
	r.baseline, r.BaselineFile = 100, filepath.Join(t.TempDir(), "units")
	for range 10 {
		r.worker.Calls.Add(100)
		c.add(r, windowOf(t, p, block))
	}
	r.decided(t)
	const labelled = `rows{kind="a b"}`
	c.pieces.Add(release.Piece{Work: map[string]float64{"gb": 0.4, labelled: 12}})
	calls := c.all.work["call"] // a slow machine takes longer than a window between two, so these need not be all
	if problem := r.writeBaseline(); problem != "" {
		t.Fatal(problem)
	}
	r.rules = rulesOf(t, budget.Must("process grows below 10% per gb", "process grows below 10% per "+labelled))
	if problem := r.loadBaseline(); problem != "" || r.reference.Pieces.Work["gb"] != 0.4 || r.reference.Pieces.Work[labelled] != 12 || r.reference.Pieces.Work["call"] != calls || calls <= 0 {
		t.Errorf("%q, %v of %v calls", problem, r.reference.Pieces.Work, calls)
	}
}
