package check

import (
	"bytes"
	"fmt"
	"maps"
	"runtime/pprof"
	"slices"
	"strings"

	"github.com/google/pprof/profile"

	"github.com/profguard/profguard/internal/charge"
)

const (
	checkPackage    = "github.com/profguard/profguard/internal/check"
	guardPackage    = "github.com/profguard/profguard/guard"
	profilerPackage = "github.com/profguard/profguard/internal/profiler"
)

// stackOf names the functions of a sample, the leaf first.
func stackOf(s *profile.Sample) []string {
	var stack []string
	for _, l := range s.Location {
		for _, line := range l.Line {
			if line.Function != nil {
				stack = append(stack, line.Function.Name)
			}
		}
	}
	return stack
}

// isLoop knows the function that calls work.
func isLoop(name string) bool { return name == checkPackage+".runWork" }

// workOf returns how many functions of a stack, the leaf first, are work's: those above
// the loop that calls it, and all where there is no loop, on a goroutine that work has
// started. The lowest of them is not judged itself, and what it calls is the entry
// point. So the loop stays below a function with a name, and is taken off a literal,
// whose callee says what is being run. It returns 0 for what is no part of work: the
// loop, what that asks whether to go on, what the runtime does in the middle of those,
// the race detector, and what a test makes to call a handler with.
func workOf(stack []string) int {
	i := slices.IndexFunc(stack, isLoop)
	switch {
	case isBeside(stack), i < 0 && slices.ContainsFunc(stack, isOurs), i == 0:
		return 0
	case i < 0:
		return len(stack)
	}
	work := stack[i-1]
	for _, ours := range []string{checkPackage + ".startWorker", "sync/atomic.", "testing.(*B).", "runtime.", "internal/runtime/"} {
		if strings.HasPrefix(work, ours) {
			return 0
		}
	}
	if isLiteral(work) {
		return i
	}
	return i + 1
}

// isLiteral knows a function literal by its name: func1, or 2 of func1.2.
func isLiteral(name string) bool {
	last := name[strings.LastIndexByte(name, '.')+1:]
	return strings.HasSuffix(name, "-fm") || strings.Trim(strings.TrimPrefix(last, "func"), "0123456789") == ""
}

// isOurs knows what a check does itself: the way to the loop, and what decides.
func isOurs(name string) bool {
	return strings.HasPrefix(name, checkPackage+".startWorker.") || strings.HasPrefix(name, checkPackage+".(*run).")
}

// isBeside knows what is done beside work, within its calls: by the race detector, and by
// a test that makes the request and the recorder that a handler is called with.
func isBeside(stack []string) bool {
	return len(stack) > 0 && charge.IsDetector(stack[0]) || slices.ContainsFunc(stack, func(name string) bool {
		return charge.IsCheckptr(name) || strings.HasPrefix(name, "net/http/httptest.New")
	})
}

// keepLabelled drops what does not belong to one of some checks, by their ids, and takes
// the label off the rest.
func keepLabelled(p *profile.Profile, ids ...string) {
	p.Sample = slices.DeleteFunc(p.Sample, func(s *profile.Sample) bool {
		id := s.Label[label]
		delete(s.Label, label)
		return len(id) == 0 || !slices.Contains(ids, id[0])
	})
}

// byRoot is what a profile has without a check's label, if it may be work's doing all the
// same. The root of each stack stands in the place of the label.
func byRoot(p *profile.Profile) *profile.Profile {
	out := &profile.Profile{SampleType: p.SampleType, PeriodType: p.PeriodType, Period: p.Period,
		Location: p.Location, Function: p.Function, Mapping: p.Mapping}
	for _, s := range p.Sample {
		root, ok := rootOf(stackOf(s))
		if !ok || len(s.Label[label]) > 0 {
			continue
		}
		labels := map[string][]string{label: {root}}
		maps.Copy(labels, s.Label)
		out.Sample = append(out.Sample, &profile.Sample{Location: s.Location, Value: s.Value, Label: labels, NumLabel: s.NumLabel, NumUnit: s.NumUnit})
	}
	cutToWork(out)
	return out.Compact()
}

// cutToWork cuts each stack off where work begins, drops those that are not work's, and
// takes off what the runtime put on top of functions to interrupt them. It returns how many
// samples were of the loop that calls work.
func cutToWork(p *profile.Profile) (loop int64) {
	p.Sample = slices.DeleteFunc(p.Sample, func(s *profile.Sample) bool {
		stack := stackOf(s)
		keep := workOf(stack)
		if keep == 0 && !isBeside(stack) {
			loop += s.Value[0]
		}
		for i, l := range s.Location {
			if keep <= 0 {
				s.Location = s.Location[:i]
				break
			}
			keep -= len(l.Line)
		}
		for len(s.Location) > 1 && isInterrupt(s.Location[0]) {
			s.Location = s.Location[1:]
		}
		return len(s.Location) == 0
	})
	return loop
}

// rootOf names the function that a goroutine without a check's label began with, if
// what it does may be work's doing all the same. A test's own goroutine is not, nor are
// the runtime's and profguard's. On top of the loop is work that has put other labels
// in the place of the check's.
func rootOf(stack []string) (root string, ok bool) {
	if i := slices.IndexFunc(stack, isLoop); i >= 0 {
		return stack[max(i-1, 0)], workOf(stack) > 0
	}
	for i := len(stack) - 1; i >= 0; i-- {
		root = stack[i]
		if !isAnyStart(root) {
			break
		}
	}
	for _, prefix := range []string{
		"runtime.", "runtime/pprof.", "internal/runtime/", "testing.",
		profilerPackage + ".", guardPackage + ".(*", guardPackage + ".start.", checkPackage + ".startWorker.",
	} {
		if strings.HasPrefix(root, prefix) {
			return "", false
		}
	}
	return root, root != "" && !slices.ContainsFunc(stack, isOurs)
}

// isAnyStart knows functions that goroutines begin with whatever they are for.
func isAnyStart(name string) bool {
	return strings.HasPrefix(name, "sync.(*WaitGroup).") || strings.HasPrefix(name, "golang.org/x/sync/errgroup.") ||
		name == "runtime/pprof.Do" || name == "runtime/pprof.Do.func1"
}

// isInterrupt knows what the runtime puts on top of a function to interrupt it. On a
// machine that is overloaded most samples of a loop were seen there (64% at a load average
// near 30 on two cores), and a budget on flat shares would blame the runtime for what
// others do to the machine.
func isInterrupt(l *profile.Location) bool {
	return !slices.ContainsFunc(l.Line, func(line profile.Line) bool {
		return line.Function == nil || !charge.IsInterrupt(line.Function.Name)
	})
}

// withoutOurs drops what profguard itself did beside work, in a profile without labels:
// taking profiles allocates, and waiting for work blocks. Stacks begin where work does.
func withoutOurs(p *profile.Profile) {
	p.Sample = slices.DeleteFunc(p.Sample, func(s *profile.Sample) bool {
		stack := stackOf(s)
		return !slices.ContainsFunc(stack, isLoop) && slices.ContainsFunc(stack, func(name string) bool {
			return isOurs(name) || strings.HasPrefix(name, profilerPackage+".") || name == "runtime/pprof.profileWriter" ||
				strings.HasPrefix(name, "testing.(*") || strings.HasPrefix(name, "testing.runTests") || name == "testing.tRunner.func1"
		})
	})
	cutToWork(p)
}

// runtimeProfile takes one of the runtime's profiles.
func runtimeProfile(kind string) (*profile.Profile, error) {
	lookup := pprof.Lookup(kind)
	if lookup == nil {
		return nil, fmt.Errorf("take a %s profile: the runtime has none", kind)
	}
	var buf bytes.Buffer
	if err := lookup.WriteTo(&buf, 0); err != nil {
		return nil, fmt.Errorf("take a %s profile: %w", kind, err)
	}
	p, err := profile.Parse(&buf)
	if err != nil {
		return nil, fmt.Errorf("take a %s profile: %w", kind, err)
	}
	return p, nil
}

// goroutineProfile is the profile of the goroutines that carry the check's
// label, but for the one that calls work.
func goroutineProfile(id string) (*profile.Profile, error) {
	p, err := runtimeProfile("goroutine")
	if err != nil {
		return nil, err
	}
	keepLabelled(p, id)
	p.Sample = slices.DeleteFunc(p.Sample, func(s *profile.Sample) bool {
		return slices.Contains(stackOf(s), checkPackage+".startWorker.func1")
	})
	return p, nil
}

// samplesIn adds up the first value of each sample, which counts them.
func samplesIn(p *profile.Profile) (n int64) {
	for _, s := range p.Sample {
		n += s.Value[0]
	}
	return n
}

// gained is what a cumulative profile has more than an earlier one of the same
// kind.
func gained(before, after *profile.Profile) (*profile.Profile, error) {
	minus := before.Copy()
	minus.Scale(-1)
	p, err := profile.Merge([]*profile.Profile{after, minus})
	if err != nil {
		return nil, fmt.Errorf("compare two profiles: %w", err)
	}
	// Records of collected objects may lag by one; less than nothing was not gained.
	p.Sample = slices.DeleteFunc(p.Sample, func(s *profile.Sample) bool {
		return slices.ContainsFunc(s.Value, func(v int64) bool { return v < 0 }) || !slices.ContainsFunc(s.Value, func(v int64) bool { return v > 0 })
	})
	p.DurationNanos = 0
	withoutOurs(p)
	return p, nil
}
