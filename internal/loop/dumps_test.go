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
	b, store := s.Budgets.Budgets[0], new(dumps.Store)
	at := s.Started
	for i := range 400 {
		at = at.Add(time.Hour)
		c := Change{Verdict: &Verdict{Of: b, End: at, profile: decode.Source{Data: []byte("x")}}}
		c.Result.Verdict = budget.Fail
		c.Notice = new(Notice)
		s.Keep(store, &Report{Measurement: new(Measurement), Changes: []Change{c}}, completes, nil)
		outcome := dumps.Outcome{ID: dumps.ID(fmt.Sprint(s.offers))}
		if i%50 == 49 {
			outcome.Err = syscall.EIO
		}
		var d Dump
		s.Saved(outcome, func(of *Dump) { d = *of })
		shown := s.archive.shown(t.Context(), &c)
		if d.ID != outcome.ID || d.Of != b || !d.End.Equal(at) || d.Err != outcome.Err || (outcome.Err == nil) != (shown != nil && shown.ID == d.ID) {
			t.Fatalf("window %d: a notice would name %+v, the outcome is %+v", i, shown, d)
		}
	}
	if n := len(s.archive.offered); s.offers != 400 || n > maxOffered {
		t.Errorf("of %d dumps %d are remembered, want at most %d", s.offers, n, maxOffered)
	}
}

// The dump of a figure has the profile of its parts. Where there is none, it has that of CPU.
func TestDumpOfAFigure(t *testing.T) {
	for most, want := range map[int]string{10_000: "goroutine.pb.gz cpu.pb.gz", 1: "cpu.pb.gz goroutine.pb.gz"} {
		s := newStill(t, nil, "x: goroutines below 1 for 1 windows")
		s.exports = true
		s.measure.parts = profiles.Taker{Goroutines: most}
		r := s.figures(1, map[string]float64{"goroutines": 5000})
		r.CPU.Data = packed("cpu 10s\nmain.main;main.work 100\n")
		s.judgeFigures(t, r)
		if names := s.dumps[0].Files[0].Name + " " + s.dumps[0].Files[1].Name; names != want {
			t.Errorf("profiles of up to %d goroutines: the dump has %q, want %q", most, names, want)
		}
	}
}

// A report has the good window, and dumps are made also without a store, if others keep them. A notice names such a dump.
func TestDumpsElsewhere(t *testing.T) {
	var seen []string
	s := newStill(t, func(c *Config) {
		c.Always = true
		c.Work = map[string]func() float64{"row": func() float64 { return 7 }}
		c.Process.Source = windows("cpu 10s\nmain.main;main.serve;main.work 300\nmain.main;main.serve;fmt.Println 700\n")
	}, "x: fmt.Println below 20% for 1 windows", "y: process below 100 cores")
	s.exports = true
	s.took = func(r *Report) {
		seen = append(seen, fmt.Sprint(r.Samples, r.CPU.Elapsed, r.Facts.Work, len(r.CPU.Bytes()) > 0))
	}
	s.step(t)
	if !slices.Equal(seen, []string{"1000 10s map[row:0] true"}) || len(s.dumps) != 1 || s.dumps[0].Name+" "+s.dumps[0].Files[0].Name != "x cpu.pb.gz" {
		t.Errorf("windows %q, dumps %v", seen, s.dumps)
	}
	if len(s.told) != 1 || s.told[0].dump == nil || s.told[0].dump.ID != s.dumps[0].ID || s.dumps[0].ID == "" {
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
		files, untraced := s.archive.beside()
		if slices.ContainsFunc(files, func(f dumps.File) bool { return f.Name == "trace.out" }) {
			t.Error("there is a trace, but the recorder has failed")
		}
		if untraced == nil || !strings.Contains(untraced.Error(), "in progress") {
			t.Errorf("%v, want the error", untraced)
		}
		files, untraced = s.archive.beside()
		if !slices.ContainsFunc(files, func(f dumps.File) bool { return f.Name == "trace.out" && string(f.Data) == "trace" }) {
			t.Errorf("no trace in %v after the recorder has recovered", files)
		}
		if untraced != nil {
			t.Errorf("%v, want none", untraced)
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
					files, untraced := s.archive.beside()
					if slices.ContainsFunc(files, func(f dumps.File) bool { return f.Name == "trace.out" }) {
						t.Error("there is a trace")
					}
					if untraced == nil || !strings.Contains(untraced.Error(), tt.say) {
						t.Errorf("no trace because of %v", untraced)
					}
					time.Sleep(5 * second)
				}
				if calls.Load() != 1 {
					t.Errorf("%d calls", calls.Load())
				}
			})
		})
	}
}
