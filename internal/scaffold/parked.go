package scaffold

import (
	"slices"
	"strings"

	"github.com/profguard/profguard/internal/pattern"
)

// Parked reports whether a function is among those in which goroutines wait:
// the runtime's own, and the few through which the standard library enters it.
// In a goroutine profile they are at the top of every stack and say how a
// goroutine waits, not what it is. So are profguard's own goroutines: whoever
// counts the program's is not to be told of those of the counter.
func Parked(name string) bool {
	switch name {
	case "time.Sleep", "sync.(*Cond).Wait", "sync.(*WaitGroup).Wait", "runtime/pprof.profileWriter":
		return true
	}
	if rest, found := strings.CutPrefix(name, ours); found {
		return slices.ContainsFunc(own[:], func(prefix string) bool { return strings.HasPrefix(rest, prefix) })
	}
	pkg := pattern.PackageOf(name)
	switch pkg {
	case "runtime", "internal/poll", "internal/sync", "syscall", "os/signal":
		return true
	case "sync", "time", "os", "net", "reflect":
		// Linknamed from the runtime: sync.runtime_notifyListWait.
		return strings.Contains(name, ".runtime_")
	}
	return strings.HasPrefix(pkg, "internal/runtime/")
}

// own are the functions that profguard's goroutines are in; what Check and the
// debug page do for others is not among them.
var own = [...]string{
	"guard.(*Guard).loop", "guard.(*looper).", "guard.(*kindTaker).", "guard.(*sink).", "guard.(*counter).",
	"guard.start.", "guard.call", "guard.(*Guard).shutDown",
	"internal/hub.", "internal/dump.", "internal/kinds.(*Taker).",
}
