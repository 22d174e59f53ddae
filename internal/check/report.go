package check

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/google/pprof/profile"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/unit"
	"github.com/profguard/profguard/internal/work"
)

// A report is what a check has to say. It is a plain value, so that its text can be
// compared.
type report struct {
	outcomes []outcome
	took     time.Duration
	calls    int64
	sampled  *profile.Profile // what CPU was sampled, nil where there was no look
	notes    []string
	short    bool   // what is not decided does not fail
	bench    bool   // a benchmark: it takes as long as -benchtime says
	busy     string // how busy the machine was, "" if it was not
	test     string
	base     string // the baseline's file, "" without one
	race     bool   // built with -race
	saved    []savedProfile
}

// A savedProfile is one that a failed budget was judged by.
type savedProfile struct {
	kind, path string
	err        error
}

// report logs what passed, and fails the test with what did not.
func (r *run) report() {
	r.t.Helper()
	rep := report{
		outcomes: r.outcomes, took: time.Since(r.begun), calls: r.worker.Calls.Load(), sampled: r.judged["cpu"], notes: r.notes,
		short: r.test.short, bench: r.isBenchmark(), test: r.t.Name(), base: r.BaselineFile, race: raceEnabled,
	}
	if r.busy() {
		rep.busy = r.loadText()
	}
	for i := range rep.outcomes {
		if o := &rep.outcomes[i]; o.Verdict == budget.Inconclusive && o.Reason == "" { // it was not come to
			o.Budget, o.Reason = r.set[i], "no time was left for it: "+r.moreTime()
		}
		r.hint(&rep.outcomes[i].Result)
	}
	switch {
	case rep.failed():
		r.save(&rep)
		rep.noteRace()
		r.t.Errorf("guard.Check: %s", rep.String())
	case rep.skips():
		r.t.Skipf("guard.Check: %s", rep.passed())
	default:
		r.t.Logf("guard.Check: %s", rep.passed())
	}
}

// save writes the profiles that failed budgets were judged by.
func (r *run) save(rep *report) {
	var dir string
	var err error
	for _, o := range rep.outcomes {
		p := r.judged[o.kind]
		if o.Verdict != budget.Fail || p == nil || len(p.Sample) == 0 || slices.ContainsFunc(rep.saved, func(s savedProfile) bool { return s.kind == o.kind }) {
			continue
		}
		if dir == "" && err == nil {
			dir, err = r.artifactDir()
		}
		s := savedProfile{kind: o.kind, err: err}
		if err == nil {
			s.path = filepath.Join(dir, notInNames.ReplaceAllString(r.t.Name(), "_")+"."+o.kind+".pprof")
			s.err = saveProfile(s.path, p)
		}
		rep.saved = append(rep.saved, s)
	}
}

// artifactDir is where a failed check leaves its profiles. The directory of
// t.ArtifactDir outlives the test only under -artifacts.
func (r *run) artifactDir() (string, error) {
	if a, ok := r.t.(tbArtifacts); ok && r.test.artifacts {
		return a.ArtifactDir(), nil
	}
	return os.MkdirTemp(r.temp, "profguard-check-")
}

// notInNames are the letters of a test's name that are left out of a file's.
var notInNames = regexp.MustCompile(`[^a-zA-Z0-9._-]`)

func (rep *report) failed() bool { return slices.ContainsFunc(rep.outcomes, rep.fails) }

// fails reports whether an outcome fails the test: for lack of time it does not where the
// time was not the check's to choose, or the machine was busy.
func (rep *report) fails(o outcome) bool {
	switch {
	case o.Verdict != budget.Inconclusive:
		return o.Verdict == budget.Fail
	case o.cause == mistake:
		return true
	}
	return o.cause != unknown && !rep.short && !rep.bench && rep.busy == ""
}

// skips reports whether a budget is undecided for a reason that is not the test's.
func (rep *report) skips() bool {
	return slices.ContainsFunc(rep.outcomes, func(o outcome) bool {
		return o.Verdict == budget.Inconclusive && (o.cause == unknown || rep.busy != "" && !rep.short && !rep.bench)
	})
}

// What became of a budget that did not fail.
const (
	wordKept     = "pass"
	wordTooClose = "too close to the limit to tell"
	wordOpen     = "not decided in the time given"
)

func (o outcome) word() string {
	switch {
	case o.Verdict == budget.Inconclusive:
		return wordOpen
	case o.isTooClose():
		return wordTooClose
	}
	return wordKept
}

// head is the first line.
func (rep *report) head(text string) string {
	took, calls := rep.took.Round(100*time.Millisecond), unit.Plural(rep.calls, "call")
	if rep.sampled == nil {
		return fmt.Sprintf("%s after %v and %s of work", text, took, calls)
	}
	return fmt.Sprintf("%s after %v, %s of work and %s", text, took, calls, unit.Plural(work.Samples(rep.sampled), "CPU sample"))
}

// passed is the text of a check that did not fail.
func (rep *report) passed() string {
	count := map[string]int{}
	for _, o := range rep.outcomes {
		count[o.word()]++
	}
	parts := []string{unit.Plural(count[wordKept], "budget") + " kept"}
	if n := count[wordTooClose]; n > 0 {
		parts = append(parts, fmt.Sprintf("%d too close to the limit to tell", n))
	}
	if n := count[wordOpen]; n > 0 {
		open := fmt.Sprintf("%d not decided", n)
		if rep.busy != "" {
			open += " (" + rep.busy + ")"
		}
		parts = append(parts, open)
	}
	text := rep.head(strings.Join(parts, ", "))
	for _, o := range rep.outcomes {
		text += fmt.Sprintf("\n  %s: %s: %s", o.word(), o.Budget, o.Reason)
	}
	for _, n := range rep.notes {
		text += "\n  note: " + n
	}
	return text
}

// String is the text of a check that failed.
func (rep *report) String() string {
	var b strings.Builder
	failed, wrong := 0, 0
	for _, o := range rep.outcomes {
		switch {
		case o.Verdict == budget.Fail:
			failed++
		case rep.fails(o):
			wrong++
		}
	}
	// What was not decided when another budget failed is nobody's mistake.
	isOpen := func(o outcome) bool { return failed > 0 && o.Verdict == budget.Inconclusive && o.cause == noTime }
	title := fmt.Sprintf("%d of %d budgets exceeded", failed, len(rep.outcomes))
	switch {
	case failed == 0:
		title = unit.Plural(wrong, "budget") + " could not be judged"
	case len(rep.outcomes) == 1:
		title = "the budget is exceeded"
	}
	if open := len(rep.outcomes) - len(slices.DeleteFunc(slices.Clone(rep.outcomes), isOpen)); open > 0 {
		title += fmt.Sprintf(" and %d left open", open)
	}
	b.WriteString(rep.head(title))
	for _, want := range []budget.Verdict{budget.Fail, budget.Inconclusive, budget.Pass} {
		for _, o := range rep.outcomes {
			if o.Verdict == want && !isOpen(o) {
				fmt.Fprintf(&b, "\n\n%s", o.Result)
			}
		}
	}
	for _, s := range rep.saved {
		if s.err != nil {
			fmt.Fprintf(&b, "\n\nthe %s profile was not saved: %v", s.kind, s.err)
			continue
		}
		fmt.Fprintf(&b, "\n\nthe whole %s profile:\n  go tool pprof -http=: %s", s.kind, s.path)
	}
	if tips := rep.remedies(); len(tips) > 0 {
		b.WriteString("\n\nwhat to do:")
		for _, tip := range tips {
			fmt.Fprintf(&b, "\n  - %s", tip)
		}
	}
	for _, n := range rep.notes {
		fmt.Fprintf(&b, "\n\nnote: %s", n)
	}
	return b.String()
}

// moreTime says how there come more samples: a benchmark takes as long as
// -benchtime, a check as long as Checker.Max, or as -short allows for.
func (r *run) moreTime() string {
	took := time.Since(r.begun).Round(100 * time.Millisecond)
	switch {
	case r.isBenchmark():
		return fmt.Sprintf("raise -benchtime (it took %v) to %v or more", took, max(shortMax, (2*took).Round(time.Second)))
	case r.atDeadline():
		return fmt.Sprintf("raise -timeout of go test (the check took %v, up to the test's deadline), or let work use more CPU", took)
	case r.test.short && r.Max == 0:
		return fmt.Sprintf("run it without -short (which took %v)", took)
	}
	return fmt.Sprintf("raise Checker.Max (the check took %v), or let work use more CPU", took)
}
