package check

import (
	"fmt"
	"math"
	"time"

	"github.com/profguard/profguard/internal/process"
)

const (
	// busyShare is the time spent waiting for a core, as a share of the time that has
	// passed, from which the machine counts as busy. On an idle machine, work that computes
	// or wakes up 200 times a second waits for less than 2% of the time.
	busyShare = 0.1

	// busyTimes times Max is the longest time of a check on a busy machine, within the
	// deadline of the test.
	busyTimes = 4
)

// waited is how long this process has waited for cores. It is a variable so that tests can
// simulate an idle machine and a busy one.
var waited = process.Waited

// A clock is the time of a check.
type clock struct {
	begun  time.Time
	ends   time.Time     // the time of the verdict
	latest time.Time     // the time of the verdict on a busy machine
	waited time.Duration // for cores, before the check
}

// setEnd gives a check so much time, up to a moment.
func (c *clock) setEnd(limit time.Duration, before time.Time) {
	left := before.Sub(c.begun)
	c.ends, c.latest = c.begun.Add(min(limit, left)), c.begun.Add(min(busyTimes*limit, left))
}

// waitedShare is the time spent waiting for a core, as a share of the time of the check.
func (c *clock) waitedShare() float64 {
	return float64(waited()-c.waited) / float64(time.Since(c.begun))
}

// busy reports whether the machine keeps this check from running.
func (c *clock) busy() bool { return c.waitedShare() > busyShare }

// loadText says with figures how busy the machine was.
func (c *clock) loadText() string {
	return fmt.Sprintf("the machine was busy: goroutines and threads of this process waited %v for a core in %v",
		(waited() - c.waited).Round(10*time.Millisecond), time.Since(c.begun).Round(100*time.Millisecond))
}

// A coverage compares the number of samples with the CPU that the process used. A busy
// machine lowers both. If other code has replaced the handler of SIGPROF there are no
// samples, and every budget would be kept.
type coverage struct {
	cpu     time.Duration // 0 where the system does not say
	samples int64         // of the whole process
}

// due is the number of samples that the CPU should have: one for 10 ms.
func (c *coverage) due() float64 { return 100 * c.cpu.Seconds() }

// isLow reports whether there are too few samples to judge budgets: less than half of those
// due, by more than chance. A process gets 71-99% of them. Without any sample it takes 250 ms
// of CPU to say so.
func (c *coverage) isLow() bool {
	return float64(c.samples) < c.due()/2-2.5*math.Sqrt(c.due())
}
