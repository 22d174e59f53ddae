package guard

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/profguard/profguard/internal/dumps"
	"github.com/profguard/profguard/internal/foreign"
)

// startWithin is how long Start waits for a disk or a registry. Usually they take
// milliseconds, but either may hang, as a registry does while other code holds its lock.
const startWithin = time.Second

// acquire starts the sinks, opens the dumps and registers the metrics.
func (g *Guard) acquire(ctx context.Context) error {
	g.sinks = sinks(&g.cfg, g.off)
	if g.cfg.DumpDir != "" {
		err := g.within("dumps", "opening DumpDir", func() error { return g.openDumps(ctx) })
		if err != nil && !dumps.IsNoSpace(err) {
			return fmt.Errorf("DumpDir: %w", err)
		}
		if err != nil { // a full disk is no mistake of the caller
			g.off("dumps", err)
		}
	}
	if g.exports != nil { // after the dumps, among which it looks at once
		g.exports.open(g.exportFailing)
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

// off notes that a part of the guard is off because of an error, or with nil that it is not.
func (g *Guard) off(part string, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if err == nil {
		g.faults.clear(part)
	} else {
		g.degraded(part, err.Error(), part+" off: "+err.Error())
	}
}

// openDumps opens the directory of the dumps.
func (g *Guard) openDumps(ctx context.Context) error {
	keep := dumps.Keep{Dumps: g.cfg.Keep.Dumps, Bytes: g.cfg.Keep.Bytes, Age: g.cfg.Keep.Age}
	store, err := g.seams.openDir(g.cfg.DumpDir, keep, g.loop.Saved)
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
	if g.exports != nil && g.exports.queue != nil {
		sending, cancel := context.WithTimeout(ctx, stopWithin/4)
		_ = g.Flush(sending)
		cancel()
		closing, cancel := context.WithTimeout(ctx, stopWithin/4)
		g.exports.queue.Close(closing)
		cancel()
	}
	if store != nil {
		// A disk that hangs leaves time for the sinks.
		disk, cancel := context.WithTimeout(ctx, stopWithin/4)
		_ = store.Close(disk)
		cancel()
	}
	for _, s := range g.sinks {
		s.close() // all at once
	}
	for _, s := range g.sinks {
		await(ctx, s.done)
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
