package work

import (
	"slices"
	"strings"

	"github.com/google/pprof/profile"

	"github.com/profguard/profguard/internal/charge"
)

const (
	workPackage     = "github.com/profguard/profguard/internal/work"
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
func isLoop(name string) bool { return name == workPackage+".(*Worker).loop" }

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
	for _, ours := range []string{workPackage + ".(*Worker).", "sync/atomic.", "testing.(*B).", "runtime.", "internal/runtime/"} {
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
	return strings.HasPrefix(name, workPackage+".(*Worker).") || strings.HasPrefix(name, checkPackage+".(*run).") || name == checkPackage+".newRun"
}

// isBeside knows what is done beside work, within its calls: by the race detector, and by
// a test that makes the request and the recorder that a handler is called with.
func isBeside(stack []string) bool {
	return len(stack) > 0 && charge.IsDetector(stack[0]) || slices.ContainsFunc(stack, func(name string) bool {
		return charge.IsCheckptr(name) || strings.HasPrefix(name, "net/http/httptest.New")
	})
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
		profilerPackage + ".", guardPackage + ".(*", guardPackage + ".start.", workPackage + ".(*Worker).",
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
// near 30 on two cores), and a budget on the runtime would blame it for what others do to
// the machine.
func isInterrupt(l *profile.Location) bool {
	return !slices.ContainsFunc(l.Line, func(line profile.Line) bool {
		return line.Function == nil || !charge.IsInterrupt(line.Function.Name)
	})
}
