package guard

import (
	"fmt"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/check"
	"github.com/profguard/profguard/internal/dumps"
)

// An Event is a transition of a budget or of the guard. There is one for each transition,
// and not for each window.
type Event struct {
	Name EventName `json:"name"`
	Time time.Time `json:"time"`

	// Budget and Result are set for budgets.
	Budget string        `json:"budget,omitempty"`
	Result budget.Result `json:"result,omitzero"`

	// Dump is the id of the profile that was kept, if any. Its files are
	// DumpDir/*/<id>.*, with the profile of CPU as <id>.cpu.pb.gz. The IDs of its exported profiles
	// begin with it, also without a DumpDir.
	Dump string `json:"dump,omitempty"`
	// DumpURL is where the exporter puts the dump's profile, if it knows.
	DumpURL string `json:"dump_url,omitempty"`
	// Dumped is the end of the window in the dump. If it is before Time, the dump is of an
	// earlier window that failed because of the same offender, and the Message says so.
	Dumped time.Time `json:"dumped,omitzero"`

	// Release is set for EventRelease.
	Release *Release `json:"release,omitempty"`

	// Message describes the event in one sentence.
	Message string `json:"message"`
}

// An EventName is the name of an event, also of the OpenTelemetry log record.
type EventName string

const (
	// EventFiring: a budget is broken.
	EventFiring EventName = "profguard.budget.firing"
	// EventOffender: a firing budget has another offender, too (of functions and patterns, not
	// of the process), or its first is known.
	EventOffender EventName = "profguard.budget.offender"
	// EventResolved: a firing budget is kept again, or no longer judged.
	EventResolved EventName = "profguard.budget.resolved"
	// EventVacuous: a budget can't fail: nothing matches it, or its profile is missing.
	EventVacuous EventName = "profguard.budget.vacuous"
	// EventRelease: it is known what this build costs more or less than the one before. It comes
	// once in the life of a process, also if nothing has changed.
	EventRelease EventName = "profguard.release.compared"
	// EventExpiring: an exception ends within a day ("except X until 2027-01-31").
	EventExpiring EventName = "profguard.budget.expiring"
	// EventLost: windows begin to be lost.
	EventLost EventName = "profguard.window.lost"
	// EventRegained: a window is good again.
	EventRegained EventName = "profguard.window.regained"
	// EventPaused: the guard costs too much and pauses.
	EventPaused EventName = "profguard.guard.paused"
	// EventResumed: the guard goes on after a pause.
	EventResumed EventName = "profguard.guard.resumed"
	// EventExportFailing: profiles cannot be exported.
	EventExportFailing EventName = "profguard.export.failing"
	// EventExportWorking: profiles are exported again.
	EventExportWorking EventName = "profguard.export.working"
	// EventDegraded: a part of the guard has failed, or a profile for Config.Export was refused.
	EventDegraded EventName = "profguard.guard.degraded"
)

// level is the severity of an event.
func (e Event) level() slog.Level {
	switch e.Name {
	case EventFiring, EventOffender:
		return slog.LevelError
	case EventResolved, EventRelease, EventRegained, EventResumed, EventExportWorking:
		return slog.LevelInfo
	}
	return slog.LevelWarn
}

// attributes calls add with each value of the event, and with the names of the value in
// OpenTelemetry and in the log. The name is "" where the value is left out: a log has lines that
// people read, in which the message says most, and what to mend stands before what to accept.
// dir is DumpDir.
func (e *Event) attributes(dir string, add func(otel, log string, value any)) {
	if r := e.Release; r != nil {
		add("profguard.release.now.version", "", r.Now.Version)
		add("profguard.release.now.revision", "", r.Now.Revision)
		add("profguard.release.before.version", "", r.Before.Version)
		add("profguard.release.before.revision", "", r.Before.Revision)
		add("profguard.release.unit", "", r.Unit)
		add("profguard.release.samples", "", r.Samples)
		if r.Known {
			add("profguard.release.growth", "", r.Growth)
			add("profguard.release.low", "", r.Low)
			add("profguard.release.high", "", r.High)
		}
	}
	if e.Budget == "" {
		return
	}
	r := &e.Result
	add("profguard.budget.name", "budget", e.Budget)
	add("profguard.budget.sentence", "", r.Budget.String())
	add("profguard.verdict", "", r.Verdict.String())
	add("profguard.value", "", r.Value)
	add("profguard.low", "", r.Low)
	add("profguard.high", "", r.High)
	limit := string(r.Budget.Rule)
	if r.Budget.Limit != (budget.Amount{}) {
		limit = r.Budget.Limit.String()
	}
	add("profguard.limit", "", limit)
	add("profguard.samples", "", r.Samples)
	add("profguard.hits", "", r.Hits)
	if e.Name == EventFiring || e.Name == EventOffender { // in other events it is in the message
		reason := "reason"
		if len(r.Offenders) > 0 {
			reason = ""
		}
		add("profguard.reason", reason, r.Reason)
	}
	frame := func(f *budget.Frame, otel, log string) {
		if f.Function != "" {
			add(otel+".function.name", log, f.Function)
		}
		if f.File != "" {
			add(otel+".file.path", "", f.File)
			add(otel+".line.number", "", int64(f.Line))
		}
	}
	if len(r.Offenders) > 0 {
		frame(&r.Offenders[0].Frame, "code", "offender")
		frame(&r.Offenders[0].Blame, "profguard.blame.code", "")
	}
	if e.Dump != "" {
		add("profguard.dump.id", "", e.Dump)
		place := e.Dump
		if dir != "" {
			place = filepath.Join(dir, dumps.ID(e.Dump).Folder(), e.Dump)
		}
		add("", "dump", place)
		if dir != "" && r.Budget.Rule == budget.RuleGrows && e.Name == EventFiring { // other lines stay short
			add("", "diff", fmt.Sprintf("go tool pprof -normalize -diff_base %[1]s.before.cpu.pb.gz %[1]s.cpu.pb.gz", place))
		}
		if e.DumpURL != "" {
			add("profguard.dump.url", "url", e.DumpURL)
		}
		add("profguard.dump.time", "", e.Dumped)
	}
	if accept := check.Accepting(r, 1); accept != "" && e.Name == EventFiring {
		add("profguard.accept", "", accept)
		add("", "accept", "except "+check.Exception(&r.Budget, &r.Offenders[0]))
	}
}
