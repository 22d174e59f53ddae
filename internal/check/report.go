package check

import (
	"cmp"
	"fmt"
	"hash/crc32"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/bridge"
	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/evidence"
	"github.com/profguard/profguard/internal/judge"
	"github.com/profguard/profguard/internal/kinds"
	"github.com/profguard/profguard/internal/process"
	"github.com/profguard/profguard/internal/unit"
)

// A report is the result of a check.
type report struct {
	results []reported
	took    time.Duration
	calls   int64
	sampled *decode.Table // the CPU samples of work, nil if none were taken
	notes   []string
	short   bool     // an undecided budget does not fail the test
	bench   bool     // a benchmark, which takes as long as -benchtime says
	busy    string   // how busy the machine was, "" if it was not
	base    string   // the baseline's file, "" without one
	race    bool     // built with -race
	saved   []string // where profiles are
	lastDay string   // the day that is offered for "until"
}

// A reported outcome is one in words.
type reported struct {
	budget.Result
	rule  judge.Rule
	cause cause
	kind  string
}

func (r *run) reported(i int) reported {
	o := &r.outcomes[i]
	return reported{bridge.CheckResult[budget.Result](r.set[i], o.Finding), r.rules[i], o.cause, o.kind}
}

// moreTime is the advice for a budget that was not decided in the time given.
const moreTime = ". Raise Checker.Max, or -benchtime of a benchmark, or -timeout if that ended the check; " +
	"run it without -short, or let work do more in the time"

// report logs what passed, and fails the test with what did not. With Update it writes the
// baseline first.
func (r *run) report() (problem string) {
	r.t.Helper()
	if r.Update {
		if problem := r.writeBaseline(); problem != "" {
			return problem
		}
	}
	rep := report{
		lastDay: LastDay(time.Now()),
		took:    time.Since(r.begun), calls: r.worker.Calls.Load(), sampled: r.judged["cpu"], notes: r.notes,
		short: r.test.short, bench: r.bench != nil, base: r.BaselineFile, race: r.test.race,
	}
	if r.busy() {
		rep.busy = r.loadText()
	}
	for i := range r.outcomes {
		o := r.reported(i)
		if lost := r.outcomes[i].Cut > 0 && !o.rule.Class.IsEach(); o.Verdict == budget.Inconclusive && o.cause == noTime && !lost {
			o.Reason += moreTime
		}
		rep.results = append(rep.results, o)
	}
	n := rep.count()
	fails := n[exceeded]+n[unjudged] > 0
	if r.Strict && !fails && n[kept] < len(rep.results) {
		fails, rep.notes = true, append(rep.notes, "Checker.Strict fails the test, because not every budget is kept")
	}
	switch {
	case fails:
		rep.saved = r.save(rep.results)
		r.t.Errorf("guard.Check: %s", rep.String())
	case n[skipped] > 0:
		r.t.Skipf("guard.Check: %s", rep.String())
	default:
		r.t.Logf("guard.Check: %s", rep.String())
	}
	return ""
}

// save writes the profiles that failed budgets were judged by, and says where they are.
func (r *run) save(results []reported) (said []string) {
	artifactDir := sync.OnceValues(func() (string, error) {
		// The folder of t.ArtifactDir is kept after the test only under -artifacts.
		if a, ok := r.t.(interface{ ArtifactDir() string }); ok && process.TestFlag("artifacts") {
			return a.ArtifactDir(), nil
		}
		return newFolder(cmp.Or(r.temp, os.TempDir()), r.t.Name())
	})
	for _, kind := range slices.Sorted(maps.Keys(r.judged)) {
		failed := func(o reported) bool { return o.kind == kind && o.Verdict == budget.Fail }
		if len(r.judged[kind].Samples) == 0 || !slices.ContainsFunc(results, failed) {
			continue
		}
		dir, err := artifactDir()
		path := filepath.Join(dir, kind+".pprof")
		if err == nil {
			err = os.WriteFile(path, r.judged[kind].Encode(), 0o644)
		}
		text := fmt.Sprintf("the whole %s profile:\n  go tool pprof -http=: %s", kind, path)
		if err != nil {
			text = fmt.Sprintf("the %s profile was not saved: %v", kind, err)
		}
		said = append(said, text)
	}
	return said
}

// keptFolders is how many folders with profiles of one test stay: more than checks in a test
// that may fail together, and few enough to be left behind.
const keptFolders = 4

// newFolder makes a folder for the profiles of a check that failed, and removes all but the newest
// of those that the test has left before.
func newFolder(temp, test string) (string, error) {
	pkg, _ := os.Getwd() // go test runs the tests of a package in its folder
	prefix := fmt.Sprintf("profguard-check-%08x-", crc32.ChecksumIEEE([]byte(pkg+" "+test)))
	entries, _ := os.ReadDir(temp)
	var old []fs.FileInfo
	for _, e := range entries {
		if info, err := e.Info(); strings.HasPrefix(e.Name(), prefix) && err == nil {
			old = append(old, info)
		}
	}
	slices.SortFunc(old, func(a, b fs.FileInfo) int { return b.ModTime().Compare(a.ModTime()) })
	for _, info := range old[min(keptFolders-1, len(old)):] {
		os.RemoveAll(filepath.Join(temp, info.Name())) // that of another user stays
	}
	return os.MkdirTemp(temp, prefix)
}

// A conclusion says what a budget's outcome means for the test.
type conclusion int

const (
	exceeded  conclusion = iota // the test fails
	unjudged                    // undecided: the test fails
	skipped                     // undecided because of the machine or another test: the test is skipped
	undecided                   // the time was set by -short, -benchtime or another failure
	tooClose                    // it passed, but the measured value is above the limit, or may be above the zone
	kept
	conclusions
)

// conclusionWords are those of the first line.
var conclusionWords = [conclusions]string{"exceeded", "could not be judged", "not decided", "not decided in the time given", "too close to the limit to tell", "kept"}

func (rep *report) conclusion(o reported) conclusion {
	switch {
	case o.Verdict == budget.Fail:
		return exceeded
	case o.Verdict == budget.Pass && o.Limit > 0 && (o.Value > o.Limit || o.High >= evidence.Zone*o.Limit):
		return tooClose
	case o.Verdict == budget.Pass:
		return kept
	case o.cause == unknown:
		return skipped
	case o.cause == noTime && (rep.short || rep.bench || rep.anyFailed()):
		return undecided
	case o.cause == noTime && rep.busy != "":
		return skipped
	}
	return unjudged
}

func (rep *report) anyFailed() bool {
	return slices.ContainsFunc(rep.results, func(o reported) bool { return o.Verdict == budget.Fail })
}

func (rep *report) count() (n [conclusions]int) {
	for _, o := range rep.results {
		n[rep.conclusion(o)]++
	}
	return n
}

func (rep *report) String() string {
	var b strings.Builder
	n, title, failed := rep.count(), []string(nil), rep.anyFailed()
	for s, word := range conclusionWords {
		ended := conclusion(s) == undecided && failed // by what has failed
		if ended {
			word = "not decided by then"
		}
		if n[s] > 0 {
			title = append(title, fmt.Sprintf("%d %s", n[s], word))
		}
		for _, o := range rep.results {
			switch {
			case rep.conclusion(o) != conclusion(s):
			case ended:
				fmt.Fprintf(&b, "\n\n%s: %s", word, o.Budget)
			default:
				fmt.Fprintf(&b, "\n\n%s", o.Result)
			}
		}
	}
	facts := []string{unit.Plural(len(rep.results), "budget"), rep.took.Round(100 * time.Millisecond).String(), unit.Plural(rep.calls, "call") + " of work"}
	if rep.sampled != nil {
		facts = append(facts, unit.Plural(rep.sampled.Count(), "CPU sample"))
	}
	if rep.busy != "" && slices.ContainsFunc(rep.results, func(o reported) bool { return o.Verdict == budget.Inconclusive && o.cause == noTime }) {
		facts = append(facts, rep.busy)
	}
	for _, text := range rep.saved {
		b.WriteString("\n\n" + text)
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
	return cmp.Or(strings.Join(title, ", "), "nothing to judge") + " (" + strings.Join(facts, ", ") + ")" + b.String()
}

// remedies lists what the user can do about the failed budgets, each advice once: first how to
// mend them, then how to accept what is there.
func (rep *report) remedies() []string {
	var mend, accept []string
	add := func(tips *[]string, format string, args ...any) {
		if tip := fmt.Sprintf(format, args...); !slices.Contains(*tips, tip) {
			*tips = append(*tips, tip)
		}
	}
	for _, o := range rep.results {
		if o.Verdict != budget.Fail {
			continue
		}
		if len(o.Offenders) > 0 {
			worst := o.Offenders[0]
			if worst.Blame.Function != "" {
				worst = budget.Offender{Frame: worst.Blame, Owner: worst.Owner}
			}
			add(&mend, "start with %s", worst)
		}
		if text := o.Result.Accept(len(o.Offenders)); !o.rule.Needs().Baseline && text != "" {
			add(&accept, "if this is intended, accept it: %s", text)
			add(&accept, "to accept it only for a while, write the last day after the name: %s until %s", o.Result.Exception(&o.Offenders[0]), rep.lastDay)
		}
		if o.rule.Needs().Baseline {
			add(&mend, "to see what changed: go tool pprof -diff_base %s, and the profile of this check", rep.base)
			add(&accept, "if the growth is wanted, refresh the baseline (Checker.Update)")
		}
		if o.rule.Needs().Profile == kinds.GoroutineLeak && slices.ContainsFunc(o.Offenders, func(f budget.Offender) bool { return strings.HasPrefix(f.Function, "net/http.(*persistConn).") }) {
			add(&mend, "an HTTP client's connection has two goroutines until it is closed, even while idle: "+
				"let work close each body, and call its CloseIdleConnections at the end")
		}
		if rep.race && o.rule.Limit > 0 && !isShare(o.rule) && o.rule.Subject != "goroutines" && o.rule.Kind != kinds.Goroutine {
			add(&mend, "put limits of time, cores, bytes and allocations into a file that begins with //go:build !race: "+
				"with -race, code takes 2 to 20 times as long and allocates more")
		}
	}
	return append(mend, accept...)
}

// LastDay is the day that is offered for "except X until", some three months ahead.
func LastDay(now time.Time) string { return now.UTC().AddDate(0, 0, 90).Format(time.DateOnly) }
