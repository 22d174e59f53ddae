package profiler

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/profguard/profguard/internal/decode"
)

const (
	// period is that of runtime/pprof: 100 Hz. With higher rates samples are missing: at a
	// nominal 1000 Hz, only a quarter of the CPU time shows.
	period = int64(10 * time.Millisecond)

	// slack is the time that the shortest slice (nextCut) adds to an interval, or that a stop
	// of the profiler adds to the duration in a profile (81 ms at most).
	slack = 125 * time.Millisecond

	// sleepSlack is the largest difference between the clocks that is not taken for a
	// suspend: the process may be preempted between their readings.
	sleepSlack = 100 * time.Millisecond

	// Sampled CPU was 92-99% of the CPU used when a process was busy, and 71-80% when it
	// answered a few thousand requests a second on a virtual machine. It is judged only
	// over a second of CPU, and with an allowance of two standard deviations of the number
	// of samples: chance alone, or a ticker's phase, takes it further than these bounds.
	enoughCPU  = time.Second
	minSampled = 0.7
	maxSampled = 1.3
	deviations = 2
	someCPU    = 250 * time.Millisecond // 25 samples are due: none is no accident

	maxLost = 0.01 // of the samples
)

// judgeTime applies the rules that need only the hub's own measurements.
func (w *Window) judgeTime(limit time.Duration) {
	switch {
	case w.slept > sleepSlack:
		w.lose(Suspended, "the machine was suspended for %v during the window", w.slept.Round(time.Millisecond))
	case w.Elapsed > limit:
		w.lose(Overrun, "the window took %v instead of %v; the machine is overloaded, or the process was stopped", w.Elapsed.Round(time.Millisecond), w.Asked)
	}
}

// Table is the window's profile, decoded with d. It is valid until d's next use, and nil unless
// the window is [OK]. A window whose profile cannot be read, or breaks a rule of [Check],
// gets the outcome and reason for that.
func (w *Window) Table(d *decode.Decoder) *decode.Table {
	if w.Outcome != OK || w.IsEmpty() {
		return nil
	}
	t, err := w.Source.Table(d)
	if err != nil {
		w.lose(Broken, "%v", err)
		return nil
	}
	if Check(w, t); w.Outcome != OK {
		return nil
	}
	return t
}

// Check applies the validity rules that need the decoded profile: t must be the profile of w, which is
// [OK]. The first that is broken gives w its outcome and the reason.
func Check(w *Window, t *decode.Table) {
	duration := time.Duration(t.DurationNanos)
	tolerance := w.Elapsed/10 + time.Duration(max(1, w.Slices))*slack
	samples, lost := t.Count(), int64(0)
	for i, s := range t.Samples {
		if isLost(t, s) {
			lost = decode.AddSaturating(lost, t.Values[i*len(t.Types)])
		}
	}
	sampled := time.Duration(samples * period)
	due, chance := float64(w.CPU)/float64(period), deviations*math.Sqrt(float64(samples))
	switch {
	case t.Period != period:
		w.lose(Rate, "%s", reasonRate(t.Period))
	case duration < w.Elapsed-tolerance:
		// The profile's time begins when the runtime's goroutine that writes it gets a
		// processor, not when sampling begins: beside 300 goroutines that spin on two
		// cores, a profile of 2.0 s was seen to say 0.3 ms.
		w.lose(Short, "the profile covers %v of a window of %v; that happens on an overloaded machine, "+
			"because the runtime began its profile late; if it is idle, look for another profiler in the process",
			duration.Round(time.Millisecond), w.Elapsed.Round(time.Millisecond))
	case duration > w.Elapsed+tolerance:
		w.lose(Overrun, "the profile covers %v, more than its window of %v", duration, w.Elapsed)
	case float64(lost) > maxLost*float64(samples):
		w.lose(Lost, "the runtime lost %d of %d samples; take profiles of fewer threads or with fewer labels", lost, samples)
	case samples == 0 && w.CPU > someCPU:
		// On a machine that has far more to run than processors a window was seen to have
		// no sample for 250 ms of CPU.
		w.lose(Starved, "no sample for %v of CPU time; that happens on an overloaded machine; "+
			"on any other, look for another user of SIGPROF in the process, such as a C library", w.CPU.Round(time.Millisecond))
	case w.CPU > enoughCPU && (float64(samples)+chance < minSampled*due || float64(samples)-chance > maxSampled*due):
		w.lose(Starved, "the samples stand for %v of CPU time, but %v were used; the cause may be an overloaded machine, "+
			"another user of SIGPROF, or a virtual machine's clock",
			sampled.Round(time.Millisecond), w.CPU.Round(time.Millisecond))
	}
}

// lostFunctions are the runtime's stand-ins for samples that it had to drop: its buffer was full,
// too many came on threads that are not Go's, or in an atomic operation of 32-bit ARM or MIPS.
var lostFunctions = [...]string{
	"runtime/pprof.lostProfileEvent",
	"runtime._LostExternalCode",
	"runtime._LostSIGPROFDuringAtomic64",
}

// isLost reports whether s stands for lost samples: one of lostFunctions is its leaf.
func isLost(t *decode.Table, s decode.Sample) bool {
	if s.StackLo == s.StackHi {
		return false
	}
	leaf := t.Locations[t.Stacks[s.StackLo]]
	return leaf.LineLo < leaf.LineHi && slices.Contains(lostFunctions[:], t.Symbols.Name(t.Lines[leaf.LineLo].Name))
}

func reasonRate(got int64) string {
	return fmt.Sprintf("the sampling period is %v, not %v: other code called runtime.SetCPUProfileRate; remove the call",
		time.Duration(got), time.Duration(period))
}
