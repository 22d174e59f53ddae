package check

import (
	"fmt"
	"time"

	"github.com/profguard/profguard/internal/process"
	"github.com/profguard/profguard/internal/unit"
)

const (
	// busyShare is the waiting for a core, per time that goes by, from which a machine
	// is too busy to blame work for too few samples. Work that computes, or wakes up 200
	// times a second, waits for less than 2% on an idle machine.
	busyShare = 0.1

	// busyTimes is how many times its Max a check may take on a busy machine, within the
	// deadline of the test.
	busyTimes = 4
)

// A load is how long this process had waited for cores at a time.
type load struct {
	at     time.Time
	waited time.Duration
}

// readLoad is a variable so that tests can have an idle machine, and a busy one.
var readLoad = func() load { return load{time.Now(), process.Waited()} }

// waitedShare is the waiting for a core, per time that went by.
func waitedShare(from, to load) float64 {
	return float64(to.waited-from.waited) / float64(to.at.Sub(from.at))
}

// busy reports whether the machine keeps this check from running.
func (r *run) busy() bool { return waitedShare(r.load, readLoad()) > busyShare }

// goOn gives a check that is not decided when its time is up more of it, if the machine
// has kept it from running, and reports whether it did.
func (r *run) goOn() bool {
	if !r.ends.Before(r.latest) || !r.busy() {
		return false
	}
	r.t.Helper()
	r.t.Logf("guard.Check: not decided after %v, and %s: it goes on for up to %v more",
		time.Since(r.begun).Round(100*time.Millisecond), r.loadText(), time.Until(r.latest).Round(time.Second))
	r.ends = r.latest
	return true
}

// loadText says with figures how busy the machine was.
func (r *run) loadText() string {
	now := readLoad()
	return fmt.Sprintf("the machine was busy: goroutines and threads of this process waited %v for a core in %v",
		(now.waited - r.load.waited).Round(100*time.Millisecond), now.at.Sub(r.load.at).Round(100*time.Millisecond))
}

const (
	// samplePeriod is the CPU that a sample stands for.
	samplePeriod = 10 * time.Millisecond

	// leastCoverage is the least share of the samples due. Of a busy process 92-99% come;
	// where less than a fifth come, it is not for chance or load.
	leastCoverage = 0.2

	// For someCPU 30 samples are due, and chance alone leaves 6 and more. On a busy machine
	// 250 ms of CPU were seen to have none, so that it takes sureCPU there to be sure.
	someCPU, sureCPU = 300 * time.Millisecond, time.Second
)

// A coverage tells whether samples stand for the CPU that the process used. Both go by CPU
// time, so that a busy machine has fewer of both. Where somebody has replaced the handler
// of SIGPROF there are no samples, and without samples every budget is kept.
//
// It looks at one second of CPU after the other: a handler may be replaced late. The first
// second with too few samples is kept.
type coverage struct {
	cpu     time.Duration // 0 on systems that do not tell
	samples int64         // whoever's they are
}

// add adds a window.
func (c *coverage) add(cpu time.Duration, samples int64) {
	switch {
	case c.isLost():
		return
	case c.cpu >= sureCPU:
		*c = coverage{}
	}
	c.cpu += cpu
	c.samples += samples
}

// due is how many samples the CPU should have.
func (c *coverage) due() float64 { return float64(c.cpu) / float64(samplePeriod) }

// isLow reports whether budgets can't be judged by the samples.
func (c *coverage) isLow() bool {
	return c.cpu >= someCPU && float64(c.samples) < leastCoverage*c.due()
}

// isLost reports whether that is sure on any machine, and stays so.
func (c *coverage) isLost() bool { return c.cpu >= sureCPU && c.isLow() }

func (c *coverage) reason() string {
	return fmt.Sprintf("%s came of about %.0f that %v of CPU should have: something else holds the profiler's signal; "+
		"look for another user of SIGPROF in the process", unit.Plural(c.samples, "sample"), c.due(), c.cpu.Round(10*time.Millisecond))
}
