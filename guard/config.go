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

	"github.com/google/pprof/profile"
	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/log"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/foreign"
	"github.com/profguard/profguard/internal/kinds"
)

// Config says what a guard watches, and where results go. The zero Config works: the
// default budgets, a window of 10 seconds every minute, metrics on Prometheus' default
// registry, events through OpenTelemetry's global provider, and a log line for each
// transition. It is read once, by [Start].
type Config struct {
	// Budgets are compared with every window; nil means [budget.Default], and an
	// empty set is an error, as is one of more than 1,000. A budget of mutex makes the
	// runtime record one event of contention in ten, if it records none, which makes a lock
	// that all cores fight for up to a seventh slower.
	Budgets budget.Set

	// Every is the time from the start of one window to the start of the next: a minute by
	// default, or Window if that is longer. Window is the length of a window, from a second to
	// five minutes. By default it is 10 seconds or half of Every, whichever is shorter, but at
	// least a second, so that other code can take a profile in between. If both are equal,
	// there is no pause between windows.
	//
	// In doubt windows come faster: while a budget is pending, or fires and its last window was
	// within the limit, the next one starts after a pause of half a window, for at most ten
	// minutes an hour. That is not so for budgets with "for" or on counted values.
	Every  time.Duration
	Window time.Duration

	// Functions is how many functions have metrics of their own, at most: the samples that each was
	// charged with, as "no function" charges them. These counters add up over processes and time, so
	// that a fleet is judged, and a release compared with the one before: see docs/fleet.md, which
	// suggests 100. By default there are none. A function that had half a percent of the CPU once
	// has its counter for good, with what was counted before. Nothing is counted in the first minute
	// after Start, in which a process gets ready.
	Functions int

	// DumpDir is the directory for profiles of failing windows; "" means that none are
	// kept. It is created with mode 0700, and refused if it is a link, belongs to another
	// user, or is writable by others. Kubernetes makes volumes writable by the group of a
	// pod's fsGroup at each start, unless fsGroupChangePolicy is OnRootMismatch. Each process
	// has a folder of its own in it. Keep says how many dumps are kept.
	DumpDir string
	Keep    Keep

	// Trace adds the last seconds of execution trace to a dump, while it is enabled. It
	// is a *trace.FlightRecorder, which the host starts and stops. The type is not named
	// here, because that would link the tracer into hosts that have none. If it panics,
	// writes more than 64 MiB or takes longer than a second, it is not called again.
	Trace interface {
		Enabled() bool
		WriteTo(w io.Writer) (n int64, err error)
	}

	// Registerer registers the guard's metrics; nil means prometheus.DefaultRegisterer.
	Registerer prometheus.Registerer

	// LoggerProvider takes the guard's OpenTelemetry events; nil means the global provider
	// at the time of an event.
	LoggerProvider log.LoggerProvider

	// Logger gets a line for each transition, not for each window; nil means
	// slog.Default.
	Logger *slog.Logger

	// Work are counters that the service already has, by their unit of work:
	// {"request": func() float64 { return float64(requests.Load()) }}. They are for budgets
	// "per request", are read at both ends of a window, and must never decrease.
	//
	// Other units of work are counters, histograms or summaries of the Registerer, if that
	// is a Prometheus registry, and otherwise of prometheus.DefaultGatherer. It is gathered at
	// both ends of a window, which takes some microseconds for each series, and only if a budget
	// needs it. A unit that nobody counts is an error of Start and SetBudgets.
	Work map[string]func() float64

	// Baseline is the CPU profile that "grows" budgets compare with: one that profguard has
	// written, the default.pgo that is committed for the compiler, or any other. BaselineWork is the
	// amount of work that was done while it was taken, by unit, if it does not say so itself.
	// Without a Baseline they compare with the build before this one: each build leaves what is
	// normal for it in DumpDir, in the folder references.
	Baseline     *profile.Profile
	BaselineWork map[string]float64

	// Export takes the profiles of each dump, and with ExportAll each good window, too, to where
	// they outlive the process. nil means nowhere. It works without a DumpDir; with one, what was
	// not sent when the process ended is sent by the next one that opens it. What leaves, and what
	// it costs, is in docs/export.md.
	Export    Exporter
	ExportAll bool
	// ExportLabel reports whether a pprof label of samples may leave with a profile; nil means that
	// all do. A number is its digits. Dumps in DumpDir have all labels, and a process without an
	// ExportLabel does not send those of one that had it. If it panics, the profile is not sent.
	ExportLabel func(key, value string) bool
	// Attributes describe the process in what is exported, with OpenTelemetry's names. By default
	// there are service.name (the last part of the main module's path), service.version,
	// vcs.revision, host.name, service.instance.id (the host's name), process.runtime.name and
	// process.runtime.version. Those given here replace them, one by one; "" removes one.
	Attributes map[string]string

	// OnEvent is called with each event, one at a time, on a goroutine of its own. It may
	// block or panic: events that it has no time for are dropped and counted, and after
	// three panics in a row it is no longer called. runtime.Goexit counts as a panic.
	// It must not modify what the event's Result refers to.
	OnEvent func(Event)
}

// Keep limits the dumps that are kept. Zero fields mean the defaults. The limits hold for
// each running process, together with the dumps in DumpDir of processes that are gone. The
// first and the worst dump of an alert are kept longest. A dump that would leave less than
// a tenth of the disk free is not kept.
//
// Every is the least time between two dumps of one budget with the same offender. Between dumps
// of one budget with different offenders it is a tenth of Every; dumps that would come earlier are
// counted in dumps_total as too_soon. The first dump of an alert does not wait for that. If an
// alert comes back within Every, its event names the earlier dump of the same offender. The
// offenders of a budget on the process or a figure count as one, but each alert has a dump.
type Keep struct {
	Dumps int           // 64 by default, whatever number of files each has
	Bytes int64         // of all their files, 256 MiB by default
	Age   time.Duration // since the end of their windows, 7 days by default
	Every time.Duration // the least time between two dumps of one offender, 10 minutes by default
}

// complete fills in the defaults, and returns all mistakes. asking is set while the
// registry is read.
func (c *Config) complete(asking *atomic.Bool) error {
	c.copy()
	c.fillIn()
	var m mistakes
	c.checkBudgets(&m)
	c.checkTimes(&m)
	m.when(c.Functions < 0 || c.Functions > maxFunctions, "Functions: expected 0 to %d, found %d: each is a time series of each process", maxFunctions, c.Functions)
	c.checkKeep(&m)
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
	c.Work, c.BaselineWork, c.Attributes = maps.Clone(c.Work), maps.Clone(c.BaselineWork), maps.Clone(c.Attributes)
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
		"Window: expected %v to %v, found %v: shorter ones have no samples, longer ones come too late", minWindow, maxWindow, c.Window)
	m.when(c.Every < c.Window, "Every: expected at least Window (%v), found %v: make Every longer, or Window shorter", c.Window, c.Every)
}

func (c *Config) checkKeep(m *mistakes) {
	m.when(c.DumpDir == "" && c.Keep != (Keep{}), "Keep: expected a DumpDir with it, found none: say where dumps go, or leave Keep out")
	m.when(c.Keep.Dumps < 0 || c.Keep.Bytes < 0 || c.Keep.Age < 0 || c.Keep.Every < 0,
		"Keep: expected no negative values, found %+v: zero means the default", c.Keep)
}

func (c *Config) checkWork(m *mistakes) {
	for _, name := range slices.Sorted(maps.Keys(c.Work)) {
		m.when(c.Work[name] == nil, "Work[%q]: expected a function that reads the counter, found nil", name)
	}
}

func (c *Config) checkExport(m *mistakes) {
	m.when(c.Export == nil && (c.ExportAll || c.ExportLabel != nil || len(c.Attributes) > 0),
		"ExportAll, ExportLabel, Attributes: expected an Export with them, found none: say where profiles go, or leave them out")
	if v, is := c.Export.(interface{ Validate() error }); is {
		err := foreign.Within(startWithin, v.Validate)
		m.when(err != nil, "Export: %w", err)
	}
}

func (c *Config) checkBaseline(m *mistakes) {
	for i := range c.Budgets {
		b := &c.Budgets[i]
		if b.Rule != budget.RuleGrows {
			continue
		}
		kind := cmp.Or(b.Kind, kinds.CPU)
		_, known := c.BaselineWork[b.Per]
		m.when(c.Baseline == nil && c.DumpDir == "" && !isDefault(b), "Budgets: %q needs a build to compare with: give a DumpDir, in which each build leaves what is normal for it, or a Baseline", b)
		m.when(kind != kinds.CPU, "Budgets: %q needs a baseline of kind %s, but a guard's Baseline is a CPU profile: leave the budget out", b, kind)
		m.when(b.Per != "" && !known && c.Baseline != nil && !saysWork(c.Baseline, b.Per), "Budgets: %q needs BaselineWork[%q], how many there were while the Baseline was taken, found none", b, b.Per)
	}
	for _, name := range slices.Sorted(maps.Keys(c.BaselineWork)) {
		n := c.BaselineWork[name]
		m.when(!(n > 0) || math.IsInf(n, 1), "BaselineWork[%q]: expected a number above zero, found %v", name, n)
	}
	if c.Baseline != nil {
		err := decode.CheckValid(c.Baseline)
		m.when(err != nil, "Baseline: expected a whole CPU profile, as profile.Parse returns it: %w", err)
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
