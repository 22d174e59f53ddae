package guard

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"sync/atomic"
	"time"

	"github.com/google/pprof/profile"
	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/dumps"
	"github.com/profguard/profguard/internal/foreign"
	"github.com/profguard/profguard/internal/loop"
	"github.com/profguard/profguard/internal/process"
	"github.com/profguard/profguard/internal/reference"
	"github.com/profguard/profguard/internal/registry"
)

// stopWithin is the longest time that Stop takes. A goroutine that has not ended by
// then hangs in code of the host, and waiting for it would block the host.
const stopWithin = 250 * time.Millisecond

// ErrRunning is in the error of [Start] while another guard runs in the process. There can be one
// only, because the runtime has one CPU profiler.
var ErrRunning = errors.New("a guard already runs in this process")

// running is the process's guard. A process has one profiler, so there can be only one
// guard.
var running atomic.Pointer[Guard]

// Start starts the guard of this process. Its error names every mistake in the configuration, or is
// [ErrRunning] with the place where the other guard was started. A fault of the machine, such as a
// DumpDir that cannot be written, is no error, because it must not keep a service from starting. Like
// all faults after Start, it becomes a metric, an event and a part of [Guard.Status].
//
// Start logs one line: the number of budgets, the folder of the dumps, and the build that this one is
// compared with.
func Start(cfg Config) (*Guard, error) {
	_, file, line, _ := runtime.Caller(1)
	g, err := start(cfg, fmt.Sprintf("%s:%d", file, line), seams{loop.ThisProcess(), newRoster, dumps.Open, reference.ThisBuild, process.IsTest()})
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
	// Metrics may be scraped as soon as they are registered, so everything that collect
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
		defer close(g.announced)
		g.announce(ctx)
	}()
	go func() {
		pprof.SetGoroutineLabels(context.Background())
		defer close(g.done)
		g.loop.Run(ctx, g.report)
	}()
	return g, nil
}

// newGuard makes a guard that has not started.
func newGuard(cfg Config, where string, s seams) (*Guard, error) {
	g := &Guard{cfg: cfg, seams: s, started: time.Now(), where: where, done: make(chan struct{}), announced: make(chan struct{})}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = &debug.BuildInfo{GoVersion: runtime.Version()}
	}
	g.module, g.build = info.Main.Path, buildIn(reference.BuildOf(info))
	err := g.cfg.complete(&g.asking)
	if err != nil {
		return nil, err
	}
	var baseline *decode.Table
	if g.cfg.Baseline.Profile != nil { // a copy, because the caller may change it later, and even Profile.Write does
		if baseline, err = new(decode.Decoder).Profile(g.cfg.Baseline.Profile); err != nil {
			return nil, fmt.Errorf("Baseline.Profile: %w", err)
		}
	}
	if g.keeper, err = newKeeper(&g.cfg, &s, g.module, baseline, comments(g.cfg.Baseline.Profile)); err != nil {
		return nil, err
	}
	if baseline != nil {
		g.cfg.Baseline.Profile = &profile.Profile{Comments: g.cfg.Baseline.Profile.Comments} // for SetBudgets, which asks whether there is a valid one
	}
	g.metrics = g.collector()
	g.status = newStatus(g.started, g.cfg.DumpDir != "")
	if g.budgets, err = s.compile(&g.cfg, nil); err != nil {
		return nil, err
	}
	g.exports = newExports(g)
	g.loop = loop.New(loop.Config{
		Budgets: g.budgets.compiled, Every: g.cfg.Every, Window: g.cfg.Window, Started: g.started, Module: g.module,
		Baseline: baseline, BaselineWork: g.cfg.Baseline.Work, Reference: g.keeper, Functions: g.cfg.FunctionSeries,
		Always: g.exports != nil && g.cfg.Export.All, DumpEvery: cmp.Or(g.cfg.DumpLimits.Every, 10*time.Minute), Trace: g.cfg.Trace,
		Work: g.cfg.Work, Registry: registry.NewReader(g.cfg.Registerer).Read, Process: s.Process,
		ShowsLabel: g.cfg.Export.Label,
	})
	return g, nil
}

// Stop ends the guard and its current window. It returns when all goroutines of the guard
// have ended, or after 250 ms. A goroutine that is left then waits for code of the program (a
// callback, a registry, a counter) or for a disk.
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
	await(ctx, g.announced)
	deadline, _ := ctx.Deadline()
	_ = foreign.Within(time.Until(deadline), func() error { g.cfg.Registerer.Unregister(g.metrics); return nil })
	g.release(ctx)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.status.State, g.status.PausedUntil = ActivityStopped, time.Time{}
}

// startWithin is how long Start waits for a disk or a registry. Usually they take
// milliseconds, but either may hang, as a registry does while other code holds its lock.
const startWithin = time.Second

// acquire starts the sinks, opens the dumps and registers the metrics.
func (g *Guard) acquire(ctx context.Context) error {
	g.sinks = sinks(&g.cfg, g.off)
	if g.cfg.DumpDir != "" {
		g.startDumps(ctx)
	}
	if g.exports != nil { // after the dumps, among which it looks at once
		g.exports.open(g)
	}
	if err := g.within("metrics", "Registerer.Register", func() error { return g.register(ctx) }); err != nil {
		return fmt.Errorf("register metrics: %w: give Config.Registerer a registry of its own", err)
	}
	return nil
}

// within runs do, which may hang, for a part of the guard, and returns its error. If do has
// not ended in time, within returns nil, and that part is off until do ends without error.
func (g *Guard) within(part, what string, do func() error) error {
	result := foreign.Start(do)
	select {
	case err := <-result:
		return err
	case <-time.After(startWithin):
	}
	g.off(part, fmt.Errorf("%s %w within %v", what, foreign.ErrHangs, startWithin))
	go func() { g.off(part, <-result) }()
	return nil
}

// A folder of dumps that cannot be opened is tried again after leastPause, and then after twice as long each
// time: a volume that is attached late is there after some seconds, and a person who has to see to it takes
// minutes. A try takes a few calls of the system.
const leastPause, mostPause = 10 * time.Second, 10 * time.Minute

// startDumps opens DumpDir, or goes on without it and tries again until it is open.
func (g *Guard) startDumps(ctx context.Context) {
	open := func() <-chan error { return foreign.Start(func() error { return g.openDumps(ctx) }) }
	result := open()
	g.opened = make(chan struct{})
	select {
	case err := <-result:
		if g.opens(ctx, err) {
			close(g.opened)
			return
		}
		result = nil
	case <-time.After(startWithin):
		g.off("dumps", fmt.Errorf("opening DumpDir %w within %v", foreign.ErrHangs, startWithin))
	}
	go func() {
		pprof.SetGoroutineLabels(context.Background())
		defer close(g.opened)
		if result != nil && g.opens(ctx, <-result) {
			return
		}
		for pause := leastPause; ; pause = min(2*pause, mostPause) {
			select {
			case <-ctx.Done():
				return
			case <-time.After(pause):
			}
			if g.opens(ctx, <-open()) {
				return
			}
		}
	}()
}

// opens notes whether DumpDir could be opened, and reports whether it is, or nobody wants it any more.
func (g *Guard) opens(ctx context.Context, err error) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if err != nil && ctx.Err() == nil {
		g.degraded("dumps", dumps.Reason(err), "dumps off: "+err.Error()+"; it is tried again")
		return false
	}
	g.faults.clear("dumps")
	return true
}

// openDumps opens the directory of the dumps.
func (g *Guard) openDumps(ctx context.Context) error {
	keep := dumps.Keep{Dumps: g.cfg.DumpLimits.Dumps, Bytes: g.cfg.DumpLimits.Bytes, Age: g.cfg.DumpLimits.Age}
	store, err := g.seams.openDir(g.cfg.DumpDir, keep, g.saved)
	if errors.Is(err, fs.ErrPermission) {
		err = fmt.Errorf("%w: choose a folder that this user may write, or make this one for the user", err)
	}
	if err != nil {
		return err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if ctx.Err() != nil { // release no longer sees this store
		return store.Close(ctx)
	}
	g.dumps.Store(store)
	return nil
}

// register registers the metrics. If that ends after Stop, they are unregistered again:
// metrics of a stopped guard would keep the next guard from registering its own.
func (g *Guard) register(ctx context.Context) error {
	err := g.cfg.Registerer.Register(g.metrics)
	if err == nil && ctx.Err() != nil {
		g.cfg.Registerer.Unregister(g.metrics)
	}
	return err
}

// release closes the dumps and the sinks, and waits for the guard's goroutines until ctx
// ends. Goroutines that hang are left behind. After that another guard can be started.
func (g *Guard) release(ctx context.Context) {
	g.mu.Lock() // a store that is opened later is closed by openDumps
	store := g.dumps.Load()
	g.mu.Unlock()
	briefly := func(end func(context.Context)) { // what hangs leaves time for the others
		ctx, cancel := context.WithTimeout(ctx, stopWithin/4)
		defer cancel()
		end(ctx)
	}
	if g.exports != nil && g.exports.queue != nil {
		g.exports.queue.Leave()
		briefly(func(ctx context.Context) { _ = g.Flush(ctx) })
		briefly(g.exports.queue.Close)
	}
	if g.keeper != nil { // which writes the reference a last time
		briefly(g.keeper.Stop)
	}
	if store != nil {
		briefly(func(ctx context.Context) { _ = store.Close(ctx) })
	}
	for _, s := range g.sinks {
		s.close() // all at once
	}
	for _, s := range g.sinks {
		await(ctx, s.done)
	}
	if g.opened != nil {
		await(ctx, g.opened)
	}
	if store != nil {
		_ = store.Close(ctx) // with the time that the sinks have left
	}
	running.CompareAndSwap(g, nil)
}

func await(ctx context.Context, c <-chan struct{}) {
	select {
	case <-c:
	case <-ctx.Done():
	}
}
