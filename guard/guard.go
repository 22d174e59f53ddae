package guard

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/pprof/profile"

	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/dumps"
	"github.com/profguard/profguard/internal/foreign"
	"github.com/profguard/profguard/internal/functions"
	"github.com/profguard/profguard/internal/loop"
)

// A Guard watches the process that it runs in. Make one with [Start]. All
// methods are safe for concurrent use, and on a nil Guard.
type Guard struct {
	cfg     Config
	seams   seams
	started time.Time
	where   string // the caller of Start, for the error of a second Start
	module  string
	build   Build

	active context.Context // until Stop
	cancel context.CancelFunc
	done   chan struct{} // closed when the loop has ended
	stop   sync.Once

	loop    *loop.Loop
	feed    *loop.Feed
	exports *exports // nil without Config.Export
	sinks   []*sink
	dumps   atomic.Pointer[dumps.Store] // nil: there are none yet, or none at all
	metrics *collector
	counts  atomic.Pointer[functions.Totals] // nil: none were counted
	pages   sync.Once
	// page is made by pages, once for all calls of Handler. It is an interface so that the
	// linker can leave the pages out of programs that do not call Handler.
	page http.Handler

	setting sync.Mutex  // held by SetBudgets, which may compile for a while; comes before mu
	asking  atomic.Bool // Start or SetBudgets reads the registry, which may hang

	mu      sync.Mutex
	budgets *budgets // in force
	status  Status   // all but Budgets
	faults  faults
}

// seams are the functions that tests replace.
type seams struct {
	loop.Process
	compile func(cfg *Config, old *budgets) (*budgets, error)
	openDir func(dir string, keep dumps.Keep, report func(dumps.Outcome)) (*dumps.Store, error)
}

// An Activity is what a guard does.
type Activity string

const (
	Running Activity = "running"
	Paused  Activity = "paused" // its own cost was too high
	Stopped Activity = "stopped"
)

// stopWithin is the longest time that Stop takes. A goroutine that has not ended by
// then hangs in code of the host, and waiting for it would block the host.
const stopWithin = 250 * time.Millisecond

// ErrRunning is in the error of [Start] while another guard runs in the process.
var ErrRunning = errors.New("a guard already runs in this process")

// running is the process's guard. A process has one profiler, so there can be only one
// guard.
var running atomic.Pointer[Guard]

// Start starts the guard of this process. Its error names every mistake in the configuration
// (that of DumpDir only if there is no other), or is [ErrRunning] with the place where the other
// guard was started. After Start nothing that goes wrong in the guard reaches the host: it becomes
// a metric, an event and a part of [Guard.Status].
func Start(cfg Config) (*Guard, error) {
	_, file, line, _ := runtime.Caller(1)
	g, err := start(cfg, fmt.Sprintf("%s:%d", file, line), seams{loop.ThisProcess(), newBudgets, dumps.Open})
	if err != nil {
		return nil, fmt.Errorf("guard.Start: %w", err)
	}
	return g, nil
}

func start(cfg Config, where string, s seams) (*Guard, error) {
	g, err := newGuard(cfg, where, s)
	if err != nil {
		return nil, err
	}
	for !running.CompareAndSwap(nil, g) {
		if other := running.Load(); other != nil { // or it has just stopped
			return nil, fmt.Errorf("%w, started at %s %s ago: Stop it first, or give it the budgets with SetBudgets",
				ErrRunning, other.where, time.Since(other.started).Round(time.Second))
		}
	}
	// Metrics may be scraped as soon as they are registered, so everything that Collect
	// reads is set before.
	ctx, cancel := context.WithCancel(context.Background())
	g.active, g.cancel = ctx, cancel
	if err := g.acquire(ctx); err != nil {
		cancel()
		ctx, cancel := context.WithTimeout(context.Background(), stopWithin)
		defer cancel()
		g.release(ctx)
		return nil, err
	}
	go func() {
		// This goroutine has inherited the labels of the caller of Start.
		pprof.SetGoroutineLabels(context.Background())
		defer close(g.done)
		g.loop.Run(ctx)
	}()
	return g, nil
}

// newGuard makes a guard that has not started.
func newGuard(cfg Config, where string, s seams) (*Guard, error) {
	g := &Guard{cfg: cfg, seams: s, started: time.Now(), where: where, done: make(chan struct{})}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = &debug.BuildInfo{GoVersion: runtime.Version()}
	}
	g.module, g.build = info.Main.Path, buildOf(info)
	err := g.cfg.complete(&g.asking)
	if err != nil {
		return nil, err
	}
	var baseline *decode.Table
	if g.cfg.Baseline != nil { // a copy, because the caller may change it later, and even Profile.Write does
		if baseline, err = new(decode.Decoder).Profile(g.cfg.Baseline); err != nil {
			return nil, fmt.Errorf("Baseline: %w", err)
		}
		g.cfg.Baseline = new(profile.Profile) // for SetBudgets, which asks whether there is a valid one
	}
	g.metrics = &collector{g.Collect}
	g.status = newStatus(g.started, g.cfg.DumpDir != "")
	if g.budgets, err = s.compile(&g.cfg, nil); err != nil {
		return nil, err
	}
	g.exports = newExports(g)
	cfgOfLoop := loop.Config{
		Every: g.cfg.Every, Window: g.cfg.Window, Started: g.started, Module: g.module, Baseline: baseline, BaselineWork: g.cfg.BaselineWork,
		Keep: loop.Keep{Every: cmp.Or(g.cfg.Keep.Every, 10*time.Minute)}, Trace: g.cfg.Trace,
		Work: g.cfg.Work, Registry: registryReader(g.cfg.Registerer),
		Process: s.Process, Host: g.host(), Feed: loop.NewFeed(),
	}
	g.feed = cfgOfLoop.Feed
	if x := g.exports; x != nil {
		cfgOfLoop.Attributes, cfgOfLoop.Dumps = x.attributes, append(cfgOfLoop.Dumps, x.dump)
		if g.cfg.ExportAll {
			cfgOfLoop.Windows = append(cfgOfLoop.Windows, x.window)
		}
	}
	if g.cfg.Functions > 0 {
		cfgOfLoop.Windows = append(cfgOfLoop.Windows, g.countFunctions())
	}
	g.loop = loop.New(cfgOfLoop)
	return g, nil
}

// Stop ends the guard and its current window. It returns when all goroutines of the guard
// have ended, or after 250 ms: a goroutine that is left then waits for code of the host (a
// sink, a registry, a counter) or for a disk.
// Stop may be called several times, concurrently, and on nil.
//
// Call it before syscall.Exec: a program that is replaced in the middle of a window is
// killed by the profiler's signal.
func (g *Guard) Stop() {
	if g == nil || g.cancel == nil {
		return
	}
	g.stop.Do(g.shutDown) // a second call waits
}

func (g *Guard) shutDown() {
	ctx, cancel := context.WithTimeout(context.Background(), stopWithin)
	defer cancel()
	g.cancel()
	await(ctx, g.done)
	deadline, _ := ctx.Deadline()
	_ = foreign.Within(time.Until(deadline), func() error { g.cfg.Registerer.Unregister(g.metrics); return nil })
	g.release(ctx)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.status.State, g.status.PausedUntil = Stopped, time.Time{}
}

// emit sends an event to all sinks.
func (g *Guard) emit(e Event) {
	if e.Time.IsZero() {
		e.Time = time.Now()
	}
	for _, s := range g.sinks {
		s.offer(e)
	}
}

// buildOf is what a build says of itself.
func buildOf(info *debug.BuildInfo) Build {
	b := Build{Version: info.Main.Version, Go: info.GoVersion}
	modified := ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			b.Revision = s.Value
		case s.Key == "vcs.modified" && s.Value == "true":
			modified = "-dirty"
		}
	}
	b.Revision += modified
	return b
}
