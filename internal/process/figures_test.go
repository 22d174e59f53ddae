package process

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestBetween(t *testing.T) {
	start := time.Unix(1e9, 0)
	a := Snapshot{
		At: start, CPU: 3 * time.Second, RSS: 1, Heap: 2, Goroutines: 4,
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
			want: Figures{Elapsed: 10 * time.Second, CPU: 20 * time.Second, Cores: 2, GC: 0.2, GCKnown: true, RSS: 10, Heap: 20, Goroutines: 40},
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
			b:    Snapshot{At: start, CPU: 4 * time.Second, RSS: 10},
			want: Figures{CPU: time.Second, RSS: 10},
		},
		{
			name: "the wrong way round",
			b:    Snapshot{At: start.Add(-time.Second), CPU: 2 * time.Second, RSS: 10},
			want: Figures{RSS: 10},
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

func TestSecondNumber(t *testing.T) {
	tests := []struct {
		text string
		want int64
		ok   bool
	}{
		{"765 441 413 5 0 123 0\n", 441, true},
		{"765 0 413", 0, true},
		{"1 12345678901234 1", 12345678901234, true},
		{"1 123456789012345 1", 0, false},
		{"765 441", 0, false}, // may be cut
		{"765", 0, false},
		{"", 0, false},
		{" 441 ", 0, false},
		{"765  441 ", 0, false},
		{"765 -441 413", 0, false},
		{"765 x 413", 0, false},
	}
	for _, tt := range tests {
		if got, ok := secondNumber([]byte(tt.text)); ok != tt.ok || ok && got != tt.want {
			t.Errorf("%q: %d, %v; want %d, %v", tt.text, got, ok, tt.want, tt.ok)
		}
	}
	if math.MaxInt64/int64(64<<10) < 99999999999999 {
		t.Error("the largest number of pages, in bytes, does not fit")
	}
}
