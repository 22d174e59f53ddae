package guard

import (
	"context"
	"testing"
	"time"

	"github.com/profguard/profguard/internal/figures"
	"github.com/profguard/profguard/internal/hub"
)

func TestTrim(t *testing.T) {
	for _, test := range []struct {
		name  string
		rss   int64
		every time.Duration
		want  int
	}{
		{"small", 15 << 20, time.Minute, 1},
		{"large", 64 << 20, time.Minute, 0},
		{"unknown", 0, time.Minute, 0},
		{"small, windows all the time", 15 << 20, time.Second, 0},
	} {
		released := 0
		l := &looper{Guard: &Guard{cfg: Config{Every: test.every}, seams: seams{release: func() { released++ }}}}
		l.trim(figures.Snapshot{RSS: test.rss})
		if released != test.want {
			t.Errorf("%s: released memory %d times, want %d", test.name, released, test.want)
		}

		lean := 0
		l.last = figures.Snapshot{RSS: test.rss}
		l.seams.capture = func(context.Context, time.Duration) (hub.Window, error) { return hub.Window{}, nil }
		l.seams.lean = func(_ context.Context, _ time.Duration, relieve func()) (hub.Window, error) {
			lean++
			relieve()
			return hub.Window{}, nil
		}
		l.capture(context.Background(), &panel{groups: []*group{{kind: kindCPU}}})
		if lean != test.want || released != 2*test.want {
			t.Errorf("%s: %d lean captures released memory %d times, want %d of each", test.name, lean, released-test.want, test.want)
		}
	}
}
