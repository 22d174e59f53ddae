package judge

import (
	"context"
	"time"

	"github.com/google/pprof/profile"
)

// Profile judges the next window from a parsed profile, see Table.
func (w *Watch) Profile(p *profile.Profile, at time.Duration, facts Facts) ([]Finding, error) {
	t, err := w.judge.decoder.Profile(p)
	if err != nil {
		return nil, err
	}
	return w.Table(context.Background(), t, at, facts)
}
