package check

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/charge"
	"github.com/profguard/profguard/internal/folded"
	"github.com/profguard/profguard/internal/golden"
	"github.com/profguard/profguard/internal/work"
)

// shopProfile is a program whose checkout hashes too much.
func shopProfile() *profile.Profile {
	return shopOf(map[string]int64{"price sha256.Sum256": 140, "price": 8, "render": 60, "store": 50, "mail": 42})
}

// shopOf is a program whose checkout takes so many samples on each path.
func shopOf(samples map[string]int64) *profile.Profile {
	p := &profile.Profile{
		SampleType:    []*profile.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}},
		PeriodType:    &profile.ValueType{Type: "cpu", Unit: "nanoseconds"},
		Period:        1e7,
		DurationNanos: 3e9,
	}
	at := map[string]*profile.Location{}
	add := func(n int64, names ...string) { // root first
		s := &profile.Sample{Value: []int64{n, n * 1e7}}
		for i := len(names) - 1; i >= 0; i-- {
			l := at[names[i]]
			if l == nil {
				id := uint64(len(p.Function) + 1)
				f := &profile.Function{ID: id, Name: names[i], Filename: "/src/shop/shop.go"}
				l = &profile.Location{ID: id, Line: []profile.Line{{Function: f, Line: int64(10 * id)}}}
				p.Function, p.Location = append(p.Function, f), append(p.Location, l)
				at[names[i]] = l
			}
			s.Location = append(s.Location, l)
		}
		p.Sample = append(p.Sample, s)
	}
	root := []string{workPackage + ".(*Worker).run", "runtime/pprof.Do", workPackage + ".(*Worker).run.func3", workPackage + ".(*Worker).loop",
		"example.com/shop.TestCheckout.func1", "example.com/shop.checkout"}
	with := func(names ...string) []string { return append(append([]string{}, root...), names...) }
	for _, path := range slices.Sorted(maps.Keys(samples)) {
		names := strings.Fields(path)
		for i, name := range names {
			names[i] = "example.com/shop." + name
			if pkg, _, ok := strings.Cut(name, "."); ok {
				names[i] = map[string]string{"sha256": "crypto/", "runtime": ""}[pkg] + name
			}
		}
		add(samples[path], with(names...)...)
	}
	return p
}

// What a failed check says, from the first line to the last.
func TestCheckReport(t *testing.T) {
	set := budget.Must(
		"no function above 30% cumulative",
		"crypto/sha256 absent in example.com/shop.checkout",
		"example.com/shop.mail below 50%",
		"no goroutine leaked",
	)
	p := shopProfile()
	own, _ := work.Cut(tableOf(p))
	rules := rulesOf(t, set)
	outcomes := []reported{{Result: budget.Result{Budget: set[3]}, rule: rules[3]}}
	results, err := set[:3].JudgeReader(bytes.NewReader(own.Encode()), budget.Facts{Kind: "cpu", Module: "example.com/shop"})
	if err != nil {
		t.Fatal(err)
	}
	for i, res := range results {
		outcomes = append(outcomes, reported{Result: res, rule: rules[i]})
	}
	rep := report{
		lastDay: "2027-02-25",
		results: outcomes, took: 2345 * time.Millisecond, calls: 1203, sampled: own,
		notes: []string{"the baseline was made by go1.26.0"},
		saved: []string{"the whole cpu profile:\n  go tool pprof -http=: /tmp/profguard-check-1/cpu.pprof", "the goroutine profile was not saved: disk full"},
	}
	golden.Compare(t, "report.txt", rep.String()+"\n")
}

// A report says whose an offender is, and accepts it from there only. Where callers differ, and for
// the test around all of the work, it says nothing.
func TestCheckReportOwner(t *testing.T) {
	const root = "example.com/shop.TestServe.func1@/src/shop/serve_test.go:9;net/http.(*ServeMux).ServeHTTP;net/http.HandlerFunc.ServeHTTP;"
	const get = ";example.com/shop.(*Store).Get@/src/shop/store.go:33;encoding/json.Unmarshal "
	const list = root + "example.com/shop.list@/src/shop/list.go:5;strings.Contains 300\n"
	set := budget.Must("no function above 40% cumulative")
	for name, tt := range map[string]struct{ profile, start, accept string }{
		"one handler": {
			root + "example.com/shop.export@/src/shop/export.go:31" + get + "665\n" + root + "example.com/shop.show" + get + "35\n" + list,
			"start with example.com/shop.(*Store).Get at shop/store.go:33, nearly all of it in example.com/shop.export, shop/export.go:31",
			"except encoding/json.Unmarshal from example.com/shop.export"},
		"three handlers": {
			root + "example.com/shop.export" + get + "300\n" + root + "example.com/shop.show" + get + "200\n" + root + "example.com/shop.feed" + get + "200\n" + list,
			"start with example.com/shop.(*Store).Get at shop/store.go:33", "except encoding/json.Unmarshal"},
	} {
		var b bytes.Buffer
		if err := folded.Must("cpu 10s\n" + tt.profile).Write(&b); err != nil {
			t.Fatal(err)
		}
		results, err := set.JudgeReader(&b, budget.Facts{Module: "example.com/shop"})
		if err != nil {
			t.Fatal(err)
		}
		rep := report{results: []reported{{Result: results[0], rule: rulesOf(t, set)[0]}}}
		said := map[string]bool{}
		for line := range strings.Lines(rep.String()) {
			said[strings.TrimSpace(line)] = true
		}
		accept := "no function above 40% cumulative " + tt.accept
		if !said["- "+tt.start] || !said["- if this is intended, accept it: "+accept] {
			t.Errorf("%s: expected %q and %q in\n%s", name, tt.start, accept, rep.String())
		}
	}
}

// The first line has the CPU samples that the report rests on. Where CPU was not sampled
// it has none, and not 0.
func TestCheckReportSamples(t *testing.T) {
	rep := report{results: []reported{{Result: budget.Result{Verdict: budget.Pass}}}}
	for _, want := range []string{"1 kept (1 budget, 0s, 0 calls of work)", "1 kept (1 budget, 0s, 0 calls of work, 300 CPU samples)"} {
		if got, _, _ := strings.Cut(rep.String(), "\n"); got != want {
			t.Errorf("%q, expected %q", got, want)
		}
		rep.sampled = tableOf(shopProfile())
	}
}

// fails reports whether a report fails the test.
func fails(rep *report) bool {
	n := rep.count()
	return n[unjudged]+n[exceeded] > 0
}

func TestCheckReportShort(t *testing.T) {
	open := reported{Result: budget.Result{Budget: budget.Must("no function above 20%")[0], Reason: "too few CPU samples"}, kind: "cpu"}
	of := func(o reported) []reported { return []reported{o} }
	if rep := (report{results: of(open)}); !fails(&rep) {
		t.Error("an open budget passes")
	}
	if rep := (report{results: of(open), short: true}); fails(&rep) {
		t.Error("an open budget fails under -short")
	}
	rep := report{results: of(open), bench: true, took: time.Second}
	if fails(&rep) || !strings.HasPrefix(rep.String(), "1 not decided in the time given (1 budget, 1s") {
		t.Errorf("a benchmark that is too short to tell: failed %t: %s", fails(&rep), rep.String())
	}
	open.cause = mistake
	if rep = (report{results: of(open), bench: true}); !fails(&rep) {
		t.Error("a benchmark passes that no time would decide")
	}
	open.Verdict = budget.Fail
	if rep := (report{results: of(open), short: true}); !fails(&rep) {
		t.Error("a budget that is exceeded passes under -short")
	}
}

// What is too close to its limit is never counted as kept.
func TestCheckReportNear(t *testing.T) {
	set := budget.Must("main.work below 20%")
	of := func(share float64) reported {
		return reported{Result: budget.Result{Budget: set[0], Verdict: budget.Pass, Limit: 0.2, Value: share, Reason: "said"}}
	}
	for _, tt := range []struct {
		results []reported
		want    string
	}{
		{[]reported{of(0.1)}, "1 kept ("},
		{[]reported{of(0.21)}, "1 too close to the limit to tell ("},
		{[]reported{of(0.21), of(0.1), of(0.22)}, "2 too close to the limit to tell, 1 kept ("},
		{[]reported{of(0.21)}, "\nPASS main.work below 20% cumulative\n  said"},
	} {
		rep := report{results: tt.results}
		if fails(&rep) || !strings.Contains(rep.String(), tt.want) {
			t.Errorf("it does not say %q: %s", tt.want, rep.String())
		}
	}
}

func TestIsNear(t *testing.T) {
	for _, tt := range []struct {
		share, high float64
		want        bool
	}{
		{0.19, 0.24, false}, {0.19, 0.26, true}, {0.17, 0.19, false}, {0.21, 0.24, true},
	} {
		o := reported{Result: budget.Result{Verdict: budget.Pass, Limit: 0.2, Value: tt.share, High: tt.high}}
		if (new(report).conclusion(o) == tooClose) != tt.want {
			t.Errorf("%+v: %t", tt, !tt.want)
		}
	}
}

// A busy machine skips the test where nothing has failed, and mistakes fail on any.
func TestCheckReportBusy(t *testing.T) {
	open := budget.Result{Budget: budget.Must("no function above 20%")[0], Reason: "too few CPU samples"}
	rep := report{results: []reported{{Result: open}}, busy: "the machine was busy: 3s in 2s"}
	if fails(&rep) || rep.count()[skipped] == 0 || !strings.Contains(rep.String(), "1 not decided (1 budget, 0s, 0 calls of work, the machine was busy: 3s in 2s)") {
		t.Errorf("failed %t, skips %t: %s", fails(&rep), rep.count()[skipped] > 0, rep.String())
	}
	broken := open
	broken.Verdict = budget.Fail
	rep = report{results: []reported{{Result: open}, {Result: broken}}}
	if !strings.HasPrefix(rep.String(), "1 exceeded, 1 not decided by then (") {
		t.Errorf("one has failed, before the other was decided: %s", rep.String())
	}
	rep = report{results: []reported{{Result: budget.Result{Verdict: budget.Pass}}}, busy: "busy"}
	if strings.Contains(rep.String(), "busy") {
		t.Errorf("all are kept: %s", rep.String())
	}
	rep = report{results: []reported{{Result: open, cause: unknown}}}
	if fails(&rep) || rep.count()[skipped] == 0 {
		t.Errorf("unknown: failed %t, skips %t", fails(&rep), rep.count()[skipped] > 0)
	}
	rep = report{results: []reported{{Result: open, cause: mistake}}, busy: "busy"}
	if !fails(&rep) {
		t.Error("a mistake of the test passes on a busy machine")
	}
}

// Under -race, what costs more there is said once, and only of absolute limits.
func TestCheckReportRace(t *testing.T) {
	for sentence, want := range map[string]bool{
		"process below 6us per call":            true,
		"process below 480B per call of allocs": true,
		"fmt below 5 per call of allocs":        true,
		"fmt below 0.2 cores":                   true,
		"heap below 64MiB":                      true,
		"process grows below 10% per call":      true,
		"no function above 20%":                 false,
		"no function grows above 5 points":      false,
		"goroutines below 50":                   false,
		"goroutines steady":                     false,
		"no function above 50 of goroutine":     false,
		"no goroutine leaked":                   false,
		"fmt absent":                            false,
	} {
		set := budget.Must(sentence)
		failed := reported{Result: budget.Result{Budget: set[0], Verdict: budget.Fail}, rule: rulesOf(t, set)[0]}
		rep := report{results: []reported{failed, failed}, race: true}
		if tips := strings.Join(rep.remedies(), "\n"); strings.Count(tips, "!race") != map[bool]int{true: 1}[want] {
			t.Errorf("%s: %q", sentence, tips)
		}
		rep = report{results: []reported{failed}}
		if tips := strings.Join(rep.remedies(), "\n"); strings.Contains(tips, "!race") {
			t.Errorf("%s, without -race: %q", sentence, tips)
		}
	}
	for name, want := range map[string]bool{
		"racecall": true, "racefuncenter": true, "racecallatomic": true, "runtime.racereadpc": true, "__tsan_read": true,
		"race.Read": false, "example.com/race.run": false, "runtime.memmove": false, "main.race": false, "": false,
	} {
		if charge.IsDetector(name) != want {
			t.Errorf("IsDetector(%q) is %t", name, !want)
		}
	}
}

// The profiles of checks that fail are left in a few folders for each test, and not in one for
// each run.
func TestFewFoldersStay(t *testing.T) {
	temp := t.TempDir()
	other, err := newFolder(temp, "TestOther")
	if err != nil {
		t.Fatal(err)
	}
	var last string
	for i := range 3 * keptFolders {
		if last, err = newFolder(temp, "TestShop/a"); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(last, "cpu.pprof"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(last, time.Time{}, time.Unix(int64(i), 0)); err != nil {
			t.Fatal(err)
		}
	}
	list, err := os.ReadDir(temp)
	if err != nil || len(list) != keptFolders+1 {
		t.Errorf("%d folders, %v; expected %d, and one of the other test", len(list), err, keptFolders)
	}
	for _, dir := range []string{last, other} {
		if _, err := os.Stat(dir); err != nil {
			t.Error(err)
		}
	}
}
