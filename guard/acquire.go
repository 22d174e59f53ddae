package guard

import (
	"context"
	"fmt"
	"time"

	"github.com/profguard/profguard/internal/dumps"
)

// Start waits only so long for somebody else.
const (
	// registerWithin is for the registry. It asks the guard for its metrics, and waits for
	// whoever holds its lock. That takes microseconds.
	registerWithin = time.Second
	// openWithin is for the disk, which takes milliseconds.
	openWithin = time.Second
)

// acquire acquires what release gives back, and the place among the metrics.
func (g *Guard) acquire(ctx context.Context) error {
	g.sinks = sinks(&g.cfg)
	if g.cfg.DumpDir != "" {
		if err := g.within(openWithin, "opening DumpDir", func() error { return g.openDumps(ctx) }, g.dumpsOff); err != nil {
			return fmt.Errorf("DumpDir: %w", err)
		}
	}
	if err := g.within(registerWithin, "Registerer.Register", func() error { return g.register(ctx) }, g.metricsOff); err != nil {
		return fmt.Errorf("register metrics: %w: give Config.Registerer a registry of its own", err)
	}
	return nil
}

// within does what waits for somebody else, and returns its error. What has not ended in
// that time costs a part of the guard, and not the host's start: late is told that, and the
// error in the end, if there is one.
func (g *Guard) within(d time.Duration, what string, do func() error, late func(error)) error {
	reply, gaveUp := make(chan error), make(chan struct{})
	g.background.Go(func() {
		err := fmt.Errorf("%s has ended its goroutine", what)
		defer func() {
			select {
			case reply <- err:
			case <-gaveUp:
				if err != nil {
					late(err)
				}
			}
		}()
		err = do()
	})
	select {
	case err := <-reply:
		return err
	case <-time.After(d):
	}
	late(fmt.Errorf("%s has not returned within %v", what, d))
	close(gaveUp)
	return nil
}

// openDumps opens the directory of the dumps. What is wrong with it is the caller's
// mistake. That the disk is full is not: it is told, and there are no dumps.
func (g *Guard) openDumps(ctx context.Context) error {
	var store *dumps.Store
	var err error
	keep := dumps.Keep{Files: g.cfg.Keep.Files, Bytes: g.cfg.Keep.Bytes, Age: g.cfg.Keep.Age}
	if failed := recovered(func() { store, err = g.seams.openDir(g.cfg.DumpDir, keep, g.dumped) }); failed != nil {
		err = failed
	}
	if err != nil && dumps.Reason(err) == "no_space" {
		g.dumpsOff(err)
		return nil
	}
	if err != nil {
		return err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if ctx.Err() != nil { // release has been there already
		return store.Close(ctx)
	}
	g.dumps.Store(store)
	g.faults.clear("dumps")
	return nil
}

func (g *Guard) dumpsOff(err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.dumpsFail("dumps are off: ", err)
}

// register registers the metrics. If that was after Stop has unregistered them, they are
// unregistered again: those of a stopped guard would keep out those of the next.
func (g *Guard) register(ctx context.Context) error {
	var refused error
	if err := call(func() { refused = g.cfg.Registerer.Register(g.metrics) }); err != nil {
		return err
	}
	if refused != nil {
		return refused
	}
	g.mu.Lock()
	g.faults.clear("metrics")
	g.mu.Unlock()
	if ctx.Err() != nil {
		g.unregister()
	}
	return nil
}

func (g *Guard) unregister() { _ = call(func() { g.cfg.Registerer.Unregister(g.metrics) }) }

func (g *Guard) metricsOff(err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.degraded("metrics", err.Error(), "there are no metrics of profguard: "+err.Error())
}

// release gives all back but the place among the metrics, and waits until ctx ends for
// what the guard has begun: what hangs then is left behind. It makes room for another
// guard.
func (g *Guard) release(ctx context.Context) {
	g.mu.Lock() // what is opened later is closed by openDumps
	store := g.dumps.Load()
	g.mu.Unlock()
	if store != nil {
		// A disk that hangs leaves time for the sinks.
		disk, giveUp := context.WithTimeout(ctx, stopWithin/4)
		_ = store.Close(disk)
		giveUp()
	}
	for _, s := range g.sinks {
		s.close() // all at once
	}
	for _, s := range g.sinks {
		await(ctx, s.done)
	}
	ended := make(chan struct{})
	go func() {
		g.background.Wait()
		close(ended)
	}()
	await(ctx, ended)
	running.CompareAndSwap(g, nil)
}

func await(ctx context.Context, c <-chan struct{}) {
	select {
	case <-c:
	case <-ctx.Done():
	}
}
