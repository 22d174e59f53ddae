package guard

import (
	"testing"
	"time"

	"github.com/profguard/profguard/internal/figures"
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
	}
}
