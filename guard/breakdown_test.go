package guard

import (
	"bytes"
	"cmp"
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

	"github.com/profguard/profguard/internal/dumps"
	"github.com/profguard/profguard/internal/kinds"
	"github.com/profguard/profguard/internal/process"
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

	for _, tt := range []struct{ name, sentence, kept, largest, kind string }{
		{"goroutines", "goroutines below 300", "goroutines below 30000", "guard.TestFiguresNameTheirParts.func1", "goroutine"},
		{"heap", "heap below 64MiB", "heap below 64GiB", "guard.hoard", "heap"},
		{"rss", "rss below 16MiB", "rss below 64GiB", "guard.hoard", "heap"},
		{"gc", "gc below 1%", "gc below 99%", "guard.allocateMuch", "allocs"},
	} {
		for _, broken := range []bool{true, false} {
			w := newWorld()
			w.stretch = -1
			var shift time.Duration // each window completes a period
			w.reads = func() process.Snapshot {
				s := process.Read()
				s.At = s.At.Add(shift)
				return s
			}
			var log bytes.Buffer
			sentence := tt.sentence
			if !broken {
				sentence = tt.kept
			}
			cfg := dumping(t, "x: "+sentence+" for 1 windows", "other: fmt.Println below 90%")
			cfg.Logger = slog.New(slog.NewJSONHandler(&log, nil))
			var g *Guard
			var dumped []dumps.Dump
			w.offer = func(_ *dumps.Store, d dumps.Dump) (dumps.ID, error) {
				dumped = append(dumped, d)
				go dumpEnds(g, dumps.Outcome{ID: "1"})
				return "1", nil
			}
			g = w.still(t, cfg)
			dumpsTo(g, new(dumps.Store))
			quiet := hear(g)
			win := w.take(0)
			windows := 1
			if tt.kind == kinds.Allocs {
				windows = 3 // the end of the first that fails is the start of the profile
			}
			for n := range windows {
				if n > 0 {
					// Enough for a hundred samples, which collections publish.
					var before, now runtime.MemStats
					runtime.ReadMemStats(&before)
					eventually(t, "allocations", func() bool { runtime.ReadMemStats(&now); return now.TotalAlloc >= before.TotalAlloc+64<<20 })
					for range 3 {
						runtime.GC()
					}
				}
				shift += minute
				step(t, g)
			}
			dumpsTo(g, nil)
			quiet()
			r := g.Status().Budgets[0].Result
			if len(r.Offenders) > 0 != broken || len(dumped) > 0 != broken || strings.Contains(r.Reason, " profile ") != broken {
				t.Fatalf("%s, broken %t: %d dumps, %s", sentence, broken, len(dumped), r)
			}
			if !broken {
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
			d := dumped[len(dumped)-1] // the first one of gc is of a window whose parts are not known yet
			if side := standsIn(t, d.Budget).Result.Offenders; d.Files[0].Name != tt.kind+".pb.gz" || len(side) == 0 || !strings.HasSuffix(side[0].Function, tt.largest) || side[0].Line == 0 {
				t.Errorf("%s: %s of %s", tt.sentence, d.Files[0].Name, d.Budget)
			}
			if _, err := profile.ParseData(d.Files[0].Data); err != nil {
				t.Error(err)
			}
			if !slices.ContainsFunc(d.Files, func(f dumps.File) bool { return f.Name == "cpu.pb.gz" && bytes.Equal(f.Data, win.Data) }) {
				t.Errorf("%s: the CPU profile is not beside it", tt.sentence)
			}
			if fired := firings(w); len(fired) != 1 {
				t.Errorf("%s: fired %d times", tt.sentence, len(fired))
			} else if windows == 1 && (!strings.Contains(fired[0].Message, tt.largest) || len(fired[0].Result.Offenders) == 0) {
				t.Errorf("%s: the event says %q", tt.sentence, fired[0].Message)
			}
			text := g.Status().Budgets[0]
			if o := text.Result.Offenders; len(o) == 0 || !strings.HasSuffix(o[0].Function, tt.largest) || cmp.Or(text.drawn.OffenderUnit, text.Result.Unit) != "ratio" {
				t.Errorf("%s: the page shows %+v", tt.sentence, text)
			}
			if !strings.Contains(log.String(), tt.largest) {
				t.Errorf("%s: the log says %s", tt.sentence, log.String())
			}
		}
	}
}
