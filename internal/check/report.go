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
)

// A report is what a check has to say. It is a plain value, so that its text can be
// compared.
type report struct {
	results []budget.Result
	causes  []cause // by result
	took    time.Duration
	calls   int64
	samples int64
	notes   []string
	short   bool   // what is not decided does not fail
	bench   bool   // a benchmark: it takes as long as -benchtime says
	busy    string // how busy the machine was, "" if it was not
	test    string
	base    string // the baseline's file, "" without one
	updated bool   // the baseline was written, which budgets of growth are not judged with
	race    bool   // built with -race
	saved   []savedProfile
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
		results: r.results, causes: r.causes, took: time.Since(r.begun), calls: r.worker.calls.Load(), notes: r.notes,
		short: r.test.short, test: r.t.Name(), base: r.BaselineFile, updated: r.Update, race: raceEnabled,
	}
	if r.cpu != nil {
		rep.samples = r.cpu.samples()
	}
	if r.busy() {
		rep.busy = r.loadText()
	}
	_, rep.bench = r.t.(tbBenchmark)
	for i := range rep.results {
		if rep.results[i].Reason == "" && rep.results[i].Verdict == budget.Inconclusive {
			rep.results[i] = budget.Result{Budget: r.set[i], Reason: "open: the check stopped when another budget had failed"}
			rep.causes[i] = noTime
		}
		r.link.hint(&rep.results[i])
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
	for _, res := range rep.results {
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

func (rep *report) failed() bool {
	for i := range rep.results {
		if rep.fails(i) {
			return true
		}
	}
	return false
}

// fails reports whether a result fails the test: for lack of time it does not where the
// time was not the check's to choose, or the machine was busy.
func (rep *report) fails(i int) bool {
	switch rep.results[i].Verdict {
	case budget.Fail:
		return true
	case budget.Inconclusive:
		return rep.cause(i) == mistake || rep.cause(i) != unknown && !rep.short && !rep.bench && rep.busy == ""
	}
	return false
}

func (rep *report) cause(i int) cause {
	if i < len(rep.causes) {
		return rep.causes[i]
	}
	return proven
}

// skips reports whether a budget is undecided for a reason that is not the test's.
func (rep *report) skips() bool {
	for i, res := range rep.results {
		if res.Verdict == budget.Inconclusive && (rep.cause(i) == unknown || rep.busy != "" && !rep.short && !rep.bench) {
			return true
		}
	}
	return false
}

// isUnjudged reports whether a budget was not judged, because the baseline that it
// compares with is what the check has written.
func (rep *report) isUnjudged(i int) bool {
	return rep.updated && rep.results[i].Budget.Rule == "grows"
}

// word says what became of a budget.
func (rep *report) word(i int) string {
	switch {
	case rep.results[i].Verdict == budget.Inconclusive:
		return "not decided in the time given"
	case rep.isUnjudged(i):
		return "not judged"
	case rep.cause(i) == near:
		return "not told from its limit"
	}
	return "pass"
}

// head is the first line.
func (rep *report) head(text string) string {
	return fmt.Sprintf("%s after %v, %s of work and %s", text, rep.took.Round(100*time.Millisecond),
		plural(int(rep.calls), "call"), plural(int(rep.samples), "CPU sample"))
}

// passed is the text of a check that did not fail.
func (rep *report) passed() string {
	count := map[string]int{}
	for i := range rep.results {
		count[rep.word(i)]++
	}
	kept := count["pass"]
	text := plural(kept, "budget") + " kept"
	if n := count["not judged"]; n > 0 {
		text = fmt.Sprintf("the baseline was written, and %s of growth not judged", plural(n, "budget"))
		if kept > 0 {
			text += fmt.Sprintf(", %d more kept", kept)
		}
	}
	switch n := count["not told from its limit"]; {
	case n == 1:
		text += ", 1 too close to its limit to tell"
	case n > 1:
		text += fmt.Sprintf(", %d too close to their limits to tell", n)
	}
	if n := count["not decided in the time given"]; n > 0 {
		text += fmt.Sprintf(", %d not decided (%s)", n, rep.moreTime())
	}
	text = rep.head(text)
	for i, res := range rep.results {
		text += fmt.Sprintf("\n  %s: %s: %s", rep.word(i), res.Budget, res.Reason)
	}
	for _, n := range rep.notes {
		text += "\n  note: " + n
	}
	return text
}

// moreTime says why a budget is not decided, or how it would be.
func (rep *report) moreTime() string {
	switch {
	case !rep.bench && !rep.short && rep.busy != "":
		return rep.busy
	case !rep.bench && !rep.short:
		return "see below"
	case !rep.bench:
		return "run it without -short to have them decided"
	case rep.took < shortMax:
		return fmt.Sprintf("say -benchtime %v", shortMax)
	case rep.took < defaultMax:
		return fmt.Sprintf("say -benchtime %v", defaultMax)
	}
	return "see what each says"
}

// String is the text of a check that failed.
func (rep *report) String() string {
	var b strings.Builder
	failed, open := 0, 0
	for i, res := range rep.results {
		switch {
		case res.Verdict == budget.Fail:
			failed++
		case rep.fails(i):
			open++
		}
	}
	switch {
	case failed == 0:
		b.WriteString(rep.head(plural(open, "budget") + " could not be judged"))
	case len(rep.results) == 1:
		b.WriteString(rep.head("the budget is exceeded"))
	default:
		b.WriteString(rep.head(fmt.Sprintf("%d of %d budgets exceeded", failed, len(rep.results))))
	}
	for _, want := range []budget.Verdict{budget.Fail, budget.Inconclusive, budget.Pass} {
		for _, res := range rep.results {
			if res.Verdict == want {
				fmt.Fprintf(&b, "\n\n%s", res)
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
	text := fmt.Sprintf("raise Checker.Max (the check took %v), or let work use more CPU", took)
	if _, bench := r.t.(tbBenchmark); bench {
		text = fmt.Sprintf("raise -benchtime (it took %v)", took)
	} else if r.test.short && r.Max == 0 {
		text = fmt.Sprintf("run it without -short (which took %v)", took)
	}
	if res.Limit > 0 && res.Share > res.Limit && res.Share < evidence.Notable*res.Limit {
		text += ", or raise the limit"
	}
	return text
}

// plural is "1 budget", "2 budgets".
func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	if strings.HasSuffix(what, "ch") {
		what += "e"
	}
	return fmt.Sprintf("%d %ss", n, what)
}
