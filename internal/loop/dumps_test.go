package loop

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/dumps"
	"github.com/profguard/profguard/internal/profiles"
)

// The last dump that was saved is named, and however many there were, not all of them are
// remembered.
func TestLastDump(t *testing.T) {
	s := newStill(t, nil, "x: fmt.Println below 20%")
	b, store := s.budgets.Budgets[0], new(dumps.Store)
	at, lastSaved := s.Started, ""
	for i := range 400 {
		at = at.Add(time.Hour)
		c := Change{Verdict: &Verdict{Of: b, End: at, profile: decode.Source{Data: []byte("x")}}}
		c.Result.Verdict = budget.Fail
		s.archive.save(store, []Change{c}, &Measurement{})
		outcome := dumps.Outcome{ID: dumps.ID(fmt.Sprint(s.offers))}
		if i%50 == 49 {
			outcome.Err = syscall.EIO
		}
		s.Saved(outcome)
		id, _ := s.archive.last(b, "", at)
		if outcome.Err == nil {
			lastSaved = fmt.Sprint(s.offers)
		}
		if d := s.outcomes[len(s.outcomes)-1]; d.ID != outcome.ID || d.Of != b || !d.End.Equal(at) || outcome.Err == nil && string(id) != lastSaved {
			t.Fatalf("window %d: a notice would name %q, the outcome is %+v, want %q", i, id, d, lastSaved)
		}
	}
	if n := len(s.archive.offered); s.offers != 400 || n > maxOffered {
		t.Errorf("of %d dumps %d are remembered, want at most %d", s.offers, n, maxOffered)
	}
}

// The dump of a figure has the profile of its parts. Where there is none, it has that of CPU.
func TestDumpOfAFigure(t *testing.T) {
	for most, want := range map[int]string{10_000: "goroutine.pb.gz cpu.pb.gz", 1: "cpu.pb.gz goroutine.pb.gz"} {
		names := ""
		s := newStill(t, func(c *Config) {
			c.Dumps = append(c.Dumps, func(_ dumps.ID, d *dumps.Dump) { names = d.Files[0].Name + " " + d.Files[1].Name })
		}, "x: goroutines below 1 for 1 windows")
		s.measure.parts = profiles.Taker{Goroutines: most}
		r := s.figures(1, map[string]float64{"goroutines": 5000})
		r.CPU.Data = packed("cpu 10s\nmain.main;main.work 100\n")
		s.judgeFigures(t, r)
		if names != want {
			t.Errorf("profiles of up to %d goroutines: the dump has %q, want %q", most, names, want)
		}
	}
}

// Those who want dumps or windows get them, also without a store. A notice names a dump that only
// they have.
func TestObservers(t *testing.T) {
	var files, seen []string
	var kept dumps.ID
	s := newStill(t, func(c *Config) {
		c.Windows = append(c.Windows, func(w *Window) {
			seen = append(seen, fmt.Sprint(w.Table.Count(), w.Elapsed, w.Work, len(w.Profile.Bytes()) > 0))
		})
		c.Dumps = append(c.Dumps, func(id dumps.ID, d *dumps.Dump) { files, kept = append(files, d.Name+" "+d.Files[0].Name), id })
		c.Work = map[string]func() float64{"row": func() float64 { return 7 }}
		c.Process.Source = windows("cpu 10s\nmain.main;main.serve;main.work 300\nmain.main;main.serve;fmt.Println 700\n")
	}, "x: fmt.Println below 20% for 1 windows", "y: process below 100 cores")
	s.Window(t.Context(), false)
	if !slices.Equal(seen, []string{"1000 10s map[row:0] true"}) || !slices.Equal(files, []string{"x cpu.pb.gz"}) {
		t.Errorf("windows %q, dumps %q", seen, files)
	}
	if len(s.told) != 1 || s.told[0].Dump != kept || kept == "" {
		t.Errorf("told %+v", s.told)
	}
}

// recorderFunc is a recorder that is always enabled.
type recorderFunc func(io.Writer) (int64, error)

func (recorderFunc) Enabled() bool                        { return true }
func (f recorderFunc) WriteTo(w io.Writer) (int64, error) { return f(w) }

// A recorder that has an error costs the dump its trace, and is asked again for the next.
func TestFlightRecorderHasError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		recorder := recorderFunc(func(to io.Writer) (int64, error) {
			if calls++; calls == 1 {
				return 0, errors.New("call to WriteTo already in progress")
			}
			n, err := to.Write([]byte("trace"))
			return int64(n), err
		})
		s := newStill(t, func(c *Config) { c.Trace = recorder }, "x: fmt.Println below 20%")
		if files := s.archive.beside(); slices.ContainsFunc(files, func(f dumps.File) bool { return f.Name == "trace.out" }) {
			t.Error("there is a trace, but the recorder has failed")
		}
		if s.traced == nil || !strings.Contains(s.traced.Error(), "in progress") {
			t.Errorf("%v, want the error", s.traced)
		}
		if files := s.archive.beside(); !slices.ContainsFunc(files, func(f dumps.File) bool { return f.Name == "trace.out" && string(f.Data) == "trace" }) {
			t.Errorf("no trace in %v after the recorder has recovered", files)
		}
		if s.traced != nil {
			t.Errorf("%v, want none", s.traced)
		}
	})
}

// A recorder that panics, hangs or writes without end costs the dumps their traces, and nothing
// else. It is not called again.
func TestFlightRecorderFails(t *testing.T) {
	var release chan struct{}
	for _, tt := range []struct {
		say   string
		write recorderFunc
	}{
		{"panic: on purpose", func(io.Writer) (int64, error) { panic("on purpose") }},
		{"not returned within", func(io.Writer) (int64, error) { <-release; return 0, nil }},
		{"has not returned within 1s", func(io.Writer) (int64, error) { time.Sleep(3 * second); return 0, nil }},
		{"ended its goroutine", func(io.Writer) (int64, error) { runtime.Goexit(); return 0, nil }},
		{"writes more than", func(w io.Writer) (int64, error) {
			n, err := w.Write(make([]byte, 200<<20))
			return int64(n), err
		}},
	} {
		t.Run(tt.say, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				release = make(chan struct{})
				defer close(release)
				var calls atomic.Int32
				recorder := recorderFunc(func(to io.Writer) (int64, error) { calls.Add(1); return tt.write(to) })
				s := newStill(t, func(c *Config) { c.Trace = recorder }, "x: fmt.Println below 20%")
				for range 2 {
					if files := s.archive.beside(); slices.ContainsFunc(files, func(f dumps.File) bool { return f.Name == "trace.out" }) {
						t.Error("there is a trace")
					}
					time.Sleep(5 * second)
				}
				if calls.Load() != 1 || s.traced == nil || !strings.Contains(s.traced.Error(), tt.say) {
					t.Errorf("%d calls, %v", calls.Load(), s.traced)
				}
			})
		})
	}
}
