package guard

import (
	"fmt"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/dumps"
	"github.com/profguard/profguard/internal/series"
)

// An Event is a transition of a budget or of the guard. A window without a transition has none.
type Event struct {
	Name EventName `json:"name"`
	Time time.Time `json:"time"`

	// Budget and Result are set for budgets.
	Budget string        `json:"budget,omitempty"`
	Result budget.Result `json:"result,omitzero"`

	// Dump is the ID of the dump that was kept, if any. Its files are DumpDir/profguard/*/<id>.*, and
	// its CPU profile is <id>.cpu.pb.gz. The IDs of its exported profiles begin with it, also
	// without a DumpDir.
	Dump string `json:"dump,omitempty"`
	// DumpURL is the address of the dump's exported profile, if the exporter knows it.
	DumpURL string `json:"dump_url,omitempty"`
	// Dumped is the end of the window in the dump. It may be long before Time: then an earlier
	// window failed because of the same offender, and the Message says so.
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
	// EventOffender: a firing budget has another offender, too, or its first one is known now. Budgets
	// on the process and on figures have no event for another offender.
	EventOffender EventName = "profguard.budget.offender"
	// EventResolved: a firing budget is kept again, is no longer proven to be broken, has had nothing to
	// judge for 60 periods, no longer has its "when", or was removed by SetBudgets.
	EventResolved EventName = "profguard.budget.resolved"
	// EventIneffective: a budget cannot fail because no linked function matches it, or because its profile is
	// missing. A budget with "absent" has this event only if a linked name is similar, and a default budget never has it.
	EventIneffective EventName = "profguard.budget.ineffective"
	// EventRelease: the cost of this build against the one before is known. It comes once in the life of a
	// process, even if nothing has changed, and again when another function is proven to cost more.
	EventRelease EventName = "profguard.release.compared"
	// EventExpiring: an exception ("except X until 2027-01-31") ends within a day. Then the budget counts X again.
	EventExpiring EventName = "profguard.budget.expiring"
	// EventLost: a window was lost, and the one before was not.
	EventLost EventName = "profguard.window.lost"
	// EventRegained: a window is good, and the one before was lost.
	EventRegained EventName = "profguard.window.regained"
	// EventPaused: the guard pauses because it costs too much.
	EventPaused EventName = "profguard.guard.paused"
	// EventResumed: the guard goes on after a pause.
	EventResumed EventName = "profguard.guard.resumed"
	// EventExportFailing: three exports in a row have failed, or one hangs.
	EventExportFailing EventName = "profguard.export.failing"
	// EventExportWorking: profiles are exported again.
	EventExportWorking EventName = "profguard.export.working"
	// EventDegraded: a part of the guard has failed, or an exported profile was refused. The same failure
	// is reported at most once an hour.
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
// dir is DumpDir. docs/reference.md has the comments behind the calls.
func (e *Event) attributes(dir string, add func(otel, log string, value any)) {
	if r := e.Release; r != nil {
		add("profguard.release.now.version", "", r.Now.Version)         // the version of this build
		add("profguard.release.now.revision", "", r.Now.Revision)       // its revision
		add("profguard.release.before.version", "", r.Before.Version)   // the version of the build before
		add("profguard.release.before.revision", "", r.Before.Revision) // its revision
		add("profguard.release.unit", "", r.Unit)                       // the unit of work that both builds know, "" if there is none
		add("profguard.release.samples", "", r.Samples)                 // the samples of this build
		if r.Known {
			add("profguard.release.growth", "", r.Growth) // the change of CPU per unit of work: 0.03 is 3% more
			add("profguard.release.low", "", r.Low)       // its lower bound
			add("profguard.release.high", "", r.High)     // its upper bound
		}
		if len(r.Functions) > 0 && r.Functions[0].costsMore() {
			f := &r.Functions[0]
			add("code.function.name", "", f.Function) // for a release: the first function proven to cost more
			if f.File != "" {
				add("code.file.path", "", f.File)   // for a release: its file
				add("code.line.number", "", f.Line) // for a release: its line
			}
		}
	}
	if e.Budget == "" {
		return
	}
	r := &e.Result
	add("profguard.budget.name", "budget", e.Budget)        // the name of the budget
	add("profguard.budget.sentence", "", r.Budget.String()) // the budget as a sentence
	add("profguard.verdict", "", r.Verdict.String())        // the verdict of the last window
	add("profguard.value", "", r.Value)                     // the measured value of the last window
	add("profguard.low", "", r.Low)                         // its lower bound
	add("profguard.high", "", r.High)                       // its upper bound
	limit := string(r.Budget.Rule)
	if r.Budget.Limit != (budget.Amount{}) {
		limit = r.Budget.Limit.String()
	}
	add("profguard.limit", "", limit)                     // the limit as it was declared, or the rule of a budget without one
	add("profguard.samples", "", r.Samples)               // the samples behind the verdict
	add("profguard.hits", "", r.Hits)                     // the samples that are charged to the budget
	if e.Name == EventFiring || e.Name == EventOffender { // in other events it is in the message
		reason := "reason"
		if len(r.Offenders) > 0 {
			reason = ""
		}
		add("profguard.reason", reason, r.Reason) // only with firing and offender: why the verdict is so. The log has it if there is no offender
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
		function, value := series.Code(r.Budget, &r.Offenders[0])
		if value == "" {
			frame(&function, "code", "offender") // the first offender: the deepest function over the limit in the heaviest chain of calls. For the process it is the deepest with a fifth of it
		} else {
			frame(&function, "code", "function")              // for a budget on a label: the function that costs most of the value
			add("profguard.label.name", "", r.Budget.Label()) // for a budget on a label: the name of the label
			add("profguard.label.value", "offender", value)   // for a budget on a label: the first value over the limit
		}
		frame(&r.Offenders[0].Blame, "profguard.blame.code", "") // the nearest call in your module that leads to the offender
		frame(&r.Offenders[0].Owner, "profguard.owner.code", "") // the function of your module that contains nearly all of it. Missing where callers differ
	}
	if e.Dump != "" {
		add("profguard.dump.id", "", e.Dump) // the ID of the dump. The IDs of its exported profiles begin with it
		place := e.Dump
		if dir != "" {
			place = filepath.Join(dir, dumps.ID(e.Dump).Folder(), e.Dump)
		}
		add("", "dump", place)                                                       // the path of the dump without its endings, or its ID if there is no DumpDir
		if dir != "" && r.Budget.Rule == budget.RuleGrows && e.Name == EventFiring { // other lines stay short
			add("", "diff", fmt.Sprintf("go tool pprof -normalize -diff_base %[1]s.before.cpu.pb.gz %[1]s.cpu.pb.gz", place)) // only with firing of a budget on growth: the command that compares the dump with the profile before
		}
		if e.DumpURL != "" {
			add("profguard.dump.url", "url", e.DumpURL) // where the exporter puts the profile, if it knows
		}
		add("profguard.dump.time", "", e.Dumped) // the end of the window in the dump, which may be earlier than the event
	}
	if accept := r.Accept(1); accept != "" && e.Name == EventFiring {
		add("profguard.accept", "", accept)                       // only with firing: the budget with an "except" for the first offender
		add("", "accept", "except "+r.Exception(&r.Offenders[0])) // only with firing: the "except" to add to the budget if the offender is meant to be there
	}
}
