package scaffold

import (
	"strings"

	"github.com/profguard/profguard/internal/pattern"
)

// Parked reports whether a function is among those in which goroutines wait:
// the runtime's own, and the few through which the standard library enters it.
// In a goroutine profile they are at the top of every stack and say how a
// goroutine waits, not what it is.
func Parked(name string) bool {
	switch name {
	case "time.Sleep", "sync.(*Cond).Wait", "sync.(*WaitGroup).Wait":
		return true
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
