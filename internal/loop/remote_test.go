package loop

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/alert"
	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/evidence"
	"github.com/profguard/profguard/internal/judge"
	"github.com/profguard/profguard/internal/kinds"
	"github.com/profguard/profguard/internal/process"
	"github.com/profguard/profguard/internal/profiler"
)

// Another process is judged as this one is: the same profiles lead to the same states and counts.
func TestRemoteIsJudgedAlike(t *testing.T) {
	const good, bad = "cpu 10s\nmain.main;main.work 900\nmain.main;fmt.Println 100\n", "cpu 10s\nmain.main;main.work 300\nmain.main;fmt.Println 700\n"
	synctest.Test(t, func(t *testing.T) {
		text, set := good, []string{"x: fmt.Println below 20%", "y: no function above 60%", "z: fmt.Println below 20% for 3 windows"}
		s := newStill(t, func(c *Config) {
			c.Process.Source = takes(func(_ context.Context, d time.Duration) (profiler.Window, error) {
				time.Sleep(d)
				return profiler.Window{Source: decode.Source{Data: packed(text)}, Start: time.Now().Add(-d), Asked: d, Elapsed: d, Slices: 1}, nil
			})
		}, set...)
		r := remote(t, set...)
		var got alert.State
		for i := range 30 {
			if text = good; i >= 5 && i < 20 {
				text = bad
			}
			s.step(t)
			window(t, r, &RemoteWindow{Profiles: []Profile{cpuOf(t, text)}})
			for i, now := range r.Now() {
				own := s.judge.known[s.Budgets.Budgets[i]]
				if now.Standing.Alert.State != own.Alert.State || now.Samples != own.Samples || now.Hits != own.Hits || now.Verdicts != own.Verdicts {
					t.Fatalf("%s: %s after %v and %d of %d, this process is %s after %v and %d of %d", now.Name,
						now.State, now.Verdicts, now.Hits, now.Samples, own.Alert.State, own.Verdicts, own.Hits, own.Samples)
				}
				got = max(got, now.State)
			}
			time.Sleep(50 * second)
		}
		if got != alert.Firing {
			t.Errorf("the budgets were %s at most, so the test proves nothing", got)
		}
	})
}

// What a process does not say is judged by samples, if it can be, and is no reason for an alert.
func TestRemoteWithoutCounters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		at := func(cpu time.Duration) *Reading {
			return &Reading{Snapshot: process.Snapshot{At: time.Now(), CPU: cpu}, NoAlloc: true}
		}
		for _, tt := range []struct {
			name     string
			from, to time.Duration // the CPU time that it says
			says     bool
			want     evidence.Verdict
		}{
			{"by its counters it is idle", 0, 0, true, evidence.Pass},
			{"by its counters it is busy", 0, 100 * second, true, evidence.Fail},
			{"by its samples", 0, 0, false, evidence.Fail},
		} {
			r := remote(t, "process below 0.5 cores")
			w := &RemoteWindow{Profiles: []Profile{cpuOf(t, "cpu 10s\nmain.main;main.work 1000\n")}}
			if w.From = at(tt.from); tt.says {
				time.Sleep(10 * second)
				w.To = at(tt.to)
			}
			window(t, r, w)
			if got := r.Now()[0].Last.Verdict; got != budget.Verdict(tt.want) {
				t.Errorf("%s: %s, want %s: %s", tt.name, got, tt.want, r.Now()[0].Last)
			}
		}
	})
}

// remote is a process of which nothing is known.
func remote(t *testing.T, sentences ...string) *Remote {
	t.Helper()
	r, err := NewRemote(RemoteConfig{Budgets: budget.Must(sentences...), Every: minute, Window: 10 * second, Kind: func(r *judge.Rule) string { return r.Needs().Profile }})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func window(t *testing.T, r *Remote, w *RemoteWindow) {
	t.Helper()
	if _, err := r.Judge(t.Context(), w); err != nil {
		t.Fatal(err)
	}
}

// cpuOf is a CPU profile of folded stacks.
func cpuOf(t *testing.T, text string) Profile {
	t.Helper()
	table, err := new(decode.Decoder).Bytes(packed(text))
	if err != nil {
		t.Fatal(err)
	}
	return Profile{Kind: kinds.CPU, Table: table, Facts: judge.Facts{Kind: kinds.CPU, Elapsed: 10 * second}}
}
