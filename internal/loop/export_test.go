package loop

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/alert"
	"github.com/profguard/profguard/internal/bridge"
	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/dumps"
	"github.com/profguard/profguard/internal/folded"
	"github.com/profguard/profguard/internal/judge"
	"github.com/profguard/profguard/internal/process"
	"github.com/profguard/profguard/internal/profiler"
	"github.com/profguard/profguard/internal/profiles"
)

const second, minute = time.Second, time.Minute

// A still is a loop without a goroutine of its own: the test steps through its windows, and sees
// what they report.
type still struct {
	*Loop
	cores   float64 // that the process uses
	begun   time.Time
	took    func(*Report) // also takes each; nil for nothing
	changes []Change
	told    []told
	dumps   []exported
	offers  int
	exports bool // somebody wants dumps
}

// told is a notice with its dump.
type told struct {
	*Change
	dump *Dump
}

// exported is what somebody gets who wants dumps.
type exported struct {
	ID dumps.ID
	*dumps.Dump
}

// newStill is a loop with budgets, of which a function may change the configuration.
func newStill(t *testing.T, change func(*Config), sentences ...string) *still {
	t.Helper()
	s := &still{cores: 1, begun: time.Now()}
	cfg := Config{
		Every: minute, Window: 10 * second, Started: s.begun, DumpEvery: 10 * minute,
		Process: Process{
			Source: windows("cpu 10s\nmain.main;main.serve;main.work 990\nmain.main;main.serve;fmt.Println 10\n"),
			Snap:   s.snap,
			Load:   process.ReadLoad,
			Thread: process.ThreadCPU,
			Random: func() float64 { return 0 },
			Linked: func(yield func(string) bool) error {
				_ = yield("main.work") && yield("fmt.Println")
				return nil
			},
			Profile: (*profiles.Taker).Take,
			Offer: func(*dumps.Store, dumps.Dump) (dumps.ID, error) {
				s.offers++
				return dumps.ID(fmt.Sprint(s.offers)), nil
			},
		},
	}
	if change != nil {
		change(&cfg)
	}
	var err error
	if cfg.Budgets, err = Compile(budget.Must(sentences...), cfg.Every, cfg.Window, nil); err != nil {
		t.Fatal(err)
	}
	s.Loop = New(cfg)
	s.adopt(t.Context(), cfg.Budgets)
	t.Cleanup(s.Close)
	return s
}

// step takes a window.
func (s *still) step(t *testing.T) {
	t.Helper()
	s.Step(t.Context(), false, s.take)
}

// take acts on a report, as a guard does.
func (s *still) take(r *Report) {
	if s.took != nil {
		s.took(r)
	}
	s.changes = slices.Clone(r.Changes)
	export := func(_ *Change, id dumps.ID, d *dumps.Dump) { s.dumps = append(s.dumps, exported{id, d}) }
	if !s.exports {
		export = nil
	}
	s.Keep(nil, r, completes, export)
	s.Tell(context.Background(), r, func(c *Change, d *Dump) { s.told = append(s.told, told{c, d}) })
}

func completes(_ *Change, d *dumps.Dump) bool { d.Budget = []byte("{}"); return true }

func (s *still) snap() process.Snapshot {
	now := time.Now()
	return process.Snapshot{At: now, CPU: time.Duration(s.cores * float64(now.Sub(s.begun)))}
}

// windows is a source that has the same window of CPU again and again, at once.
type windows string

func (w windows) Capture(_ context.Context, d time.Duration) (profiler.Window, error) {
	win := profiler.Window{Source: decode.Source{Data: packed(string(w))}, Start: time.Now(), Asked: d, Elapsed: d, Slices: 1}
	return win, nil
}

// packed is a profile of folded stacks.
func packed(text string) []byte {
	var b bytes.Buffer
	if err := folded.Must(text).Write(&b); err != nil {
		panic(err)
	}
	return b.Bytes()
}

// figures is a measurement of a window that completes a period at so many minutes.
func (s *still) figures(minutes float64, figures map[string]float64) *Measurement {
	end := s.Started.Add(time.Duration(minutes * float64(minute)))
	r := &Measurement{Tried: true, before: &Reading{}, Now: &Reading{}, Facts: judge.Facts{Figures: figures}, period: end.Add(-minute), completes: true}
	r.before.At, r.Now.At = end.Add(-10*second), end
	return r
}

// judgeFigures judges and acts on a measurement by its figures alone.
func (s *still) judgeFigures(t *testing.T, r *Measurement) {
	t.Helper()
	own := clock{thread: s.measure.Thread}
	s.take(&Report{Measurement: r, Changes: s.judge.decide(t.Context(), r, s.measure.profiles(r, s.judge.set, &own))})
}

// find advances the alert of a budget by a finding in the window that ends after so many minutes.
func (s *still) find(of *Budget, minutes float64, f judge.Finding) Change {
	return s.change(of, minutes, f, bridge.Result[budget.Result](of.Of, f))
}

func (s *still) change(of *Budget, minutes float64, f judge.Finding, r budget.Result) Change {
	end := s.Started.Add(time.Duration(minutes * float64(minute)))
	return s.judge.change(&Verdict{Of: of, Finding: f, Result: r, Start: end.Add(-10 * second), End: end})
}

// stand makes the alert of a budget fire, or not, by what has been proven.
func (s *still) stand(of *Budget, state alert.State, proven budget.Verdict, strength float64) {
	now := s.judge.known[of]
	now.Alert.State, now.Proven, now.Evidence = state, proven, strength
}
