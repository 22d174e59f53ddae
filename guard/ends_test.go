package guard

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/profiler"
)

// An alert that was fixed ends within a quarter of an hour at the defaults, also with 15 samples a window. The clean twins
// are not fixed, and do not end in the same time: they go on, or come in one window of three, or may be
// hidden in stacks that were cut off.
func TestFixedAlertEndsWithinMinutes(t *testing.T) {
	const (
		lasts = 30 * time.Minute
		hit   = "main.main;main.serve;fmt.Println 1\n"
		other = "main.main;main.serve;main.work 1\n"
	)
	hits := func(random *rand.Rand, share float64) string {
		text := "cpu 10s\n"
		for range 15 {
			if random.Float64() < share {
				text += hit
			} else {
				text += other
			}
		}
		return text
	}
	cut := ""
	for i := range 63 {
		cut += fmt.Sprintf("main.f%d;", i)
	}
	cut += "main.leaf 1\n"
	for _, tt := range []struct {
		name, sentence string
		after          func(random *rand.Rand) string
		ends           bool
	}{
		{"absent, fixed", "x: fmt.Println absent", func(r *rand.Rand) string { return hits(r, 0) }, true},
		{"a share, fixed", "x: fmt.Println below 10%", func(r *rand.Rand) string { return hits(r, 0) }, true},
		{"absent, goes on", "x: fmt.Println absent", func(r *rand.Rand) string { return hits(r, 0.4) }, false},
		{"a share, goes on", "x: fmt.Println below 10%", func(r *rand.Rand) string { return hits(r, 0.4) }, false},
		{"absent, in every third window", "x: fmt.Println absent", func(r *rand.Rand) string { return hits(r, 0.4*float64(r.IntN(3)/2)) }, false},
		{"absent, perhaps cut off", "x: fmt.Println absent", func(r *rand.Rand) string { return hits(r, 0) + cut }, false},
	} {
		bubble(t, func(t *testing.T, w *world) {
			random := rand.New(rand.NewPCG(41, 15))
			w.take = func(int) profiler.Window {
				if w.since() < lasts {
					return cpuWindow(hits(random, 0.4))
				}
				return cpuWindow(tt.after(random))
			}
			g := w.start(t, Config{Budgets: budget.Must(tt.sentence)})
			pass(lasts + time.Second)
			if s := g.Status().Budgets[0]; s.State != StateFiring {
				t.Fatalf("%s: %s after %v", tt.name, s.State, lasts)
			}
			pass(15 * time.Minute)
			g.Stop()
			s := g.Status().Budgets[0]
			if ended := s.State != StateFiring; ended != tt.ends {
				t.Errorf("%s: %s a quarter of an hour later, %v: %s", tt.name, s.State, w.told(), s.Result.Reason)
			}
		})
	}
}
