package guard

import (
	"errors"
	"fmt"
	"time"

	"github.com/profguard/profguard/internal/foreign"
	"github.com/profguard/profguard/internal/loop"
)

// Feed judges a CPU profile that other code has taken, as a window. It is for programs with an agent,
// such as Pyroscope's or Datadog's, that has the process's one CPU profiler all the time. While
// profiles are fed, the guard takes none of CPU itself. If they end, it does so again after a while.
// The modules export/pyroscope and export/datadog feed the profiles of these agents.
//
// start and end are the times at which the profile was started and stopped. Feed reads the profile,
// gzipped or not, within the limits for hostile input, keeps a copy, and does not wait for the
// verdict. Its error says why a profile is not judged: it is of another kind or time, overlaps with
// the one before, or is broken. The first such error of an hour is an event, too.
//
// The work in a window ("per request") is known only if the window follows the one before it.
func (g *Guard) Feed(profile []byte, start, end time.Time) error {
	if g == nil || g.active == nil || g.active.Err() != nil {
		return errors.New("feed a profile: no guard runs")
	}
	err := foreign.Recovered(func() error { return g.loop.Feed.Add(profile, start, end) })
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

// ExpectFeed announces profiles for [Guard.Feed]: the guard takes no CPU profile of its own for two
// minutes, so that it does not get in the way of an agent that is about to start.
func (g *Guard) ExpectFeed() {
	if g != nil && g.loop != nil {
		g.loop.Feed.Announce()
	}
}
