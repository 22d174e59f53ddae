package guard

import (
	"log/slog"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/folded"
	"github.com/profguard/profguard/internal/judge"
)

const (
	oursLoop   = "github.com/profguard/profguard/guard.start.func2;github.com/profguard/profguard/guard.(*Guard).loop;"
	oursSink   = "github.com/profguard/profguard/guard.(*sink).run;"
	oursCall   = "github.com/profguard/profguard/guard.call;github.com/profguard/profguard/guard.(*sink).run.func2;"
	writesThem = "runtime/pprof.profileWriter;compress/flate.NewWriter"
)

// TestOwnAllocationsAreNotJudged is about a host that only computes, and one that
// allocates.
func TestOwnAllocationsAreNotJudged(t *testing.T) {
	ours := writesThem + " 600 600000000\n" + // what the guard itself does in some minutes
		oursLoop + "github.com/profguard/profguard/guard.(*looper).judge 400 400000000\n"
	for _, test := range []struct {
		name, kind, text string
		verdict          budget.Verdict
		offender         string
	}{
		{"computes", "allocs", ours + "main.main;main.work 1 1024\n", budget.Inconclusive, ""},
		{"allocates", "allocs", ours + "main.main;main.work;main.copy 60000 6000000000\nmain.main;main.work;main.parse 40000 4000000000\n", budget.Fail, "main.copy"},
		{"a callback allocates", "allocs", ours + oursSink + oursCall + "main.onEvent;main.format 60000 6000000000\n", budget.Fail, "main.format"},
		{"the guard waits", "block", oursSink + "runtime.chanrecv2 9000 9000s\n" + oursLoop + "runtime.selectgo 9000 9000s\n", budget.Inconclusive, ""},
		{"the host waits", "block", oursSink + "runtime.chanrecv2 9000 9000s\nmain.main;main.work;main.wait;sync.(*Mutex).Lock 9000 9000s\n", budget.Fail, "main.wait"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var l looper
			table, err := l.table(test.kind, packed(folded.Must(test.kind+" 10s\n"+test.text)))
			if err != nil {
				t.Fatal(err)
			}
			limit := map[string]string{"allocs": "30%", "block": "30 cores"}[test.kind]
			set := budget.Must("no function above " + limit + " of " + test.kind)
			rules, err := set.Rules()
			if err != nil {
				t.Fatal(err)
			}
			j, err := judge.New(rules)
			if err != nil {
				t.Fatal(err)
			}
			findings, err := j.Table(t.Context(), table, judge.Facts{Kind: test.kind})
			if err != nil {
				t.Fatal(err)
			}
			r := set[0].Result(findings[0])
			offender := ""
			if len(r.Offenders) > 0 {
				offender = r.Offenders[0].Function
			}
			if r.Verdict != test.verdict || offender != test.offender {
				t.Errorf("%s", r)
			}
		})
	}
}

// TestOwnAllocationsOfWindows is the same with the real profiler. What it writes
// takes a megabyte or two a window, of which one allocation in 512 KiB is seen.
func TestOwnAllocationsOfWindows(t *testing.T) {
	if testing.Short() {
		t.Skip("measures allocations for seconds")
	}
	g, err := Start(Config{
		Registerer: prometheus.NewRegistry(), Logger: slog.New(slog.DiscardHandler), Every: time.Second, Window: time.Second,
		Budgets: budget.Must(
			"own: runtime/pprof.profileWriter below 99% of allocs",
			"planted: guard.allocateMuch below 99% of allocs",
			"cpu: no function above 99%", // so that there are CPU profiles
		),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Stop()
	eventually(t, "three windows", func() bool {
		for range 100 {
			allocateMuch()
		}
		runtime.GC()
		b := g.Status().Budgets[1]
		return b.Verdicts["pass"]+b.Verdicts["fail"]+b.Verdicts["inconclusive"] >= 3 && b.Hits > 0
	})
	if b := g.Status().Budgets[0]; b.Hits > 0 {
		t.Errorf("the guard names itself: %s", b.Result)
	}
	if warning := g.Status().Budgets[0].Warning; strings.Contains(warning, "no function linked") {
		t.Errorf("the test proves nothing: %s", warning)
	}
}
