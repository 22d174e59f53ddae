package guard

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math"
	"reflect"
	"slices"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/log"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/bridge"
	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/foreign"
	"github.com/profguard/profguard/internal/kinds"
	"github.com/profguard/profguard/internal/loop"
	"github.com/profguard/profguard/internal/registry"
	"github.com/profguard/profguard/internal/unit"
)

// Config is the configuration of a guard. The zero Config works: the default budgets, a window of
// 10 seconds every minute, metrics on Prometheus' default registry, events through
// OpenTelemetry's global provider, and a log line for each transition. [Start] reads it once, so
// that nothing changes under a running guard.
type Config struct {
	// Budgets are compared with every window, at most 1,000. Default: [budget.Default]. An empty set is an
	// error.
	//
	// A budget of mutex makes the runtime record one event of contention in ten, if it records none. That makes a
	// lock that all cores contend for up to a seventh slower.
	Budgets budget.Set

	// Every is the time from the start of one window to the start of the next. Default: 1m, or Window if that
	// is longer.
	//
	// In doubt windows come faster. While a budget is pending, or fires and its last window was within the
	// limit, the next window starts after a pause of half a window, for at most ten minutes an hour. Budgets with
	// "for" and budgets on counted values do not make windows faster.
	Every time.Duration

	// Window is the length of a window, from 1s to 5m. Default: 10s, or half of Every if that is shorter, but at
	// least 1s. If it equals Every, there is no pause between windows, and other code cannot take a profile.
	Window time.Duration

	// FunctionSeries is the most functions that have metrics of their own, from 0 to 1,000. With them you
	// can judge a fleet, and compare a release with the one before. docs/releases.md suggests 100. Default: 0.
	//
	// Each counter has the samples that the function was charged with, as "no function" charges them. Counters
	// add up over processes and time. Once a function has reached 0.5% of the CPU, it keeps its counter. Nothing is
	// counted in the first minute after Start, while the process warms up.
	FunctionSeries int

	// DumpDir is the directory for the profiles of failing windows. It is created if it does not exist. Default: none.
	// Without it, no profiles are kept.
	//
	// It may belong to anybody, as a volume of Kubernetes does. The guard makes the folder profguard in it, with mode
	// 0700, and keeps everything there. Processes of one user share it, each with a folder of its own. A folder of that
	// name that is a link, belongs to another user or is writable by others is refused, and so is a DumpDir that
	// is a link. While DumpDir cannot be used, the guard runs without dumps and tries again. An event, a metric and
	// Status say so.
	DumpDir string

	// DumpLimits limits the dumps that are kept in DumpDir.
	DumpLimits DumpLimits

	// Trace adds the last seconds of execution trace to a dump, while it is enabled. It is a
	// *trace.FlightRecorder, which the host starts and stops. Default: none.
	//
	// The type is not named here, because that would link the tracer into hosts that have none. If it
	// panics, writes more than 64 MiB or takes longer than a second, it is not called again.
	Trace interface {
		Enabled() bool
		WriteTo(w io.Writer) (n int64, err error)
	}

	// Registerer registers the guard's metrics. Default: prometheus.DefaultRegisterer.
	Registerer prometheus.Registerer

	// LoggerProvider takes the guard's OpenTelemetry events. Default: the global provider at the time of
	// an event.
	LoggerProvider log.LoggerProvider

	// Logger gets a line for each event. Default: slog.Default().
	Logger *slog.Logger

	// Work has counters for budgets "per" a unit of work, by that unit. They are read at both ends of a
	// window, and must never decrease.
	//
	//	Work: map[string]func() float64{"request": func() float64 { return float64(requests.Load()) }}
	//
	// Other units of work are counters, histograms or summaries of the Registerer, if that is a Prometheus
	// registry, and otherwise of prometheus.DefaultGatherer. It is gathered at both ends of a window, only if a
	// budget needs it, which takes some microseconds for each series. A unit that nobody counts is an error of
	// Start and SetBudgets.
	Work map[string]func() float64

	// Baseline is the CPU profile that "grows" budgets compare with. Default: the build before this one. Each build
	// leaves its profile in DumpDir, in the folder profguard/references.
	//
	// It may be a profile that profguard has written, the default.pgo that is committed for the compiler, or any
	// other. Its Work may stay nil if the profile says itself how much work was done.
	Baseline Baseline

	// Export sends profiles to a place outside the process.
	Export Export

	// OnEvent is called with each event, one at a time, on a goroutine of its own. Default: none.
	//
	// It may block or panic: events that it has no time for are dropped and counted, and after
	// three panics in a row it is no longer called. runtime.Goexit counts as a panic.
	// It must not modify slices and maps of the event's Result, because they are shared.
	OnEvent func(Event)
}

// DumpLimits limits the dumps in DumpDir. Zero fields mean the defaults. Each running process counts
// its own dumps and those of processes that have ended. The first and the worst dump of an alert
// are removed last. A dump that would leave less than a tenth of the disk free is not kept.
//
// Between dumps of one budget with different offenders the least time is a tenth of Every. Dumps that would come
// earlier are counted in dumps_total as too_soon. The first dump of an alert does not wait for that. If an
// alert comes back within Every, its event names the earlier dump of the same offender. The
// offenders of a budget on the process or a figure count as one, but each alert has a dump.
type DumpLimits struct {
	Dumps int           // the most dumps, whatever number of files each has. Default: 64.
	Bytes int64         // the most bytes of all their files. Default: 256 MiB.
	Age   time.Duration // the longest time since the end of their windows. Default: 168h (7 days).
	Every time.Duration // the least time between two dumps of one budget with the same offender. Default: 10m.
}

// A Baseline is an earlier profile of the program, and the work that was done while it was taken.
type Baseline = budget.Baseline

// complete fills in the defaults, and returns all mistakes. asking is set while the
// registry is read.
func (c *Config) complete(asking *atomic.Bool) error {
	c.copy()
	c.fillIn()
	var m mistakes
	c.checkBudgets(&m)
	c.checkTimes(&m)
	m.when(c.FunctionSeries < 0 || c.FunctionSeries > maxFunctions, "FunctionSeries: expected 0 to %d, found %d: each is a time series of each process", maxFunctions, c.FunctionSeries)
	c.checkDumpLimits(&m)
	c.checkWork(&m)
	c.checkExport(&m)
	c.checkUnits(asking, &m)
	c.checkBaseline(&m)
	return errors.Join(m...)
}

// Mistakes are what is wrong with a configuration.
type mistakes []error

// when adds a mistake if it was made.
func (m *mistakes) when(made bool, format string, args ...any) {
	if made {
		*m = append(*m, fmt.Errorf(format, args...))
	}
}

// copy makes the configuration independent of the caller, who may change it later. The runtime ends
// a process that writes a map while it is read.
func (c *Config) copy() {
	c.Budgets = slices.Clone(c.Budgets)
	for i, b := range c.Budgets {
		c.Budgets[i] = cloneBudget(b)
	}
	c.Work, c.Baseline.Work, c.Export.Attributes = maps.Clone(c.Work), maps.Clone(c.Baseline.Work), maps.Clone(c.Export.Attributes)
}

func (c *Config) fillIn() {
	if v := reflect.ValueOf(c.Trace); v.Kind() == reflect.Pointer && v.IsNil() {
		c.Trace = nil // in a host whose recorder is optional
	}
	if c.Budgets == nil {
		c.Budgets = budget.Default()
	}
	c.Every = cmp.Or(c.Every, max(time.Minute, c.Window))
	c.Window = cmp.Or(c.Window, min(10*time.Second, max(c.Every/2, minWindow)))
	if c.Registerer == nil {
		c.Registerer = prometheus.DefaultRegisterer
	}
}

func (c *Config) checkBudgets(m *mistakes) {
	m.when(len(c.Budgets) == 0, "Budgets: expected at least one, found an empty set: leave the field nil for the default budgets")
	m.when(len(c.Budgets) > maxBudgets, "Budgets: expected at most %d, found %d: leave out those that nobody reads", maxBudgets, len(c.Budgets))
	err := c.Budgets.Validate()
	m.when(err != nil, "%w", err)
}

func (c *Config) checkTimes(m *mistakes) {
	m.when(c.Window < minWindow || c.Window > maxWindow,
		"Window: expected %v to %v, found %v: shorter ones have too few samples, longer ones come too late", minWindow, maxWindow, c.Window)
	m.when(c.Every < c.Window, "Every: expected at least Window (%v), found %v: make Every longer, or Window shorter", c.Window, c.Every)
}

func (c *Config) checkDumpLimits(m *mistakes) {
	m.when(c.DumpDir == "" && c.DumpLimits != (DumpLimits{}), "DumpLimits: expected a DumpDir with it, found none: say where dumps go, or leave DumpLimits out")
	m.when(c.DumpLimits.Dumps < 0 || c.DumpLimits.Bytes < 0 || c.DumpLimits.Age < 0 || c.DumpLimits.Every < 0,
		"DumpLimits: expected no negative values, found %+v: zero means the default", c.DumpLimits)
}

func (c *Config) checkWork(m *mistakes) {
	for _, name := range slices.Sorted(maps.Keys(c.Work)) {
		m.when(c.Work[name] == nil, "Work[%q]: expected a function that reads the counter, found nil", name)
	}
}

// checkUnits reports the units of work that nobody counts. A registry that cannot be read now
// is no mistake: the loop reports it. asking is set while the registry is read, which may hang.
func (c *Config) checkUnits(asking *atomic.Bool, m *mistakes) {
	units := loop.RegistryUnits(c.Budgets, c.Work)
	if len(units) == 0 || !asking.CompareAndSwap(false, true) {
		return
	}
	var why map[string]string
	err := foreign.Within(loop.GatherTimeout, func() (err error) {
		defer asking.Store(false)
		why, err = registry.Uncounted(c.Registerer, units)
		return err
	})
	if err != nil {
		return
	}
	for _, text := range slices.Sorted(maps.Keys(why)) {
		expected := fmt.Sprintf("Work[%q], or a counter of that name", text)
		if u, _ := unit.ParseWork(text); u.By != "" {
			expected = fmt.Sprintf("a counter of that name, with the label %q,", u.By)
		}
		m.when(true, "Budgets: nobody counts %q: %s: expected %s in the Prometheus registry before Start", text, why[text], expected)
	}
}

func (c *Config) checkExport(m *mistakes) {
	m.when(c.Export.To == nil && (c.Export.All || len(c.Export.Attributes) > 0),
		"Export: expected an exporter in To with All and Attributes, found none: say where profiles go, or leave them out")
	if v, is := c.Export.To.(interface{ Validate() error }); is {
		err := foreign.Within(startWithin, v.Validate)
		m.when(err != nil, "Export.To: %w", err)
	}
}

func (c *Config) checkBaseline(m *mistakes) {
	for i := range c.Budgets {
		b := &c.Budgets[i]
		if b.Rule != budget.RuleGrows {
			continue
		}
		kind := cmp.Or(b.Kind, kinds.CPU)
		_, known := c.Baseline.Work[b.Per]
		m.when(c.Baseline.Profile == nil && c.DumpDir == "" && !isDefault(b), "Budgets: %q needs a build to compare with: set a DumpDir, where each build leaves its reference, or a Baseline", b)
		m.when(c.Baseline.Profile == nil && c.DumpDir != "" && !comparesBuilds(b), "Budgets: %q needs a Baseline: the reference of a build knows the growth in points of functions, values of labels and patterns, and that of the process per unit of work", b)
		m.when(kind != kinds.CPU, "Budgets: %q needs a baseline of kind %s, but a guard's Baseline is a CPU profile: leave the budget out", b, kind)
		m.when(b.Per != "" && !known && c.Baseline.Profile != nil && !saysWork(c.Baseline.Profile, b.Per), "Budgets: %q needs Baseline.Work[%q], how many there were while the Baseline was taken, found none", b, b.Per)
	}
	for _, name := range slices.Sorted(maps.Keys(c.Baseline.Work)) {
		n := c.Baseline.Work[name]
		m.when(!(n > 0) || math.IsInf(n, 1), "Baseline.Work[%q]: expected a number above zero, found %v", name, n)
	}
	if c.Baseline.Profile != nil {
		err := decode.CheckValid(c.Baseline.Profile)
		m.when(err != nil, "Baseline.Profile: expected a whole CPU profile, as profile.Parse returns it: %w", err)
	}
}

const (
	// maxBudgets limits the time of judging a window to milliseconds, and the number of
	// metrics.
	maxBudgets = 1000
	// minWindow has a hundred samples of a busy core. maxWindow limits the memory of a
	// profile.
	minWindow = time.Second
	maxWindow = 5 * time.Minute
)

func cloneBudget(b budget.Budget) budget.Budget {
	b.Where, b.Except = maps.Clone(b.Where), slices.Clone(b.Except)
	return b
}

// comparesBuilds reports whether the reference of a build is enough for a budget of growth. What is wrong with one that
// is not valid, or not of CPU, is said elsewhere.
func comparesBuilds(b *budget.Budget) bool {
	rules, err := bridge.Rules(budget.Set{*b})
	return err != nil || rules[0].Kind != kinds.CPU || rules[0].ComparesBuilds()
}
