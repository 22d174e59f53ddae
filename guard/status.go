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
	"github.com/profguard/profguard/internal/loop"
	"github.com/profguard/profguard/internal/profiler"
)

// Status is a consistent snapshot of a guard. As JSON it is status.json. It is a copy, but the
// slices and maps in its results are shared: do not modify them.
type Status struct {
	Program string `json:"program,omitempty"` // the main module and the host
	Build   Build  `json:"build,omitzero"`

	// State is [ActivityRunning], [ActivityPaused] (until PausedUntil) or [ActivityStopped]. Reason
	// says why, and lists the parts of the guard that do not work.
	State       Activity  `json:"state"`
	Reason      string    `json:"reason,omitempty"`
	PausedUntil time.Time `json:"paused_until,omitzero"`

	Started time.Time      `json:"started,omitzero"`
	Window  WindowStatus   `json:"window"`        // the last window, good or lost
	Next    time.Time      `json:"next,omitzero"` // when the next window is due
	Windows map[string]int `json:"windows"`       // number of windows by outcome: "ok", "busy", "stolen", ...
	Good    time.Time      `json:"good,omitzero"` // when the last good window ended
	Budgets []BudgetStatus `json:"budgets"`       // in the order of their declaration

	// Release compares the running build with the one before. It is nil without one before.
	Release *Release `json:"release,omitempty"`

	// CPU is the CPU time of the guard so far, profiling included. CostShare is its recent share
	// of one core.
	CPU       time.Duration `json:"cpu"`
	CostShare float64       `json:"cost_share"`

	Dumps   map[string]int64 `json:"dumps"`             // dumps by result: "saved", "dropped", "too_soon", or the reason of a failure
	Exports map[string]int64 `json:"exports,omitempty"` // profiles by result: "sent", "failed" (an attempt), "full" (dropped) ...
	Dropped map[string]int64 `json:"dropped"`           // events that were lost, by sink: "log", "otel", "callback"
	Panics  map[string]int64 `json:"panics"`            // panics that were recovered, by part: "loop", "metrics", "page" or a sink
}

// An Activity says whether a guard runs.
type Activity string

const (
	ActivityRunning Activity = "running" // it takes windows
	ActivityPaused  Activity = "paused"  // it has cost too much, and goes on by itself
	ActivityStopped Activity = "stopped" // Stop was called
)

// A Build identifies the build of a program, as far as its executable does.
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
	Name  string    `json:"name"`
	State State     `json:"state"`
	Since time.Time `json:"since,omitzero"` // when State was entered

	// Result is the result of the last window that had one. The offenders of a budget on a figure
	// of the process are shares of a profile.
	Result budget.Result `json:"result"`
	// Offender is the offender of the alert, as the last event names it, or nil. The Result has the
	// offenders of the last window, which may be others or none.
	Offender *budget.Offender `json:"offender,omitempty"`
	// Accept is the budget's sentence with an "except" for the first offender, if there is one and
	// the budget takes an "except".
	Accept string `json:"accept,omitempty"`
	// Verdicts counts windows by verdict. Samples and Hits are those of all windows.
	Verdicts map[string]int64 `json:"verdicts"`
	Samples  int64            `json:"samples"`
	Hits     int64            `json:"hits"`

	// Warning says why the budget may never fail: its pattern matches no linked function, the
	// runtime has no profile of leaked goroutines, or sixty windows had no sample within its "in"
	// and "where", or no unit of its work.
	Warning string `json:"warning,omitempty"`
	// Dump is the last dump of the budget that was saved, and Dumped the end of its window.
	// Config.DumpLimits may have removed it since.
	Dump   string    `json:"dump,omitempty"`
	Dumped time.Time `json:"dumped,omitzero"`
	// DumpURL is the address of its exported profile, if the exporter knows it.
	DumpURL string `json:"dump_url,omitempty"`

	drawn drawn
}

// drawn is what the page draws of a budget, beside its status.
type drawn struct {
	OffenderUnit string      `json:"offender_unit,omitempty"` // if that is not the Result's
	History      []loop.Past `json:"history,omitempty"`       // the last windows, the oldest first: an hour of them at the default period
}

// A budgetDocument is a budget in status.json.
type budgetDocument struct {
	BudgetStatus
	drawn
}

// document is status.json.
func (s Status) document() any {
	list := make([]budgetDocument, len(s.Budgets))
	for i, b := range s.Budgets {
		list[i] = budgetDocument{b, b.drawn}
	}
	return struct {
		Status
		Budgets []budgetDocument `json:"budgets"`
	}{s, list}
}

// UnmarshalJSON reads a budget of status.json. If this version cannot parse its sentence, because a
// later one has written it, the Budget of its Result is not valid, and has that sentence as its
// String.
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
	return nil
}

// The results of dumps beside [dumps.Reasons].
const (
	onDisk  = "saved"    // the dump is on disk
	tooSoon = "too_soon" // the budget had a dump of another offender less than a tenth of DumpLimits.Every ago. The first dump of an alert does not wait
)

// newStatus is the status of a guard before its first window. All counters exist from the
// start, at zero: if a counter appears with the value 1, Prometheus does not see an increase.
func newStatus(now time.Time, dumping bool) Status {
	s := Status{
		State: ActivityRunning, Started: now, Windows: map[string]int{}, Dumps: map[string]int64{},
		Panics: map[string]int64{"loop": 0, "metrics": 0, "page": 0},
	}
	for o := range profiler.Canceled { // the others are reported
		s.Windows[o.String()] = 0
	}
	if dumping {
		for _, result := range append(dumps.Reasons(), onDisk, tooSoon) {
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
		verdict, result, _ := strings.Cut(of.Result.String(), " ")
		fmt.Fprintf(&b, "\n%s (last window: %s): %s\n", of.State, strings.ToLower(verdict), result)
		if of.Warning != "" {
			fmt.Fprintf(&b, "  warning: %s\n", of.Warning)
		}
		if of.Accept != "" {
			fmt.Fprintf(&b, "  to accept the first offender: %s (only for a while: write \"until\" and a day after its name)\n", of.Accept)
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
