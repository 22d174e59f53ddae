package check

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/google/pprof/profile"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/evidence"
	"github.com/profguard/profguard/internal/unit"
)

// A report is what a check has to say. It is a plain value, so that its text can be
// compared.
type report struct {
	outcomes []outcome
	took     time.Duration
	calls    int64
	samples  int64 // of CPU
	counted  bool  // CPU was not sampled
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
		outcomes: r.outcomes, took: time.Since(r.begun), calls: r.worker.calls.Load(), notes: r.notes,
		short: r.test.short, bench: r.isBenchmark(), test: r.t.Name(), base: r.BaselineFile, race: raceEnabled,
	}
	rep.samples, rep.counted = r.samples()
	if r.busy() {
		rep.busy = r.loadText()
	}
	for i := range rep.outcomes {
		o := &rep.outcomes[i]
		if o.Reason == "" && o.Verdict == budget.Inconclusive {
			o.Budget, o.cause = r.set[i], stopped
		}
		r.hint(&o.Result)
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

// samples is how many CPU samples there are of work, or of the process where only who uses
// its CPU was looked for. counted says that there was no look at all.
func (r *run) samples() (n int64, counted bool) {
	if r.cpu != nil {
		return r.cpu.samples(), false
	}
	if p := r.judged["cpu"]; p != nil {
		return samplesIn(p), false
	}
	return 0, true
}

// save writes the profiles that failed budgets were judged by.
func (r *run) save(rep *report) {
	var dir string
	var err error
	for _, res := range rep.outcomes {
		if res.Verdict != budget.Fail {
			continue
		}
		kind, p := r.profileOf(res.Budget)
		if p == nil || slices.ContainsFunc(rep.saved, func(s savedProfile) bool { return s.kind == kind }) {
			continue
		}
		if dir == "" && err == nil {
			dir, err = r.artifactDir()
		}
		s := savedProfile{kind: kind, err: err}
		if err == nil {
			s.path = filepath.Join(dir, fileName(r.t.Name())+"."+kind+".pprof")
			s.err = saveProfile(s.path, p)
		}
		rep.saved = append(rep.saved, s)
	}
}

// profileOf is the profile that a budget was judged by.
func (r *run) profileOf(b budget.Budget) (kind string, p *profile.Profile) {
	kind = b.Kind
	switch {
	case b.Rule == "steady":
		return steadyKinds[b.Subject], r.judged[b.Subject]
	case b.Subject == "no goroutine", b.Subject == "goroutines":
		kind = "goroutine"
	case kind == "" && b.Subject != "heap" && b.Subject != "rss" && b.Subject != "gc":
		kind = "cpu"
		if r.cpu != nil && len(r.cpu.windows) > 0 {
			if p, err := r.cpu.profile(r); err == nil {
				return kind, p
			}
		}
	}
	return kind, r.judged[kind]
}

// artifactDir is where a failed check leaves its profiles. The directory of
// t.ArtifactDir outlives the test only under -artifacts.
func (r *run) artifactDir() (string, error) {
	if a, ok := r.t.(tbArtifacts); ok && r.test.artifacts {
		return a.ArtifactDir(), nil
	}
	return os.MkdirTemp(r.temp, "profguard-check-")
}

// fileName makes a file's name of a test's.
func fileName(test string) string {
	return strings.Map(func(c rune) rune {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '-', c == '_', c == '.':
			return c
		}
		return '_'
	}, test)
}

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
	return o.cause != unknown && o.cause != stopped && !rep.short && !rep.bench && rep.busy == ""
}

// skips reports whether a budget is undecided for a reason that is not the test's.
func (rep *report) skips() bool {
	return slices.ContainsFunc(rep.outcomes, func(o outcome) bool {
		return o.Verdict == budget.Inconclusive && (o.cause == unknown || rep.busy != "" && !rep.short && !rep.bench)
	})
}

// What became of a budget that did not fail.
const (
	wordKept   = "pass"
	wordNear   = "not told from its limit"
	wordOpen   = "not decided in the time given"
	wordOfBase = "not judged"
)

func (o outcome) word() string {
	switch {
	case o.Verdict == budget.Inconclusive:
		return wordOpen
	case o.cause == unjudged:
		return wordOfBase
	case o.cause == near:
		return wordNear
	}
	return wordKept
}

// head is the first line.
func (rep *report) head(text string) string {
	if rep.counted {
		return fmt.Sprintf("%s after %v and %s of work", text, rep.took.Round(100*time.Millisecond), unit.Plural(rep.calls, "call"))
	}
	return fmt.Sprintf("%s after %v, %s of work and %s", text, rep.took.Round(100*time.Millisecond),
		unit.Plural(rep.calls, "call"), unit.Plural(rep.samples, "CPU sample"))
}

// passed is the text of a check that did not fail.
func (rep *report) passed() string {
	count := map[string]int{}
	for _, o := range rep.outcomes {
		count[o.word()]++
	}
	var parts []string
	if n := count[wordKept]; n > 0 || count[wordOfBase] == 0 {
		parts = append(parts, unit.Plural(n, "budget")+" kept")
	}
	if n := count[wordOfBase]; n > 0 {
		parts = append(parts, fmt.Sprintf("the baseline was written and %s of growth not judged", unit.Plural(n, "budget")))
	}
	if n := count[wordNear]; n > 0 {
		parts = append(parts, fmt.Sprintf("%d too close to the limit to tell", n))
	}
	if n := count[wordOpen]; n > 0 && rep.busy != "" {
		parts = append(parts, fmt.Sprintf("%d not decided (%s)", n, rep.busy))
	} else if n > 0 {
		parts = append(parts, fmt.Sprintf("%d not decided", n))
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
	failed, wrong, open := 0, 0, 0
	for _, o := range rep.outcomes {
		switch {
		case o.Verdict == budget.Fail:
			failed++
		case rep.fails(o):
			wrong++
		case o.cause == stopped:
			open++
		}
	}
	title := fmt.Sprintf("%d of %d budgets exceeded", failed, len(rep.outcomes))
	switch {
	case failed == 0:
		title = unit.Plural(wrong, "budget") + " could not be judged"
	case len(rep.outcomes) == 1:
		title = "the budget is exceeded"
	}
	if open > 0 {
		title += fmt.Sprintf(" and %d left open", open)
	}
	b.WriteString(rep.head(title))
	for _, want := range []budget.Verdict{budget.Fail, budget.Inconclusive, budget.Pass} {
		for _, o := range rep.outcomes {
			if o.Verdict == want && o.cause != stopped {
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
// -benchtime, a check as long as Checker.Max, or as -short allows for. To raise the
// limit is advice only where what was measured is near it.
func (r *run) moreTime(res budget.Result) string {
	took := time.Since(r.begun).Round(100 * time.Millisecond)
	var text string
	switch {
	case r.isBenchmark() && took < shortMax:
		text = fmt.Sprintf("say -benchtime %v", shortMax)
	case r.isBenchmark():
		text = fmt.Sprintf("raise -benchtime (it took %v)", took)
	case r.test.short && r.Max == 0:
		text = fmt.Sprintf("run it without -short (which took %v)", took)
	default:
		text = fmt.Sprintf("raise Checker.Max (the check took %v), or let work use more CPU", took)
	}
	if res.Limit > 0 && res.Share > res.Limit && res.Share < evidence.Notable*res.Limit {
		text += ", or raise the limit"
	}
	return text
}
