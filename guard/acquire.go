package guard

import (
	"context"
	"errors"
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
	// openAgain is when a full disk is tried again.
	openAgain = time.Minute
)

// acquire acquires what release gives back, and the place among the metrics.
func (g *Guard) acquire(ctx context.Context) error {
	g.sinks = sinks(&g.cfg)
	if g.cfg.DumpDir != "" {
		if err := g.openDumps(ctx); err != nil {
			return fmt.Errorf("DumpDir: %w", err)
		}
	}
	if err := g.register(ctx); err != nil {
		return fmt.Errorf("register metrics: %w: give Config.Registerer a registry of its own", err)
	}
	return nil
}

// openDumps opens the directory of the dumps. What is wrong with it is the caller's
// mistake. That the disk is full or hangs is not: the guard goes on without dumps, says
// so, and tries again.
func (g *Guard) openDumps(ctx context.Context) error {
	g.opener = make(chan struct{})
	reply := make(chan error, 1)
	waits := true // for the first try; held by g.mu
	answer := func(err error) bool {
		waited := waits
		if waits = false; waited {
			reply <- err
		}
		return waited
	}
	go func() {
		defer close(g.opener)
		for g.openOnce(ctx, answer) {
			select {
			case <-ctx.Done():
			case <-time.After(openAgain):
			}
		}
	}()
	return g.within(openWithin, reply, func() {
		waits = false
		g.dumpsFail("dumps are off: ", fmt.Errorf("opening DumpDir has not ended within %v: its disk hangs", openWithin))
	})
}

// within waits for somebody else's answer, which is given under g.mu. If there is
// none in that time, it calls late with g.mu held, and goes on.
func (g *Guard) within(d time.Duration, answer <-chan error, late func()) error {
	patience := time.NewTimer(d)
	defer patience.Stop()
	select {
	case err := <-answer:
		return err
	case <-patience.C:
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	select {
	case err := <-answer: // at the last moment
		return err
	default:
		late()
		return nil
	}
}

// openOnce opens the directory, and reports whether it should be tried again. How it went,
// it says to answer, which reports whether Start still waits and returns the error; else it
// is told.
func (g *Guard) openOnce(ctx context.Context, answer func(error) bool) (again bool) {
	if ctx.Err() != nil {
		return false
	}
	var store *dumps.Store
	var err error
	keep := dumps.Keep{Files: g.cfg.Keep.Files, Bytes: g.cfg.Keep.Bytes, Age: g.cfg.Keep.Age}
	if failed := recovered(func() { store, err = g.seams.openDir(g.cfg.DumpDir, keep, g.dumped) }); failed != nil {
		err = failed
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case err == nil && ctx.Err() != nil:
		_ = store.Close(ctx) // nobody is left to be told
	case err == nil:
		g.dumps.Store(store)
		g.faults.clear("dumps")
		answer(nil)
	case dumps.Reason(err) == "no_space":
		again = true
		g.dumpsFail("dumps are off: ", err)
		answer(nil) // Start goes on
	case !answer(err):
		g.dumpsFail("dumps are off: ", err)
	}
	return again
}

// release gives all back but the place among the metrics, and waits for that and for
// others until ctx ends: what hangs then is left behind. It makes room for another guard.
func (g *Guard) release(ctx context.Context, others ...<-chan struct{}) {
	if store := g.dumps.Load(); store != nil {
		// A disk that hangs leaves time for the sinks.
		disk, giveUp := context.WithTimeout(ctx, stopWithin/4)
		_ = store.Close(disk)
		giveUp()
	}
	if g.opener != nil {
		others = append(others, g.opener)
	}
	for _, s := range g.sinks {
		others = append(others, s.close())
	}
	for _, c := range others {
		await(ctx, c)
	}
	running.CompareAndSwap(g, nil)
}

func await(ctx context.Context, c <-chan struct{}) {
	select {
	case <-c:
	case <-ctx.Done():
	}
}

// register registers the metrics. A registry that hangs costs them, and not the
// host's start: it goes on without, and says so.
func (g *Guard) register(ctx context.Context) error {
	reply := make(chan error, 1)
	go func() {
		err := errors.New("the registry has ended the goroutine")
		defer func() { g.registered(ctx, err, reply) }()
		var refused error
		if err = call(func() { refused = g.cfg.Registerer.Register(g.metrics) }); err == nil {
			err = refused
		}
	}()
	return g.within(registerWithin, reply, func() {
		g.degraded("metrics", "hangs", fmt.Sprintf("there are no metrics of profguard: Registerer.Register has not returned within %v", registerWithin))
	})
}

// registered notes how Register ended. If that was after Stop has unregistered the
// guard, it is unregistered again: the metrics of a stopped guard would keep out those of
// the next.
func (g *Guard) registered(ctx context.Context, err error, reply chan<- error) {
	g.mu.Lock()
	g.faults.clear("metrics")
	if err != nil {
		g.faults.note("metrics", "there are no metrics of profguard: "+err.Error())
	}
	stopped := ctx.Err() != nil
	reply <- err
	g.mu.Unlock()
	if err == nil && stopped {
		_ = call(func() { g.cfg.Registerer.Unregister(g.metrics) })
	}
}
