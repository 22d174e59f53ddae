package guard

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/google/pprof/profile"

	"github.com/profguard/profguard/budget"
)

// A checkReport is what a check has to say. It is a plain value, so that its
// text can be compared.
type checkReport struct {
	results []budget.Result
	vacuous map[int]bool // by result: no amount of time would decide it
	took    time.Duration
	calls   int64
	samples int64
	notes   []string
	short   bool // what is not decided does not fail
	bench   bool // a benchmark: it takes as long as -benchtime says
	test    string
	base    string // the baseline's file, "" without one
	updated bool   // the baseline was written, which budgets of growth are not judged with
	race    bool   // built with -race

	undecided map[int]bool // by result: passed for lack of time, and not beyond doubt

	over     map[int][]string // by result: all functions over a limit that each has
	overMore map[int]bool     // by result: there are more than those
	saved    []savedProfile
	tree     string
}

// A savedProfile is one that a failed budget was judged by.
type savedProfile struct {
	kind, path string
	err        error
}

// report logs what passed, and fails the test with what did not.
func (r *checkRun) report() {
	r.t.Helper()
	rep := checkReport{
		results: r.results, vacuous: r.vacuous, took: time.Since(r.begun), calls: r.worker.calls.Load(), notes: r.notes,
		short: r.test.short, test: r.t.Name(), base: r.BaselineFile, updated: r.Update,
		race: raceEnabled, undecided: r.undecided,
	}
	if r.cpu != nil {
		rep.samples = r.cpu.trial.Samples
	}
	_, rep.bench = r.t.(tbBenchmark)
	for i := range rep.results {
		if rep.results[i].Reason == "" && rep.results[i].Verdict == budget.Inconclusive {
			rep.results[i] = budget.Result{Budget: r.set[i], Reason: "open: the check stopped when another budget had failed"}
		}
	}
	for i := range rep.results {
		r.link.hint(&rep.results[i])
	}
	if !rep.failed() {
		r.t.Logf("guard.Check: %s", rep.passed())
		return
	}
	r.findOver(&rep)
	r.save(&rep)
	rep.noteRace()
	r.t.Errorf("guard.Check: %s", rep.String())
}

// findOver finds out all that is over the limits of "no function" budgets.
func (r *checkRun) findOver(rep *checkReport) {
	for i, res := range rep.results {
		if res.Verdict != budget.Fail || !canExempt(res.Budget) {
			continue
		}
		kind, p := r.profileOf(res.Budget)
		if p == nil {
			continue
		}
		facts := r.facts(kind, time.Since(r.begun), nil)
		if kind == "cpu" {
			facts = r.facts(kind, r.cpu.elapsed, r.cpu.work)
		}
		rep.setOver(i, p, facts)
	}
}

func (rep *checkReport) setOver(i int, p *profile.Profile, facts budget.Facts) {
	if rep.over == nil {
		rep.over, rep.overMore = map[int][]string{}, map[int]bool{}
	}
	names, complete := allOver(rep.results[i], p, facts)
	rep.over[i], rep.overMore[i] = names, !complete
	rep.results[i].Over = max(rep.results[i].Over, len(names)) // what the remedies speak of
}

// save writes the profiles that failed budgets were judged by.
func (r *checkRun) save(rep *checkReport) {
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
		if kind == "cpu" {
			rep.tree = drawTree(p, rep.culprits())
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
func (r *checkRun) profileOf(b budget.Budget) (kind string, p *profile.Profile) {
	kind = b.Kind
	switch {
	case b.Rule == "steady":
		return steadyKinds[b.Subject], r.judged[b.Subject]
	case b.Subject == "no goroutine", b.Subject == "goroutines":
		kind = "goroutine"
	case kind == "" && r.cpu != nil && len(r.cpu.windows) > 0 && b.Subject != "heap" && b.Subject != "rss" && b.Subject != "gc":
		p, err := r.cpu.profile(r)
		if err != nil {
			return "cpu", nil
		}
		return "cpu", p
	}
	return kind, r.judged[kind]
}

// artifactDir is where a failed check leaves its profiles. The directory of
// t.ArtifactDir outlives the test only under -artifacts.
func (r *checkRun) artifactDir() (string, error) {
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

func (rep *checkReport) failed() bool {
	for i := range rep.results {
		if rep.fails(i) {
			return true
		}
	}
	return false
}

// fails reports whether a result fails the test: for lack of time it does not
// where the time was not the check's to choose.
func (rep *checkReport) fails(i int) bool {
	switch rep.results[i].Verdict {
	case budget.Fail:
		return true
	case budget.Inconclusive:
		return rep.vacuous[i] || !rep.short && !rep.bench
	}
	return false
}

// isNear reports whether a budget passed without being kept for sure: what was
// measured is above its limit, or may be, and surely not far above.
func (rep *checkReport) isNear(i int) bool {
	res := rep.results[i]
	return res.Verdict == budget.Pass && res.Limit > 0 && !rep.isUnjudged(i) &&
		(res.Share > res.Limit || rep.undecided[i] && res.High >= res.Limit)
}

// isUnjudged reports whether a budget was not judged, because the baseline that it
// compares with is what the check has written.
func (rep *checkReport) isUnjudged(i int) bool {
	return rep.updated && rep.results[i].Budget.Rule == "grows"
}

// word says what became of a budget.
func (rep *checkReport) word(i int) string {
	switch {
	case rep.results[i].Verdict == budget.Inconclusive:
		return "not decided in the time given"
	case rep.isUnjudged(i):
		return "not judged"
	case rep.isNear(i):
		return "not told from its limit"
	}
	return "pass"
}

// head is the first line.
func (rep *checkReport) head(text string) string {
	return fmt.Sprintf("%s after %v, %s of work and %s", text, rep.took.Round(100*time.Millisecond),
		plural(int(rep.calls), "call"), plural(int(rep.samples), "CPU sample"))
}

// passed is the text of a check that did not fail.
func (rep *checkReport) passed() string {
	var b strings.Builder
	kept, open, near, unjudged := 0, 0, 0, 0
	for i, res := range rep.results {
		switch {
		case res.Verdict == budget.Inconclusive:
			open++
		case rep.isUnjudged(i):
			unjudged++
		case rep.isNear(i):
			near++
		default:
			kept++
		}
	}
	text := plural(kept, "budget") + " kept"
	if unjudged > 0 {
		text = fmt.Sprintf("the baseline was written, and %s of growth not judged", plural(unjudged, "budget"))
		if kept > 0 {
			text += fmt.Sprintf(", %d more kept", kept)
		}
	}
	switch {
	case near == 1:
		text += ", 1 too close to its limit to tell"
	case near > 1:
		text += fmt.Sprintf(", %d too close to their limits to tell", near)
	}
	if open > 0 {
		text += fmt.Sprintf(", %d not decided (%s)", open, rep.moreTime())
	}
	b.WriteString(rep.head(text))
	for i, res := range rep.results {
		fmt.Fprintf(&b, "\n  %s: %s: %s", rep.word(i), res.Budget, res.Reason)
	}
	for _, n := range rep.notes {
		fmt.Fprintf(&b, "\n  note: %s", n)
	}
	return b.String()
}

// moreTime says how a check that was not to fail for lack of time gets more.
func (rep *checkReport) moreTime() string {
	switch {
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
func (rep *checkReport) String() string {
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
	if rep.tree != "" {
		fmt.Fprintf(&b, "\n\nwhere the CPU goes, on the way to what is over:\n%s", rep.tree)
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
