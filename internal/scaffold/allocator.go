package scaffold

import (
	"slices"
	"strings"
)

// allocators are how the names of the runtime's functions begin that allocate because
// a program says so. Most profiles of memory leave them out, but not on stacks that
// are the runtime's own, such as those on which goroutines are made.
var allocators = [...]string{
	"mallocgc", "newobject", "newarray", "makeslice", "growslice", "makechan", "makemap", "mapassign", "convT",
	"rawstring", "rawbyteslice", "rawruneslice", "concatstring", "slicebytetostring", "stringtoslicebyte",
	"persistentalloc", "(*mheap).alloc", "(*mcache).", "(*mcentral).", "profilealloc", "deductAssistCredit",
}

// Allocates reports whether a function is the runtime's allocator: in a profile of
// memory it has everything, and says of nothing whose it is.
func Allocates(name string) bool {
	rest, found := strings.CutPrefix(name, "runtime.")
	return found && slices.ContainsFunc(allocators[:], func(prefix string) bool { return strings.HasPrefix(rest, prefix) })
}
