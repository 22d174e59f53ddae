// Package story is the narrator of the examples: it tells on a writer what a
// guard says about the service that the example runs. A service of your own has
// no need of it: it has a log, Prometheus and OpenTelemetry.
package story

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/profguard/profguard/guard"
)

// A Story is told while it happens. Give its OnEvent to guard.Config.
type Story struct {
	out    io.Writer
	events chan guard.Event
}

// New returns a story that is told on out.
func New(out io.Writer) *Story {
	// 64 is far more than the transitions of a run of a minute.
	return &Story{out: out, events: make(chan guard.Event, 64)}
}

// OnEvent takes what the guard says. It never blocks.
func (s *Story) OnEvent(e guard.Event) {
	select {
	case s.events <- e:
	default:
	}
}

// Say adds a paragraph.
func (s *Story) Say(format string, args ...any) {
	fmt.Fprintf(s.out, "\n"+format+"\n", args...)
}

// Await waits for an event of this name about this budget, tells it, and returns
// it. Events about something else, which came before, are passed over.
func (s *Story) Await(ctx context.Context, event guard.EventName, budget string) (guard.Event, error) {
	for {
		select {
		case e := <-s.events:
			if e.Name != event || e.Budget != budget {
				continue
			}
			text := strings.ReplaceAll(told(e), "\n", "\n    ")
			fmt.Fprintf(s.out, "\n    %s  %s\n    %s\n", e.Name, e.Budget, text)
			return e, nil
		case <-ctx.Done():
			return guard.Event{}, fmt.Errorf("story: expected %s of budget %q, and it did not come (%w): is the machine very busy?",
				event, budget, context.Cause(ctx))
		}
	}
}

// told is the result of an event in words. Where it took several windows to show, the
// verdict of the last one alone is that it does not suffice, which is not the news.
func told(e guard.Event) string {
	news := map[guard.EventName]string{guard.EventFiring: "BROKEN", guard.EventResolved: "KEPT AGAIN"}[e.Name]
	text := e.Result.String()
	if rest, found := strings.CutPrefix(text, "INCONCLUSIVE"); found && news != "" {
		return news + rest
	}
	return text
}
