package guard

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/google/pprof/profile"
)

// mergeBatch is how many parsed windows are in memory at a time. Each takes
// about a megabyte.
const mergeBatch = 16

// mergeWindows makes one profile of what prepare leaves of several windows.
func mergeWindows(windows [][]byte, prepare func(*profile.Profile)) (*profile.Profile, error) {
	var batch []*profile.Profile
	for i, data := range windows {
		p, err := profile.ParseData(data)
		if err != nil {
			return nil, fmt.Errorf("parse window %d of %d: %w", i+1, len(windows), err)
		}
		prepare(p)
		batch = append(batch, p)
		if len(batch) < mergeBatch && i < len(windows)-1 {
			continue
		}
		sum, err := profile.Merge(batch)
		if err != nil {
			return nil, fmt.Errorf("merge %d windows: %w", len(windows), err)
		}
		batch = append(batch[:0], sum)
	}
	if len(batch) == 0 {
		return nil, errors.New("merge windows: there are none")
	}
	return batch[0], nil
}

// keepWork drops what is not the work of the check with that id, and takes its
// label off the rest.
func keepWork(p *profile.Profile, id string) {
	keepLabelled(p, id)
	dropOverhead(p)
	resume(p)
}

// keepLabelled drops what does not belong to the check with that id.
func keepLabelled(p *profile.Profile, id string) {
	p.Sample = slices.DeleteFunc(p.Sample, func(s *profile.Sample) bool {
		if !slices.Contains(s.Label[checkLabel], id) {
			return true
		}
		delete(s.Label, checkLabel)
		return false
	})
}

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

// isLoop knows the functions that call work.
func isLoop(name string) bool {
	return name == guardPackage+".runWork" || name == guardPackage+".Checker.runNamed"
}

// isOverhead reports whether a stack, the leaf first, is of Check's own code
// around work and not of work: of the loop that calls it, of what that asks
// whether to go on, of what the runtime does in the middle of those; and of the
// race detector.
func isOverhead(stack []string) bool {
	if len(stack) > 0 && isDetector(stack[0]) || slices.ContainsFunc(stack, isCheckptr) {
		return true
	}
	for i, name := range stack {
		if !isLoop(name) {
			continue
		}
		if i == 0 {
			return true
		}
		called := stack[i-1]
		for _, ours := range []string{guardPackage + ".startWorker", "sync/atomic.", "testing.(*B).", "runtime.", "internal/runtime/"} {
			if strings.HasPrefix(called, ours) {
				return true
			}
		}
		return false
	}
	// Without the loop it is a goroutine that work has started, or the way to the loop.
	return slices.ContainsFunc(stack, func(name string) bool {
		return strings.HasPrefix(name, guardPackage+".startWorker.") || strings.HasPrefix(name, guardPackage+".(*checkRun).")
	})
}

// dropOverhead drops the samples that are not work's.
func dropOverhead(p *profile.Profile) {
	p.Sample = slices.DeleteFunc(p.Sample, func(s *profile.Sample) bool { return isOverhead(stackOf(s)) })
}

// resume takes off what the runtime put on top of functions to interrupt them:
// budget.Trial does the same, and whoever reads the profile looks for the work.
func resume(p *profile.Profile) {
	for _, s := range p.Sample {
		for len(s.Location) > 1 && isInterrupt(s.Location[0]) {
			s.Location = s.Location[1:]
		}
	}
}

func isInterrupt(l *profile.Location) bool {
	return !slices.ContainsFunc(l.Line, func(line profile.Line) bool {
		return line.Function == nil || !strings.HasPrefix(line.Function.Name, "runtime.asyncPreempt")
	})
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
	return p, nil
}

// withoutOurs drops what profguard itself did beside work: taking profiles
// allocates, and waiting for work blocks.
func withoutOurs(p *profile.Profile) {
	p.Sample = slices.DeleteFunc(p.Sample, func(s *profile.Sample) bool {
		ours := false
		for _, l := range s.Location {
			for _, line := range l.Line {
				if line.Function == nil {
					continue
				}
				name := line.Function.Name
				if isLoop(name) {
					return false
				}
				ours = ours || strings.HasPrefix(name, guardPackage+".(*checkRun)") || strings.HasPrefix(name, guardPackage+".startWorker") ||
					strings.HasPrefix(name, hubPackage+".") || name == "runtime/pprof.profileWriter" ||
					strings.HasPrefix(name, "testing.(*") || strings.HasPrefix(name, "testing.runTests") || name == "testing.tRunner.func1"
			}
		}
		return ours
	})
}

const (
	guardPackage = "github.com/profguard/profguard/guard"
	hubPackage   = "github.com/profguard/profguard/internal/hub"
)
