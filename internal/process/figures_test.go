package process

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestBetween(t *testing.T) {
	start := time.Unix(1e9, 0)
	a := Snapshot{
		At: start, CPU: 3 * time.Second,
		gc: collection{ended: 10, gc: 1, pause: 0.5, total: 40, idle: 30, procs: 4},
	}
	tests := []struct {
		name string
		b    Snapshot
		want Figures
	}{
		{
			name: "two cores, a fifth for the collector",
			b: Snapshot{
				At: start.Add(10 * time.Second), CPU: 23 * time.Second, RSS: 10, Heap: 20, Goroutines: 40,
				// 8 busy CPU seconds, of which 1.6 for the collector, without pauses.
				gc: collection{ended: 12, gc: 2.6, pause: 0.5, total: 80, idle: 62, procs: 4},
			},
			want: Figures{Elapsed: 10 * time.Second, CPU: 20 * time.Second, Cores: 2, GC: 0.2, GCKnown: true},
		},
		{
			name: "pauses cost one P, not four",
			b: Snapshot{
				At: start.Add(10 * time.Second), CPU: 4 * time.Second,
				// 4 CPU seconds of pauses are 1 of work and 3 of standing still.
				gc: collection{ended: 11, gc: 6, pause: 4.5, total: 80, idle: 57, procs: 4},
			},
			want: Figures{Elapsed: 10 * time.Second, CPU: time.Second, Cores: 0.1, GC: 0.2, GCKnown: true},
		},
		{
			name: "no collection ended",
			b:    Snapshot{At: start.Add(time.Second), CPU: 3 * time.Second, gc: a.gc},
			want: Figures{Elapsed: time.Second},
		},
		{
			name: "only profguard's own collection ended: the process had none",
			b:    Snapshot{At: start.Add(time.Second), CPU: 3 * time.Second, gc: collection{ended: 11, forced: 1, gc: 2, pause: 0.5, total: 44, idle: 30, procs: 4}},
			want: Figures{Elapsed: time.Second, GCKnown: true},
		},
		{
			name: "one of two collections was profguard's: what it took is in neither side",
			b:    Snapshot{At: start.Add(time.Second), CPU: 3 * time.Second, gc: collection{ended: 12, forced: 1, gc: 3, pause: 0.5, total: 45, idle: 30, procs: 4}},
			want: Figures{Elapsed: time.Second, GC: 0.25, GCKnown: true},
		},
		{
			name: "the same instant",
			b:    Snapshot{At: start, CPU: 4 * time.Second},
			want: Figures{CPU: time.Second},
		},
		{
			name: "the wrong way round",
			b:    Snapshot{At: start.Add(-time.Second), CPU: 2 * time.Second},
			want: Figures{},
		},
		{
			name: "estimates that contradict themselves: more collector than CPU",
			b:    Snapshot{At: start.Add(time.Second), CPU: 3 * time.Second, gc: collection{ended: 11, gc: 3, pause: 0.5, total: 41, idle: 30, procs: 1}},
			want: Figures{Elapsed: time.Second, GC: 1, GCKnown: true},
		},
		{
			name: "estimates that contradict themselves: more idle than there is",
			b:    Snapshot{At: start.Add(time.Second), CPU: 3 * time.Second, gc: collection{ended: 11, gc: 3, pause: 0.5, total: 41, idle: 32}},
			want: Figures{Elapsed: time.Second, GCKnown: true},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, Between(a, tt.b), cmpopts.EquateApprox(0, 1e-9)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}
