package guard

import (
	"bytes"
	"cmp"
	"fmt"
	"log/slog"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/dumps"
	"github.com/profguard/profguard/internal/folded"
	"github.com/profguard/profguard/internal/judge"
	"github.com/profguard/profguard/internal/kinds"
	"github.com/profguard/profguard/internal/process"
	"github.com/profguard/profguard/internal/profiles"
	"github.com/profguard/profguard/internal/unit"
)

//go:noinline
func hoard() []byte { return make([]byte, 1<<20) }

// A figure that is over its limit comes with the function that it is made of, in
// the event, the log, the status, the page and the sidecar. Its clean twin, with
// the same things in the process, has none, and costs no profile.
func TestFiguresNameTheirParts(t *testing.T) {
	noLeaks(t)
	stop := make(chan struct{})
	gone := make(chan struct{}, 500)
	for range 500 {
		go func() { waitHere(stop); gone <- struct{}{} }()
	}
	churned := make(chan struct{})
	go func() {
		defer close(churned)
		for {
			select {
			case <-stop:
				return
			default:
				for range 100 {
					allocateMuch()
				}
				time.Sleep(10 * time.Millisecond) // collections by the dozen a second are enough
			}
		}
	}()
	defer func() {
		close(stop)
		<-churned
		for range 500 {
			<-gone
		}
	}()
	for range 200 {
		held = append(held, hoard())
	}
	defer func() { held = nil }()
	runtime.GC() // the heap profile is as of the last
	runtime.GC()
	// As in a process that does little but collect: allocations are published by
	// collections.
	defer debug.SetGCPercent(debug.SetGCPercent(5))

	for _, tt := range []struct{ name, sentence, largest, kind string }{
		{"goroutines", "goroutines below 300", "guard.TestFiguresNameTheirParts.func1", "goroutine"},
		{"heap", "heap below 64MiB", "guard.hoard", "heap"},
		{"rss", "rss below 64MiB", "guard.hoard", "heap"},
		{"gc", "gc below 1%", "guard.allocateMuch", "allocs"},
	} {
		for _, broken := range []bool{true, false} {
			w := newWorld()
			w.stretch = -1
			var log bytes.Buffer
			cfg := dumping(t, "x: "+tt.sentence+" for 1 windows", "other: fmt.Println below 90%")
			cfg.Logger = slog.New(slog.NewJSONHandler(&log, nil))
			l := w.still(t, cfg)
			events := make(chan Event, 10)
			l.sinks = []*sink{newSink("test", func(e Event) { events <- e }, l.off)}
			var dumped []dumps.Dump
			l.seams.offer = func(_ *dumps.Store, d dumps.Dump) (dumps.ID, error) {
				dumped = append(dumped, d)
				go l.dumped(dumps.Outcome{ID: "1"})
				return "1", nil
			}
			l.store = new(dumps.Store)
			value, taken := 0.0, false
			if broken {
				value = 1e12
			}
			p, at := l.budgets, time.Now()
			win := w.take(0)
			if tt.kind == kinds.Allocs && broken { // a window that fails before, whose end is the start of the profile
				if b := l.breakDown(t.Context(), tt.kind); b.err == nil || !strings.Contains(b.err.Error(), "this is the first") {
					t.Errorf("the first window: %v", b.err)
				}
				clear(l.breakdowns)
				var before, now debug.GCStats
				debug.ReadGCStats(&before)
				eventually(t, "collections", func() bool { debug.ReadGCStats(&now); return now.NumGC >= before.NumGC+10 })
			}
			for range 2 {
				if tt.kind == kinds.Allocs && broken {
					// Enough for a hundred samples, which collections publish.
					var before, now runtime.MemStats
					runtime.ReadMemStats(&before)
					eventually(t, "allocations", func() bool { runtime.ReadMemStats(&now); return now.TotalAlloc >= before.TotalAlloc+64<<20 })
					for range 3 {
						runtime.GC()
					}
				}
				l.apply(t.Context(), l.judge(t.Context(), p.groups[1], measuredAt(&win, at, tt.name, value)), &win)
				taken = len(l.breakdowns) > 0
				clear(l.breakdowns)
				l.furtherFiles = nil
				at = at.Add(minute)
			}
			l.store = nil
			r := l.Status().Budgets[0].Result
			if taken != broken || len(r.Offenders) > 0 != broken || len(dumped) > 0 != broken {
				t.Fatalf("%s, broken %t: profile taken %t, %d dumps, %s", tt.sentence, broken, taken, len(dumped), r)
			}
			l.parts.Close()
			if !broken {
				finish(l.sinks[0])
				continue
			}
			o := r.Offenders[0]
			if !strings.HasSuffix(o.Function, tt.largest) || filepath.Ext(o.File) != ".go" || o.Line == 0 {
				t.Errorf("%s: %s", tt.sentence, r)
			}
			if tt.name == "rss" && !regexp.MustCompile(tt.largest+`  [\d.]+%, [\d.]+MiB`).MatchString(r.String()) {
				t.Errorf("the report has no bytes: %s", r)
			}
			if !strings.Contains(r.Reason, tt.largest+" at guard/") {
				t.Errorf("the reason names nobody: %s", r.Reason)
			}
			d := dumped[0]
			if side := standsIn(t, d.Budget).Result.Offenders; d.Files[0].Name != tt.kind+".pb.gz" || len(side) == 0 || !strings.HasSuffix(side[0].Function, tt.largest) || side[0].Line == 0 {
				t.Errorf("%s: %s of %s", tt.sentence, d.Files[0].Name, d.Budget)
			}
			if _, err := profile.ParseData(d.Files[0].Data); err != nil {
				t.Error(err)
			}
			if !slices.ContainsFunc(d.Files, func(f dumps.File) bool { return f.Name == "cpu.pb.gz" && bytes.Equal(f.Data, win.Data) }) {
				t.Errorf("%s: the CPU profile is not beside it", tt.sentence)
			}
			finish(l.sinks[0])
			fired := <-events
			if !strings.Contains(fired.Message, tt.largest) || len(fired.Result.Offenders) == 0 {
				t.Errorf("%s: the event says %q", tt.sentence, fired.Message)
			}
			text := l.Status().Budgets[0]
			if o := text.Result.Offenders; len(o) == 0 || !strings.HasSuffix(o[0].Function, tt.largest) || cmp.Or(text.OffenderUnit, text.Result.Unit) != "ratio" {
				t.Errorf("%s: the page shows %+v", tt.sentence, text)
			}
			slogSink(cfg.Logger, cfg.DumpDir)(fired)
			if !strings.Contains(log.String(), tt.largest) {
				t.Errorf("%s: the log says %s", tt.sentence, log.String())
			}
		}
	}
}

// Goroutines that wait each for something else have no largest part. All of them stand in
// functions of the runtime, which nobody can act on.
func TestGoroutinesOfAllSortsNameNobody(t *testing.T) {
	sorts := "goroutine\n"
	for i := range 20 {
		sorts += fmt.Sprintf("main.start%d;runtime.chanrecv1;runtime.chanrecv;runtime.gopark 1\n", i)
	}
	for _, tt := range []struct{ text, want string }{
		{sorts, ""},
		{sorts + "main.(*session).watch;runtime.selectgo;runtime.gopark 400\n", "main.(*session).watch"},
		{sorts + "main.run;time.Sleep;runtime.gopark 9\n", "main.run"},
	} {
		var l looper
		table, err := l.table("goroutine", decode.Source{Data: packed(folded.Must(tt.text))})
		if err != nil {
			t.Fatal(err)
		}
		parts, err := largestParts(t.Context(), table, "goroutine", "", unit.Share)
		if err != nil {
			t.Fatal(err)
		}
		named := ""
		if len(parts) > 0 {
			named = parts[0].Function
		}
		if named != tt.want {
			t.Errorf("%q is named, want %q", named, tt.want)
		}
	}
}

// What is too dear to take is not taken, and that is said.
func TestNoPartsOfTooMany(t *testing.T) {
	w := newWorld()
	w.stretch = -1
	l := w.still(t, Config{Budgets: budget.Must("x: goroutines below 300")})
	l.parts = profiles.Taker{Goroutines: 1}
	facts := judge.Facts{Figures: map[string]float64{"goroutines": 5000}}
	win := w.take(0)
	l.apply(t.Context(), l.judge(t.Context(), l.budgets.groups[0], &observation{cpu: &win, facts: facts, before: &totals{}, now: &totals{Snapshot: process.Snapshot{At: time.Now()}}, period: time.Now(), regular: true}), &win)
	r := l.Status().Budgets[0].Result
	if len(r.Offenders) != 0 || r.Verdict != budget.Fail || !strings.Contains(r.Reason, "what it is made of is not known: take goroutine profile: there are ") {
		t.Errorf("%s", r)
	}
}
