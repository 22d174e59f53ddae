package guard

import (
	"context"
	"fmt"
	"runtime/pprof"
	"sync"
	"sync/atomic"

	"github.com/profguard/profguard/internal/foreign"
)

const (
	// sinkQueue is the most events that wait for a sink. Transitions are rare, but
	// SetBudgets may resolve all budgets, and as many new ones may fire at once. If the queue
	// is full, the sink hangs.
	sinkQueue = 2*maxBudgets + 64
	// After panicLimit panics in a row a sink is off.
	panicLimit = 3
)

// A sink delivers events to other code, which may block for ever or panic. It has a goroutine
// and a queue of its own, so that this affects neither the guard nor another sink. Events
// that do not fit into the queue are dropped and counted.
type sink struct {
	name    string
	deliver func(Event)
	queue   chan func() // deliveries; closed by close
	done    chan struct{}

	mu     sync.Mutex
	closed bool

	dropped atomic.Int64
	panics  atomic.Int64
	off     func(part string, err error) // reports that the sink is off
}

// sinks makes the sinks of a configuration. A new sink is added here. off is called when
// one is turned off.
func sinks(cfg *Config, off func(part string, err error)) []*sink {
	list := []*sink{newSink("log", slogSink(cfg.Logger, cfg.DumpDir), off), newSink("otel", otelSink(cfg.LoggerProvider), off)}
	if cfg.OnEvent != nil {
		list = append(list, newSink("callback", cfg.OnEvent, off))
	}
	return list
}

func newSink(name string, deliver func(Event), off func(part string, err error)) *sink {
	s := &sink{name: name, deliver: deliver, queue: make(chan func(), sinkQueue), done: make(chan struct{}), off: off}
	go s.run()
	return s
}

func (s *sink) run() {
	defer close(s.done)
	// This goroutine has inherited the labels of the caller of Start.
	pprof.SetGoroutineLabels(context.Background())
	failed := 0 // in a row
	for deliver := range s.queue {
		if failed == panicLimit {
			s.dropped.Add(1)
			continue
		}
		err := <-foreign.Start(func() error { deliver(); return nil })
		if err == nil {
			failed = 0
			continue
		}
		s.dropped.Add(1)
		s.panics.Add(1)
		if failed++; failed == panicLimit {
			s.close()
			s.off("sink "+s.name, fmt.Errorf("its code has failed three times in a row: %w", err))
		}
	}
}

// offer queues an event. It never blocks.
func (s *sink) offer(e Event) { s.add(func() { s.deliver(e) }) }

func (s *sink) add(delivery func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		select {
		case s.queue <- delivery:
			return
		default:
		}
	}
	s.dropped.Add(1)
}

// close ends the queue. The channel done is closed when the events in the queue are delivered
// or dropped.
func (s *sink) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.closed = true
		close(s.queue)
	}
}
