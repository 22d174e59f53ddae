package guard

import (
	"time"

	"github.com/profguard/profguard/budget"
)

// Status is what a guard knows, all of one moment. It is a copy: keep it and
// marshal it, but leave what its results point to as it is.
type Status struct {
	// State is "running", "paused" (its own cost was too high, until PausedUntil)
	// or "stopped"; Reason says why, and what is degraded.
	State       string
	Reason      string
	PausedUntil time.Time `json:",omitzero"`

	Started time.Time
	Window  WindowStatus   // the last window, good or lost
	Windows map[string]int // windows so far by outcome: "ok", "busy", "stolen", ...
	Good    time.Time      `json:",omitzero"` // when the last good window ended
	Budgets []BudgetStatus // in the order of their declaration

	// CPU is what the guard has cost so far, profiling included, and CostShare
	// what that was of one core lately.
	CPU       time.Duration
	CostShare float64

	Dumps   map[string]int64 // dumps by result: "saved", "dropped", or why they failed
	Dropped map[string]int64 // events lost by sink: "log", "otel", "callback"
	Panics  map[string]int64 // panics recovered by part: "loop", "metrics", "page" or a sink
}

// A WindowStatus says how a window went.
type WindowStatus struct {
	Start   time.Time
	Elapsed time.Duration
	Outcome string // "ok", or what it was lost to
	Reason  string // why it was lost
	Early   bool   // started by a jump of the process's CPU
	Samples int64

	// Figures of the process over the window.
	Cores      float64
	GC         float64 // share of its CPU up to the last collection
	RSS, Heap  int64
	Goroutines int64
}

// A BudgetStatus is where a budget stands.
type BudgetStatus struct {
	Name   string
	Budget budget.Budget
	State  string // "inactive", "pending", "firing" or "resolved"
	Since  time.Time

	// Result is that of the last window that had one.
	Result budget.Result
	// Verdicts counts windows by verdict; Samples and Hits add up over them.
	Verdicts      map[string]int64
	Samples, Hits int64

	// History are the last windows, the oldest first: an hour of them at the
	// default cadence.
	History []Measurement

	// Warning says why the budget may never tell anything: its pattern matches
	// nothing that is linked, or nothing has run within its "in" and "where" so far.
	Warning string
	// Dump is the last dump of the budget that is still kept, and when it was taken.
	Dump   string
	Dumped time.Time `json:",omitzero"`
}

// A Measurement is what one window said about a budget. Value is in the unit of
// the budget's Result.
type Measurement struct {
	Value   float64
	Verdict budget.Verdict
}
