package work

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"runtime"
	"runtime/pprof"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/profguard/profguard/internal/charge"
	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/kinds"
	"github.com/profguard/profguard/internal/process"
	"github.com/profguard/profguard/internal/profiler"
)

// KeepLabelled returns the samples whose label is the id, without the label.
func KeepLabelled(t *decode.Table, id string) *decode.Table {
	return t.Filter(func(s *decode.Stack) bool {
		is := labelOf(t, *s) == id
		takeLabel(t, s)
		return is
	})
}

// labelOf is the value of a sample's label, "" if it has none.
func labelOf(t *decode.Table, s decode.Stack) string {
	for _, l := range s.Labels {
		if string(t.String(l.Key)) == label {
			return string(t.String(l.Str))
		}
	}
	return ""
}

func takeLabel(t *decode.Table, s *decode.Stack) {
	s.Labels = slices.DeleteFunc(s.Labels, func(l decode.Label) bool { return string(t.String(l.Key)) == label })
}

// Cut cuts each stack off where work begins, and drops the samples that are not of work. It
// also removes the frames that the runtime puts on top of a function to interrupt it, or in a
// stack that the runtime may have cut off replaces them by that function. It returns the number of
// samples of the loop that calls work, too.
func Cut(t *decode.Table) (ofWork *decode.Table, loop int64) {
	ofWork = t.Filter(func(s *decode.Stack) bool {
		stack := stackOf(t, *s)
		keep := workOf(stack)
		if keep == 0 && !isBeside(stack) {
			loop += s.Values[0]
		}
		for i, l := range s.Locations {
			if keep <= 0 {
				s.Locations = s.Locations[:i]
				break
			}
			keep -= int(t.Locations[l].LineHi - t.Locations[l].LineLo)
		}
		n := 0
		for n < len(s.Locations)-1 && isInterrupt(t, s.Locations[n]) {
			n++
		}
		if len(stack) < charge.CPUDepth {
			s.Locations = s.Locations[n:]
		} else { // it may have been cut off, which its number of frames tells
			for i := range n {
				s.Locations[i] = s.Locations[n]
			}
		}
		return len(s.Locations) > 0
	})
	return ofWork, loop
}

// WithoutOurs drops profguard's own samples from a profile without labels, and those of package
// testing: taking profiles allocates, and waiting for work blocks. It also cuts the stacks as [Cut]
// does.
func WithoutOurs(t *decode.Table) *decode.Table {
	t, _ = Cut(charge.WithoutOwn(t).Filter(func(s *decode.Stack) bool {
		stack := stackOf(t, *s)
		return slices.ContainsFunc(stack, isLoop) || !slices.ContainsFunc(stack, func(name string) bool {
			return isOurs(name) || hasPrefix(name, "testing.(*", "testing.runTests", "testing.tRunner.func1")
		})
	}))
	return t
}

// Take takes one of the runtime's profiles. It panics if the runtime's output can't be
// read, which was never seen. A profile of memory is as of the last collection.
func Take(kind string) *decode.Table {
	var buf bytes.Buffer
	_ = pprof.Lookup(kind).WriteTo(&buf, 0) // a buffer takes everything
	t, err := new(decode.Decoder).Bytes(buf.Bytes())
	if err != nil {
		panic(fmt.Sprintf("take a %s profile: %v", kind, err))
	}
	return t
}

// Sampled takes a CPU profile of length d.
func Sampled(ctx context.Context, d time.Duration) (*decode.Table, error) {
	w, err := profiler.Process().Capture(ctx, d)
	if err != nil {
		return nil, err
	}
	return w.Source.Table(new(decode.Decoder))
}

// Totals are what [Gained] subtracts.
func Totals(t *decode.Table) *decode.Totals {
	_, now := t.Sub(nil, len(t.Types))
	return now
}

// Gained is the difference of a cumulative profile and an earlier one of the same kind. A function
// may have less memory in use than before, and has allocated all the same. Records of collected
// objects may also lag by one collection. So values below zero occur, and count as 0.
func Gained(before *decode.Totals, after *decode.Table) *decode.Table {
	t, _ := after.Sub(before, len(after.Types))
	t.DurationNanos = 0
	return WithoutOurs(t)
}

// contention is locked by the check that records contention. The rates are those of the
// whole process, so such checks take turns.
var contention struct {
	sync.Mutex
	test atomic.Pointer[string] // of the check that holds it
}

// RecordContention makes the runtime record all events of mutex or block profiles for a
// check of a test. The function that it returns restores the rates. It waits until no other
// check records contention. It refuses a check within the work of such a check, because
// each would wait for the other.
func RecordContention(test string, mutex, block bool) (restore func(), err error) {
	if !mutex && !block {
		return func() {}, nil
	}
	if holder := contention.test.Load(); holder != nil && (test == *holder || strings.HasPrefix(test, *holder+"/")) {
		return nil, fmt.Errorf("a check of %s with budgets on mutex or block still runs: run such checks one after the other, and none inside another's work", *holder)
	}
	contention.Lock()
	contention.test.Store(&test)
	fraction := -1 // leaves it as it is
	if mutex {
		fraction = runtime.SetMutexProfileFraction(1)
	}
	if block {
		runtime.SetBlockProfileRate(1)
	}
	return func() {
		defer contention.Unlock()
		contention.test.Store(nil)
		runtime.SetMutexProfileFraction(fraction)
		if block {
			runtime.SetBlockProfileRate(0) // the runtime does not tell what it was before
		}
	}, nil
}

// Unrecorded says who has changed what RecordContention has set, "" if nobody has. The runtime tells it of mutexes only.
func Unrecorded() string {
	if n := runtime.SetMutexProfileFraction(-1); n != 1 {
		return fmt.Sprintf("runtime.SetMutexProfileFraction(%d) was called during the check, by work or by other code, so events of mutexes are missing: "+
			"call it before the check, or not in tests", n)
	}
	return ""
}

// Goroutines is the profile of the goroutines with the check's label, without the one that
// calls work, and without what the standard library never ends.
func Goroutines(id string) *decode.Table {
	t := KeepLabelled(Take(kinds.Goroutine), id)
	return t.Filter(func(s *decode.Stack) bool {
		stack := stackOf(t, *s)
		// The first use of os/signal starts a goroutine that serves the whole process.
		return !slices.Contains(stack, workPackage+".(*Worker).run") && !slices.Contains(stack, "os/signal.loop")
	})
}

// AtWork counts the goroutines that run, or could run if there was a core, by their roots: those
// of work, and others without the check's label that may work for it. One in a system call counts as
// waiting: mostly it is.
func AtWork(id string) (own, others map[string]int64) {
	all := Take(kinds.Goroutine)
	t := all.Filter(func(s *decode.Stack) bool {
		stack := stackOf(all, *s)
		return len(stack) > 0 && !hasPrefix(stack[0], "runtime.gopark", "syscall.", "internal/runtime/syscall")
	})
	others = ByRoot(t, id)
	if process.Finalizers() > 0 { // which get no core on a busy machine
		others["runtime.runFinalizers"]++
	}
	return Roots(KeepLabelled(t, id)), others
}

// Roots counts the goroutines of a profile by their roots, without the one that calls work.
func Roots(t *decode.Table) map[string]int64 {
	roots := map[string]int64{}
	for s := range t.Each() {
		stack := stackOf(t, s)
		if root, ok := rootOf(stack); ok && !slices.ContainsFunc(stack, isOurs) {
			roots[root] += s.Values[0]
		}
	}
	return roots
}

// Most returns the goroutines of work now, or those of an earlier look if there are not more
// now.
func Most(before *decode.Table, id string) *decode.Table {
	if now := Goroutines(id); before == nil || now.Count() > before.Count() {
		return now
	}
	return before
}

// Settled waits until the goroutines of work have ended, or until none has ended for d, but no
// longer than d after until. It returns those that are left.
func Settled(id string, d time.Duration, until time.Time) (left *decode.Table) {
	least, since := int64(math.MaxInt64), time.Now()
	for pause := time.Millisecond; ; pause = min(2*pause, 50*time.Millisecond) {
		left = Goroutines(id)
		if n := left.Count(); n < least {
			least, since = n, time.Now()
		}
		if least == 0 || time.Since(since) >= d || time.Now().After(until.Add(d)) {
			return left
		}
		time.Sleep(pause)
	}
}
