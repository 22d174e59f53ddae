package guard

import (
	"context"
	"log/slog"
	"path/filepath"
	"slices"
	"time"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/dumps"
)

// An Event is something that happened to the guard or to a budget. There is one
// for each transition, not for each window.
type Event struct {
	// Name is the OpenTelemetry event's name:
	//
	//	profguard.budget.firing    a budget is broken
	//	profguard.budget.offender  it is broken, and by another function, too
	//	profguard.budget.resolved  it is kept again, or no longer judged
	//	profguard.budget.vacuous   it tells nothing: nothing matches
	//	profguard.window.lost      windows have begun to be lost
	//	profguard.window.regained  a window is good again
	//	profguard.guard.paused     the guard costs too much and rests
	//	profguard.guard.resumed    it goes on
	//	profguard.guard.degraded   a part of the guard has failed
	Name string
	Time time.Time

	// Budget and Result are set for budgets.
	Budget string
	Result budget.Result

	// Dump is the id of the profile that was kept, if any. Its files are
	// DumpDir/*/<id>.*, with the profile of CPU as <id>.cpu.pb.gz.
	Dump string
	// Dumped is the end of the window that the dump is of. Before Time, that is an earlier
	// window, which failed for the same offender, and the Message says so.
	Dumped time.Time

	// Message says it in one sentence.
	Message string
}

const (
	eventFiring   = "profguard.budget.firing"
	eventOffender = "profguard.budget.offender"
	eventResolved = "profguard.budget.resolved"
	eventVacuous  = "profguard.budget.vacuous"
	eventLost     = "profguard.window.lost"
	eventRegained = "profguard.window.regained"
	eventPaused   = "profguard.guard.paused"
	eventResumed  = "profguard.guard.resumed"
	eventDegraded = "profguard.guard.degraded"
)

// level is the severity of an event.
func (e Event) level() slog.Level {
	switch e.Name {
	case eventFiring, eventOffender:
		return slog.LevelError
	case eventResolved, eventRegained, eventResumed:
		return slog.LevelInfo
	}
	return slog.LevelWarn
}

// sentence is a budget's without its name.
func sentence(b budget.Budget) string {
	b.Name = ""
	return b.String()
}

// hasReason reports whether the result's reason is not in the message.
func (e Event) hasReason() bool { return e.Name == eventFiring || e.Name == eventOffender }

// slogSink writes a line for each event. With no logger given it takes the
// default one, as it is at that moment. dir is where dumps are.
func slogSink(logger *slog.Logger, dir string) func(Event) {
	return func(e Event) {
		l := logger
		if l == nil {
			l = slog.Default()
		}
		attrs := []slog.Attr{slog.String("event", e.Name)}
		if e.Budget != "" {
			r := e.Result
			attrs = append(attrs, slog.String("budget", e.Budget))
			if sentence := sentence(r.Budget); sentence != e.Budget {
				attrs = append(attrs, slog.String("sentence", sentence))
			}
			if e.hasReason() {
				attrs = append(attrs, slog.String("reason", r.Reason))
			}
			if accept := accepting(r); accept != "" && e.Name == eventFiring {
				attrs = append(attrs, slog.String("accept", accept))
			}
			if len(r.Offenders) > 0 {
				o := r.Offenders[0]
				attrs = append(attrs, slog.String("offender", o.Function))
				if o.Blame.Function != "" {
					attrs = append(attrs, slog.Group("blame",
						slog.String("function", o.Blame.Function), slog.String("file", o.Blame.File), slog.Int("line", o.Blame.Line)))
				}
			}
		}
		if e.Dump != "" {
			attrs = append(attrs, slog.String("dump", e.Dump), slog.String("dump_dir", filepath.Join(dir, dumps.ID(e.Dump).Folder())),
				slog.Time("dumped", e.Dumped))
		}
		l.LogAttrs(context.Background(), e.level(), e.Message, attrs...)
	}
}

// cloneResult copies a result with all that it refers to.
func cloneResult(r budget.Result) budget.Result {
	r.Budget = cloneBudget(r.Budget)
	r.Offenders = slices.Clone(r.Offenders)
	for i := range r.Offenders {
		o := &r.Offenders[i]
		o.Callers, o.Callees = slices.Clone(o.Callers), slices.Clone(o.Callees)
	}
	return r
}

// ownEvents gives a callback events that it may change: to redact a file's name,
// say. The other sinks and Status have the same result.
func ownEvents(call func(Event)) func(Event) {
	return func(e Event) {
		e.Result = cloneResult(e.Result)
		call(e)
	}
}
