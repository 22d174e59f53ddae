package guard

import (
	"errors"
	"fmt"
	"time"

	"github.com/profguard/profguard/internal/foreign"
	"github.com/profguard/profguard/internal/loop"
)

// Feed judges a CPU profile that other code has taken, as a window, where an agent such as
// Pyroscope's or Datadog's has the process's one CPU profiler all the time. While profiles are fed,
// the guard takes none of CPU itself; if they end, it does so again after a while.
// The modules export/pyroscope and export/datadog feed what these agents send.
//
// start and end are when the profile was started and stopped. Feed reads the profile, gzipped or
// not, within the limits for hostile input, keeps a copy, and does not wait until it is judged. Its
// error says why a profile is not judged: it is of another kind or time, overlaps with the one
// before, or is broken. The first such error of an hour is an event, too.
//
// Work done in a window ("per request") is known if the window follows the one before.
//
// Feed(nil, time.Time{}, time.Time{}) announces profiles: the guard takes none of CPU for two minutes,
// so that it does not contend with an agent that is about to start.
func (g *Guard) Feed(profile []byte, start, end time.Time) error {
	if g == nil || g.active == nil || g.active.Err() != nil {
		return errors.New("feed a profile: no guard runs")
	}
	if profile == nil && start.IsZero() && end.IsZero() {
		g.feed.Announce()
		return nil
	}
	err := foreign.Recovered(func() error { return g.feed.Add(profile, start, end) })
	if !errors.Is(err, loop.ErrKind) { // agents send others beside it
		g.mu.Lock()
		defer g.mu.Unlock()
		if err == nil {
			g.faults.clear("feed")
		} else {
			g.degraded("feed", "", "a profile that was fed is not judged: "+err.Error())
		}
	}
	if err != nil {
		return fmt.Errorf("feed a profile: %w", err)
	}
	return nil
}
