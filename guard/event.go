package guard

import (
	"strconv"
	"time"

	"github.com/profguard/profguard/budget"
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

// warns reports whether the event says that something is wrong.
func (e Event) warns() bool {
	switch e.Name {
	case eventResolved, eventRegained, eventResumed:
		return false
	}
	return true
}

// plural is "1 window", "2 windows".
func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return strconv.Itoa(n) + " " + what + "s"
}
