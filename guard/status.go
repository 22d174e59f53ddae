package guard

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/dumps"
	"github.com/profguard/profguard/internal/profiler"
)

// Status is a consistent snapshot of a guard. As JSON it is status.json. It is a copy, but
// its results refer to shared values: do not modify those.
type Status struct {
	Program string `json:"program,omitempty"` // its main module and its host
	Build   Build  `json:"build,omitzero"`

	// State is [Running], [Paused] (until PausedUntil) or [Stopped]. Reason says why, and which
	// parts are degraded.
	State       Activity  `json:"state"`
	Reason      string    `json:"reason,omitempty"`
	PausedUntil time.Time `json:"paused_until,omitzero"`

	Started time.Time      `json:"started,omitzero"`
	Window  WindowStatus   `json:"window"`        // the last window, good or lost
	Next    time.Time      `json:"next,omitzero"` // when the next window is due
	Windows map[string]int `json:"windows"`       // number of windows by outcome: "ok", "busy", "stolen", ...
	Good    time.Time      `json:"good,omitzero"` // when the last good window ended
	Budgets []BudgetStatus `json:"budgets"`       // in the order of their declaration

	// Release compares the running build with the one before, nil until there is one.
	Release *Release `json:"release,omitempty"`

	// CPU is the CPU time of the guard so far, with profiling. CostShare is its recent share
	// of one core.
	CPU       time.Duration `json:"cpu"`
	CostShare float64       `json:"cost_share"`

	Dumps   map[string]int64 `json:"dumps"`             // dumps by result: "saved", "dropped", "too_soon", or the reason of a failure
	Exports map[string]int64 `json:"exports,omitempty"` // profiles by what became of them: "sent", "failed" (an attempt), "full" (dropped) ...
	Dropped map[string]int64 `json:"dropped"`           // events that were lost, by sink: "log", "otel", "callback"
	Panics  map[string]int64 `json:"panics"`            // panics that were recovered, by part: "loop", "metrics", "page" or a sink
}

// An Activity is what a guard does.
type Activity string

const (
	Running Activity = "running"
	Paused  Activity = "paused" // its own cost was too high
	Stopped Activity = "stopped"
)

// A Build is the build of a program, as far as the executable knows it.
type Build struct {
	Version  string `json:"version,omitempty"`  // of the main module: "v1.2.3", or "(devel)"
	Revision string `json:"revision,omitempty"` // of the version control, with "-dirty" if files were modified
	Go       string `json:"go,omitempty"`       // the version of Go
}

// A WindowStatus describes a window.
type WindowStatus struct {
	Start   time.Time     `json:"start,omitzero"`
	Elapsed time.Duration `json:"elapsed"`
	Outcome string        `json:"outcome"`          // "ok", or why it was lost in a word; "" before the first window
	Reason  string        `json:"reason,omitempty"` // why it was lost
	Early   bool          `json:"early"`            // started by a jump of the process's CPU
	Samples int64         `json:"samples"`          // of CPU, also if no budget was judged

	// Figures of the process over the window.
	Cores      float64 `json:"cores"`
	GC         float64 `json:"gc"` // share of the CPU up to the last collection
	RSS        int64   `json:"rss"`
	Heap       int64   `json:"heap"`
	Goroutines int64   `json:"goroutines"`
}

// A BudgetStatus is the status of a budget.
type BudgetStatus struct {
	Name   string        `json:"name"`
	Budget budget.Budget `json:"-"` // it is in Result
	State  State         `json:"state"`
	Since  time.Time     `json:"since,omitzero"` // when State was entered
	// measured says that the Result has a value: a window that was lost, too idle to judge, or
	// without a unit of work has none, and zero would be wrong.
	measured bool
	// additive says what a fleet is judged by, see judge.Rule.Additive.
	additive string

	// Result is the result of the last window that had one. OffenderUnit is the unit of its
	// offenders if that is not the Result's: those of a figure are shares of a profile.
	Result       budget.Result `json:"result"`
	OffenderUnit string        `json:"offender_unit,omitempty"`
	// Proven is the last verdict that was proven. A window that fails is proof; a window that
	// passes is proof only of a counted value, or of the live heap. All windows since the last
	// alert together may prove either. While the budget is pending or firing, Proven is never a
	// pass, and in the other states never a fail: it is inconclusive instead. Evidence is the
	// evidence of all windows together for an excess: 1 is proof.
	Proven   budget.Verdict `json:"proven"`
	Evidence float64        `json:"evidence"`
	// Offender is the offender for which the budget fires, which its last event names, or nil.
	// The offenders of the Result are those of the last window, which may have none.
	Offender *budget.Offender `json:"offender,omitempty"`
	// Accept is the budget's sentence with the "except" that exempts the first
	// offender, if there is one and the budget takes an "except".
	Accept string `json:"accept,omitempty"`
	// Verdicts counts windows by verdict; Samples and Hits add up over them.
	Verdicts map[string]int64 `json:"verdicts"`
	Samples  int64            `json:"samples"`
	Hits     int64            `json:"hits"`

	// History are the last windows, the oldest first: an hour of them at the
	// default period.
	History []Measurement `json:"history,omitempty"`

	// Warning says why the budget may never fail: its pattern matches no linked function,
	// the runtime has no profile of leaked goroutines, or it has never had anything to judge in
	// sixty windows: no sample within its "in" and "where", or no unit of its work.
	Warning string `json:"warning,omitempty"`
	// Dump is the last dump of the budget that was saved, and Dumped the end of its window.
	// Config.Keep may have removed it since.
	Dump   string    `json:"dump,omitempty"`
	Dumped time.Time `json:"dumped,omitzero"`
	// DumpURL is where the exporter has put it, if it knows.
	DumpURL string `json:"dump_url,omitempty"`
}

// UnmarshalJSON reads what a guard has written. A sentence of a later version, which this one
// cannot parse, is a Rule of a Budget that is not valid, and has that sentence as its String.
func (s *BudgetStatus) UnmarshalJSON(data []byte) error {
	type plain BudgetStatus // without this method
	type result budget.Result
	doc := struct {
		*plain
		Result struct {
			*result
			Budget string `json:"budget"`
		} `json:"result"`
	}{plain: (*plain)(s)}
	doc.Result.result = (*result)(&s.Result)
	if err := json.Unmarshal(data, &doc); err != nil {
		return err
	}
	if s.Result.Budget.UnmarshalText([]byte(doc.Result.Budget)) != nil {
		s.Result.Budget = budget.Budget{Rule: budget.Rule(doc.Result.Budget)}
	}
	s.Budget = s.Result.Budget
	return nil
}

// A Measurement is the value and verdict of a budget in one window. Value is in the unit of
// the budget's Result.
type Measurement struct {
	Value   float64        `json:"value"`
	Verdict budget.Verdict `json:"verdict"`
}

// tooSoon is the result of a dump that was left out because it came too soon after another.
const tooSoon = "too_soon"

// newStatus is the status of a guard before its first window. All counters exist from the
// start, at zero: if a counter appears with the value 1, Prometheus does not see an increase.
func newStatus(now time.Time, dumping bool) Status {
	s := Status{
		State: Running, Started: now, Windows: map[string]int{}, Dumps: map[string]int64{},
		Panics: map[string]int64{"loop": 0, "metrics": 0, "page": 0},
	}
	for o := range profiler.Canceled { // the others are reported
		s.Windows[o.String()] = 0
	}
	if dumping {
		for _, result := range append(dumps.Reasons(), "saved", tooSoon) {
			s.Dumps[result] = 0
		}
	}
	return s
}

// text is the status in words: what the release changed, and of each budget its state and its last result.
func (s Status) text() string {
	var b strings.Builder
	fmt.Fprintln(&b, strings.TrimSpace("guard: "+string(s.State)+" "+s.Reason))
	if s.Release != nil {
		fmt.Fprintln(&b, "release: "+s.Release.Message)
	}
	for i := range s.Budgets {
		of := &s.Budgets[i]
		fmt.Fprintf(&b, "\n%s: %s\n", of.State, of.Result)
		if of.Warning != "" {
			fmt.Fprintf(&b, "  warning: %s\n", of.Warning)
		}
		if of.Accept != "" {
			fmt.Fprintf(&b, "  to accept the first offender: %s (for a while only: write \"until\" and a day behind its name)\n", of.Accept)
		}
	}
	return b.String()
}

// faults are the current faults of the guard, by part: it cannot write dumps, it is paused, it
// gave up.
type faults struct {
	by      map[string]string
	emitted map[string]time.Time // by part and reason: the time of the event in the last hour
}

func (f *faults) note(part, what string) {
	if f.by == nil {
		f.by, f.emitted = map[string]string{}, map[string]time.Time{}
	}
	f.by[part] = what
}

func (f *faults) clear(part string) { delete(f.by, part) }

// String lists all faults in one line.
func (f *faults) String() string { return strings.Join(slices.Sorted(maps.Values(f.by)), "; ") }
