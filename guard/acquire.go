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
	// registerWithin is for the registry, which may ask the guard for its metrics,
	// and whoever else has its lock. It takes microseconds.
	registerWithin = time.Second
	// openWithin is for the disk, which takes milliseconds.
	openWithin = time.Second
	// openAgain is when a full disk is tried again.
	openAgain = time.Minute
)

// open acquires what needs to be released.
func (g *Guard) open(ctx context.Context) error {
	g.sinks = []*sink{newSink("log", slogSink(g.cfg.Logger, g.cfg.DumpDir)), newSink("otel", otelSink(g.cfg.LoggerProvider))}
	if g.cfg.OnEvent != nil {
		g.sinks = append(g.sinks, newSink("callback", ownEvents(g.cfg.OnEvent)))
	}
	g.expect(len(g.panel.entries))
	err := g.acquire(ctx)
	if err == nil {
		return nil
	}
	patience, cancel := context.WithTimeout(context.Background(), stopWithin)
	defer cancel()
	for _, s := range g.sinks {
		await(patience, s.close())
	}
	return err
}

func (g *Guard) acquire(ctx context.Context) error {
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
// mistake. That the disk is full or hangs is not: the
// guard goes on without dumps, says so, and has them when they can be had.
func (g *Guard) openDumps(ctx context.Context) error {
	g.opener = make(chan struct{})
	reply := make(chan error, 1)
	go func() {
		defer close(g.opener)
		for g.openOnce(ctx, reply) {
			again := time.NewTimer(openAgain)
			select {
			case <-ctx.Done():
			case <-again.C:
			}
			again.Stop()
		}
	}()
	err := g.within(openWithin, reply, func() {
		g.noDumps("busy", fmt.Errorf("opening DumpDir has not ended within %v: its disk hangs", openWithin))
	})
	g.adopt()
	return err
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

// openOnce opens the directory, tells the first time how it went, and reports
// whether it should be tried again.
func (g *Guard) openOnce(ctx context.Context, reply chan<- error) (again bool) {
	if ctx.Err() != nil {
		return false
	}
	var store *dumps.Store
	var err error
	if failed := call(func() { store, err = g.seams.openDir(g.cfg.DumpDir, g.cfg.Keep.dump()) }); failed != nil {
		err = failed
	}
	if again, unwanted := g.opened(ctx, store, err, reply); !unwanted {
		return again
	}
	_ = store.Close() // nobody is left to be told
	return false
}

// opened takes the directory, unless Stop did not wait for it.
func (g *Guard) opened(ctx context.Context, store *dumps.Store, err error, reply chan<- error) (again, unwanted bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	reason := dumps.Reason(err)
	switch {
	case err == nil && ctx.Err() != nil:
		unwanted = true
	case err == nil:
		g.late = dumps.NewWriter(store, g.dumped)
		g.faults.clear("dumps")
	case reason == "busy", reason == "no_space":
		again = true
		g.status.Dumps[reason]++
		g.noDumps(reason, err)
		err = nil // for Start
	default:
		g.faults.note("dumps", "dumps are off: "+err.Error())
	}
	select {
	case reply <- err:
	default: // it is about the first try only
	}
	return again, unwanted
}

// noDumps says why there are none, once an hour for each reason. g.mu must be held.
func (g *Guard) noDumps(reason string, why error) {
	g.faults.note("dumps", "dumps are off: "+why.Error())
	if g.hourly.Say(reason, time.Now()) {
		g.emit(Event{Name: eventDegraded, Message: "dumps are off: " + why.Error()})
	}
}

// adopt begins to use a directory that has been opened.
func (g *Guard) adopt() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.late != nil {
		g.dumps, g.late = g.late, nil
	}
}

// writer is what keeps the dumps, or nil.
func (g *Guard) writer() *dumps.Writer {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.late != nil {
		return g.late
	}
	return g.dumps
}

func (g *Guard) closeDumps(ctx context.Context) {
	if w := g.writer(); w != nil {
		w.Close(ctx)
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
		if err = call(func() { refused = g.cfg.Registerer.Register(g) }); err == nil {
			err = refused
		}
	}()
	return g.within(registerWithin, reply, func() {
		why := fmt.Sprintf("Registerer.Register has not returned within %v", registerWithin)
		g.faults.note("metrics", "no metrics: "+why)
		g.emit(Event{Name: eventDegraded, Message: "there are no metrics of profguard: " + why})
	})
}

// registered notes how Register ended. If that was after Stop has unregistered the
// guard, which was too early then, it is done again: a guard that is no more must
// not be in the way of the next.
func (g *Guard) registered(ctx context.Context, err error, reply chan<- error) {
	g.mu.Lock()
	g.faults.clear("metrics")
	if err != nil {
		g.faults.note("metrics", "no metrics: "+err.Error())
	}
	stopped := ctx.Err() != nil
	reply <- err
	g.mu.Unlock()
	if err == nil && stopped {
		_ = call(func() { g.cfg.Registerer.Unregister(g) })
	}
}
