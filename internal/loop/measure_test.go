package loop

import (
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/bridge"
	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/folded"
	"github.com/profguard/profguard/internal/judge"
	"github.com/profguard/profguard/internal/process"
)

// Where no collection has ended, the profile shows whether one runs.
func TestGCOf(t *testing.T) {
	runs := "main.main;main.work 90\nruntime.gcBgMarkWorker;runtime.systemstack;runtime.gcDrain 10\n"
	none := "main.main;main.work;runtime.mallocgc 100\n"
	for _, tt := range []struct {
		used    process.Figures
		profile string
		want    float64 // -1 for not known
	}{
		{process.Figures{GCKnown: true, GC: 0.3}, runs, 0.3},
		{process.Figures{GCKnown: true, GC: 0.3}, none, 0.3},
		{process.Figures{}, runs, -1},
		{process.Figures{}, none, 0},
		{process.Figures{}, "", -1},
	} {
		var table *decode.Table
		if tt.profile != "" {
			var err error
			if table, err = new(decode.Decoder).Profile(folded.Must("cpu 10s\n" + tt.profile)); err != nil {
				t.Fatal(err)
			}
		}
		facts := judge.Facts{Figures: map[string]float64{}}
		gcOf(&tt.used, table, &facts)
		got, known := facts.Figures["gc"]
		if !known {
			got = -1
		}
		if got != tt.want || known == (facts.NoFigures["gc"] != "") {
			t.Errorf("%+v, %q: gc is %v, not known because %q; want %v", tt.used, tt.profile, got, facts.NoFigures["gc"], tt.want)
		}
	}
}

// While a collection runs that lasts longer than a window, nobody knows what it takes:
// such windows neither keep a budget nor break a row of those that do not.
func TestUnknownGC(t *testing.T) {
	s, minutes := newStill(t, nil, "gc below 5% for 3 windows", "plain: gc below 5%"), 0.0
	windows := func(shares ...float64) (states string) {
		for _, share := range shares {
			minutes++
			r := s.figures(minutes, map[string]float64{})
			gcOf(&process.Figures{GCKnown: share >= 0, GC: share}, nil, &r.Facts)
			s.judgeFigures(t, r)
			for _, c := range s.changes {
				states += c.Alert.State.String()[:1]
			}
			states += " "
		}
		return states
	}
	const unknown = -1
	if got := windows(0.5, unknown, 0.5, unknown, unknown, 0.5); got != "pp pp pp pp pp ff " {
		t.Errorf("a collector that takes half, seen in every second window or third: %s", got)
	}
	if got := windows(unknown, unknown, unknown, unknown); got != "ff ff ff ff " {
		t.Errorf("not known afterwards: %s", got)
	}
	if r := s.changes[1].Result; r.Verdict != budget.Inconclusive || !strings.Contains(r.Reason, "no collection has ended") {
		t.Errorf("not known: %s", r)
	}
	if got := windows(0.01, unknown, 0.01, 0.01); got != "ff ff ff oo " {
		t.Errorf("little, in three windows: %s", got)
	}
}

// The collector's share is judged over the whole period, also where windows come closer.
func TestGCOfThePeriod(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStill(t, nil, "gc below 5%")
		var ends []time.Time
		for _, pause := range []time.Duration{0, 20 * second, 20 * second, 20 * second} {
			time.Sleep(pause)
			s.step(t)
			ends = append(ends, s.measure.ended.At)
		}
		if !ends[0].Equal(ends[1]) || !ends[0].Equal(ends[2]) || !ends[3].Equal(time.Now()) {
			t.Errorf("after the windows, periods have ended at %v, want at the first and the last", ends)
		}
	})
}

// allocsTaker is a loop that takes allocation profiles. The sampling is put back when the test ends.
func allocsTaker(t *testing.T) *still {
	t.Helper()
	rate := runtime.MemProfileRate
	t.Cleanup(func() { runtime.MemProfileRate = rate })
	return newStill(t, nil, "no function above 20% of allocs")
}

// A window that ends without a profile takes its work along, because the next window has its
// own only. While no collection has ended, the next window covers this one, too.
func TestKindWorkOfWindowsWithoutProfile(t *testing.T) {
	rate := runtime.MemProfileRate
	s := allocsTaker(t)
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	at := func(n float64) *Measurement {
		return &Measurement{Now: &Reading{Work: Answers{"request": {N: n}}}}
	}
	for _, tt := range []struct {
		collect  bool
		rate     int
		requests float64 // so far
		want     string  // of the error
		work     float64
	}{
		{true, rate, 100, "this is the first", 0},
		{true, 2 * rate, 1100, "its sampling was one in", 0},
		{true, 2 * rate, 1600, "", 500},
		{false, 2 * rate, 1700, "garbage collections", 0},
		{true, 2 * rate, 1900, "", 300},
	} {
		if tt.collect {
			runtime.GC() // which publishes what was allocated
		}
		runtime.MemProfileRate = tt.rate
		p := s.measure.take("allocs", at(tt.requests))
		err, facts := p.Err, p.Facts
		if tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) || tt.want == "" && (err != nil || facts.Work["request"] != tt.work) {
			t.Errorf("at %v requests: work %v, %v; want %v, %q", tt.requests, facts.Work, err, tt.work, tt.want)
		}
	}
}

// A profile that cannot be taken says why, and begins when it can: also after one
// that had begun.
func TestKindBeginsAgain(t *testing.T) {
	rate := runtime.MemProfileRate
	s := allocsTaker(t)
	const off, first = "runtime.MemProfileRate is 0", "this is the first"
	for n, want := range []string{off, first, "", "", off, off, first, ""} {
		runtime.MemProfileRate = rate
		if want == off {
			runtime.MemProfileRate = 0
		}
		runtime.GC() // which publishes what was allocated
		if err := s.measure.take("allocs", &Measurement{Now: new(Reading)}).Err; want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("window %d: %v, want %q", n, err, want)
		}
	}
}

const (
	oursLoop   = "github.com/profguard/profguard/guard.start.func1;github.com/profguard/profguard/internal/loop.(*Loop).Run;"
	oursSink   = "github.com/profguard/profguard/guard.(*sink).run;"
	oursCall   = "github.com/profguard/profguard/internal/foreign.Call;github.com/profguard/profguard/guard.(*sink).run.func2;"
	writesThem = "runtime/pprof.profileWriter;compress/flate.NewWriter"
)

// TestOwnAllocationsAreNotJudged is about a host that only computes, and one that
// allocates.
func TestOwnAllocationsAreNotJudged(t *testing.T) {
	ours := writesThem + " 600 600000000\n" + // what the guard itself does in some minutes
		oursLoop + "github.com/profguard/profguard/internal/loop.(*judger).verdicts 400 400000000\n"
	for _, test := range []struct {
		name, kind, text string
		verdict          budget.Verdict
		offender         string
	}{
		{"computes", "allocs", ours + "main.main;main.work 1 1024\n", budget.Inconclusive, ""},
		{"allocates", "allocs", ours + "main.main;main.work;main.copy 60000 6000000000\nmain.main;main.work;main.parse 40000 4000000000\n", budget.Fail, "main.copy"},
		{"a callback allocates", "allocs", ours + oursSink + oursCall + "main.onEvent;main.format 60000 6000000000\n", budget.Fail, "main.format"},
		{"the guard reads a counter", "allocs", ours + "github.com/profguard/profguard/internal/foreign.Start.func1;github.com/profguard/profguard/internal/foreign.Call;" +
			"github.com/profguard/profguard/internal/loop.(*source).ask.func1;prometheus.Gather 60000 6000000000\n", budget.Inconclusive, ""},
		{"the guard waits", "block", oursSink + "runtime.chanrecv2 9000 9000s\n" + oursLoop + "runtime.selectgo 9000 9000s\n", budget.Inconclusive, ""},
		{"the host waits", "block", oursSink + "runtime.chanrecv2 9000 9000s\nmain.main;main.work;main.wait;sync.(*Mutex).Lock 9000 9000s\n", budget.Fail, "main.wait"},
	} {
		t.Run(test.name, func(t *testing.T) {
			table, err := decoded(new(decode.Decoder), &Profile{Kind: test.kind, Source: decode.Source{Data: packed(test.kind + " 10s\n" + test.text)}}, nil)
			if err != nil {
				t.Fatal(err)
			}
			limit := map[string]string{"allocs": "30%", "block": "30 cores"}[test.kind]
			set := budget.Must("no function above " + limit + " of " + test.kind)
			rules, err := bridge.Rules(set)
			if err != nil {
				t.Fatal(err)
			}
			j := judge.New(rules)
			findings, err := j.Table(t.Context(), table, judge.Facts{Kind: test.kind})
			if err != nil {
				t.Fatal(err)
			}
			r := bridge.Result[budget.Result](set[0], findings[0])
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
