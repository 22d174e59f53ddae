package work

import (
	"slices"
	"strings"

	"github.com/profguard/profguard/internal/charge"
	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/names"
)

const (
	workPackage  = "github.com/profguard/profguard/internal/work"
	checkPackage = "github.com/profguard/profguard/internal/check"
)

// stackOf names the functions of a sample, the leaf first. One without symbols has the name "".
func stackOf(t *decode.Table, s decode.Stack) (stack []string) {
	for _, l := range s.Locations {
		for _, line := range t.Lines[t.Locations[l].LineLo:t.Locations[l].LineHi] {
			name := t.Symbols.Name(line.Name)
			if hasPrefix(name, "[", "<unknown>") { // a made-up one
				name = ""
			}
			stack = append(stack, name)
		}
	}
	return stack
}

// isLoop reports whether a function is the loop that calls work.
func isLoop(name string) bool { return name == workPackage+".(*Worker).loop" }

// workOf returns the number of functions of a stack, the leaf first, that belong to work:
// those above the loop that calls it, and all of them without a loop, on a goroutine that
// work has started. The lowest function of a stack is not judged, and its callee is the
// entry point. So below a function with a name the loop is kept, and below a function
// literal it is removed, because the literal's callee says what is being run. It returns 0
// for stacks that do not belong to work: the loop itself, its callee that decides whether to
// go on, the runtime's functions within these, the race detector, and the requests and
// recorders with which a test calls a handler.
func workOf(stack []string) int {
	i := slices.IndexFunc(stack, isLoop)
	switch {
	case isBeside(stack), i < 0 && slices.ContainsFunc(stack, isOurs), i == 0:
		return 0
	case i < 0:
		return len(stack)
	}
	switch work := stack[i-1]; {
	case hasPrefix(work, workPackage+".(*Worker).", "sync/atomic.", "testing.(*B).", "runtime.", "internal/runtime/"):
		return 0
	case names.IsLiteral(work):
		return i
	}
	return i + 1
}

func hasPrefix(name string, prefixes ...string) bool {
	return slices.ContainsFunc(prefixes, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
}

// isOurs reports whether a function is part of the check itself, and not of work.
func isOurs(name string) bool {
	return hasPrefix(name, workPackage+".(*Worker).", checkPackage+".(*run).", checkPackage+".newRun")
}

// isBeside reports whether a stack within a call of work does not belong to it: the race
// detector, the making of the request and the recorder that a handler is called with, and
// what the recorder does to keep the answer. A server would write that to a connection.
func isBeside(stack []string) bool {
	return len(stack) > 0 && charge.IsDetector(stack[0]) || slices.ContainsFunc(stack, func(name string) bool {
		return charge.IsCheckptr(name) || hasPrefix(name, "net/http/httptest.New", "net/http/httptest.(*ResponseRecorder).")
	})
}

// rootOf returns the function that a goroutine without the check's label began with, and not one
// that starts goroutines for any purpose, nor those of the runtime that call finalizers, cleanups
// and callbacks of C code. ok is false if the goroutine cannot work for the check: those of
// tests, of the runtime and of profguard. A stack with the loop is work that has replaced
// the check's label by others.
func rootOf(stack []string) (root string, ok bool) {
	if i := slices.IndexFunc(stack, isLoop); i >= 0 {
		return stack[max(i-1, 0)], workOf(stack) > 0
	}
	for _, root = range slices.Backward(stack) {
		if !hasPrefix(root, "sync.(*WaitGroup).", "golang.org/x/sync/errgroup.", "runtime/pprof.Do", "runtime.", "internal/runtime/", "_cgoexp_") {
			break
		}
	}
	if root == externalCode {
		return root, true
	}
	return root, root != "" && stack[len(stack)-1] != "runtime.main" && !slices.ContainsFunc(stack, isOurs) &&
		!charge.IsOurs(root) && !hasPrefix(root, "runtime.", "runtime/pprof.", "internal/runtime/", "testing.")
}

// externalCode stands for a thread that C code has started.
const externalCode = "runtime._ExternalCode"

// isInterrupt reports whether the runtime has put the location on top of a function to
// interrupt it. On an overloaded machine most samples of a loop were seen in such locations
// (64% at a load average near 30 on two cores). A budget on the runtime would fail because
// of the load.
func isInterrupt(t *decode.Table, location int32) bool {
	l := t.Locations[location]
	return !slices.ContainsFunc(t.Lines[l.LineLo:l.LineHi], func(line decode.Line) bool { return !charge.IsInterrupt(t.Symbols.Name(line.Name)) })
}
