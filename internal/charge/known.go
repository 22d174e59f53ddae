package charge

import (
	"slices"
	"strings"

	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/names"
)

// This file has every name that this package knows. No framework is among them.

// A part is what is known about a function by its name.
type part uint16

const (
	// learnt is set for every function that was looked at.
	learnt part = 1 << iota
	// standard functions are of the standard library.
	standard
	// runtimes are of package runtime, or without a package. The runtime is called from
	// everywhere and calls back, so its frames are skipped when callers are looked for.
	runtimes
	// roots call the program's first function of a goroutine: those of the runtime and of
	// testing.
	roots
	// floor functions are charged to their callers, because all programs end in them.
	floor
	// waiting functions are those in which goroutines wait. In profiles of goroutines and
	// of contention they are the leaf of every stack.
	waiting
	// interrupts are put on top of a function by the runtime, or into it by -race. On a busy
	// machine half of a loop's samples were seen in them.
	interrupts
	// generic functions are instances. Their code is placed with the package that uses them.
	generic
	// literal functions are function literals, bodies of range loops over functions, and
	// method values.
	literal
	// ours are the functions of profguard's own goroutines.
	ours
	// network functions read from connections and write to them.
	network
	// serving functions are methods by which types serve the standard library: fmt calls
	// String, encoding/json MarshalJSON, sort Less.
	serving
	// unmatched functions match no pattern.
	unmatched
	// nameless functions have an address for a name, or nothing.
	nameless
	// foreign functions are in no Go package, such as those of C.
	foreign
	// firsts are first functions: see firstFunctions.
	firsts
)

// firstFunctions are those with which the runtime itself starts what may call deep into a
// program. Nothing calls them, so a stack that ends in one is whole. Of all other functions a
// stack may show the calls that the runtime kept.
var firstFunctions = []string{
	"runtime.goexit", "runtime.main", "runtime.mstart", "runtime.corostart", "runtime.runCleanups", "runtime.runFinalizers",
	"runtime.runfinq", "runtime.gcBgMarkWorker",
}

// standardRoots are the first elements of the paths of the standard library, which imports nothing
// outside itself. They are for functions whose files do not tell (see Names.isStandard), and
// those of releases to come are only missed in binaries without the paths of files.
var standardRoots = []string{
	"archive", "arena", "bufio", "builtin", "bytes", "cmp", "compress", "container", "context", "crypto", "database",
	"debug", "embed", "encoding", "errors", "expvar", "flag", "fmt", "go", "hash", "html", "image", "index", "internal",
	"io", "iter", "log", "maps", "math", "mime", "net", "os", "path", "plugin", "reflect", "regexp", "runtime", "simd",
	"slices", "sort", "strconv", "strings", "structs", "sync", "syscall", "testing", "text", "time", "unicode", "unique",
	"unsafe", "uuid", "vendor", "weak",
}

// floorPackages are the runtime, system calls, and the packages that wrap system calls.
// Users can't change these, but they can change the code that calls them.
var floorPackages = []string{
	"runtime", "syscall", "internal/poll", "internal/bytealg", "internal/stringslite", "internal/abi", "internal/chacha8rand",
	"internal/race", "internal/sync", "sync/atomic", "os", "net", "io", "bufio",
}

// floorTrees are such packages with all below them.
var floorTrees = []string{"internal/runtime", "internal/syscall", "golang.org/x/sys"}

// waitingPackages are where goroutines wait, beside the floor.
var waitingPackages = []string{"sync", "time", "os/signal"}

// servingMethods are the methods by which types serve the standard library.
var servingMethods = []string{
	"String", "GoString", "Error", "Format", "Is", "As", "Unwrap", "LogValue", // fmt, errors, log/slog
	"MarshalJSON", "MarshalJSONTo", "UnmarshalJSON", "UnmarshalJSONFrom", "MarshalText", "AppendText", "UnmarshalText",
	"MarshalBinary", "AppendBinary", "UnmarshalBinary", "MarshalXML", "UnmarshalXML", "GobEncode", "GobDecode", // encoding
	"Len", "Less", "Swap", "Push", "Pop", // sort, container/heap
	"Scan", "Value", // database/sql
}

// generatedFiles are the ends of the names that generators give to their files.
var generatedFiles = []string{
	".pb.go", ".pb.gw.go", ".pb.validate.go", ".connect.go", ".gen.go", "_gen.go", "_generated.go", ".generated.go", "_easyjson.go",
	"_ffjson.go", "_string.go", "_enumer.go", "_templ.go", "_vtproto.go", ".sql.go", "_mock.go", "wire_gen.go",
}

// Serves reports whether a function is of generated code, or a method by which a type serves the standard library, which
// has called it. The line that a user can change is further up.
func Serves(name, file, caller string) bool {
	return isGenerated(file) || isServing(name, names.PackageOf(name)) && IsStandard(caller)
}

func isServing(name, pkg string) bool {
	at := strings.LastIndexByte(name, '.')
	return at > len(pkg) && slices.Contains(servingMethods, name[at+1:])
}

func isGenerated(file string) bool {
	return strings.Contains(file, "zz_generated") || slices.ContainsFunc(generatedFiles, func(end string) bool { return strings.HasSuffix(file, end) })
}

// profguard's module, and the prefixes of the functions that its own goroutines run. All
// functions that a go statement starts are among them; a test of package guard checks this.
// Functions of Check and of the debug page are not: they run on goroutines of the host.
const module = "github.com/profguard/profguard/"

var ourPrefixes = [...]string{
	"guard.start.", "guard.(*sink).", "guard.(*Guard).within.", "guard.(*Guard).startDumps.",
	"internal/loop.", "internal/foreign.", "internal/profiler.", "internal/dumps.", "internal/profiles.(*Taker).",
	"internal/export.(*Queue).", "internal/export.(*sender).", "internal/export.(*Tap).show.", "internal/reference.(*Keeper).", "internal/registry.described.",
}

// firstElement is the first element of the path of a function's package.
func firstElement(name string) string {
	path, _, _ := strings.Cut(name, "[") // type arguments have paths of their own
	first, _, cut := strings.Cut(path, "/")
	if !cut { // "fmt.Println": a path of one element
		first, _, _ = strings.Cut(path, ".")
	}
	return first
}

// partsOf tells what is known about a function, by its name, its package, and whether that is
// of the standard library.
func partsOf(name, pkg string, isStandard bool) part {
	var p part
	switch {
	case pkg == "", isCPlusPlus(name), isClone(name):
		p |= standard | runtimes | floor | foreign
	case isStandard:
		p |= standard
		if pkg == "runtime" {
			p |= runtimes | roots
		}
		if slices.Contains(firstFunctions, name) {
			p |= firsts
		}
		if pkg == "testing" {
			p |= roots
		}
		if slices.Contains(waitingPackages, pkg) {
			p |= waiting
		}
	}
	if slices.Contains(floorPackages, pkg) || slices.ContainsFunc(floorTrees, func(tree string) bool {
		return strings.HasPrefix(pkg, tree) && (len(pkg) == len(tree) || pkg[len(tree)] == '/')
	}) {
		p |= floor
	}
	if p&floor != 0 {
		p |= waiting
	}
	if IsInterrupt(name) {
		p = p&^foreign | interrupts | floor | waiting | runtimes
	}
	if isNameless(name) {
		p |= nameless
	}
	if strings.IndexByte(name, '[') >= 0 {
		p |= generic
	}
	if names.IsLiteral(name) {
		p |= literal
	}
	if IsOurs(name) {
		p |= ours
	}
	if p&standard == 0 && isServing(name, pkg) {
		p |= serving
	}
	if strings.HasPrefix(name, "net.(*netFD).") {
		p |= network
	}
	return p
}

// IsInterrupt reports whether the runtime puts the function on top of another one to
// interrupt it, or -race puts it into the code.
func IsInterrupt(name string) bool {
	return name == "runtime.asyncPreempt" || name == "runtime.asyncPreempt2" || IsDetector(name) || IsCheckptr(name)
}

// IsDetector reports whether a function is of the race detector. Its assembly (racecall,
// racefuncenter) has names without a package.
func IsDetector(name string) bool {
	return isCPlusPlus(name) && (strings.Contains(name, "__tsan") || strings.Contains(name, "__sanitizer")) ||
		strings.HasPrefix(name, "__tsan") || strings.HasPrefix(name, "__sanitizer") || strings.HasPrefix(name, "runtime.race") ||
		strings.HasPrefix(name, "race") && !strings.ContainsAny(name, "./")
}

// isCPlusPlus reports whether a name is of C++. Some of these have a dot
// (_ZN6__tsan3fooEv.part.0) that does not end a package.
func isCPlusPlus(name string) bool { return strings.HasPrefix(name, "_Z") }

// isClone reports whether a C compiler made the function of another one: its name,
// "do_exit.isra.0", has a dot that does not end a package.
func isClone(name string) bool {
	for _, mark := range [...]string{".isra.", ".part.", ".constprop.", ".lto_priv.", ".llvm."} {
		if _, number, found := strings.Cut(name, mark); found && number != "" && strings.Trim(number, "0123456789") == "" {
			return true
		}
	}
	return false
}

// isNameless reports whether a text stands in the place of a name that is not known: nothing,
// a file in brackets or <unknown> as the decoder writes it, or an address, as it is in profiles
// of programs without symbols: 0x4a2b10, 7f3a10c2, shop+0x2b10, shop!0x2b10, ??.
func isNameless(name string) bool {
	digits := strings.TrimPrefix(name, "0x")
	at := strings.LastIndex(name, "0x")
	switch {
	case strings.Trim(name, " ?") == "", name[0] == '[', name[0] == '<', strings.Trim(name, "()") == "unknown":
		return true
	case at > 0 && strings.IndexByte("+!@`", name[at-1]) >= 0:
		return true
	case strings.Trim(digits, "0123456789abcdefABCDEF") == "":
		return digits != name || '0' <= name[0] && name[0] <= '9'
	}
	return false
}

// IsCheckptr reports whether a function is one of the checks of unsafe pointers that -race
// puts into the code. They call functions of the runtime.
func IsCheckptr(name string) bool { return strings.HasPrefix(name, "runtime.checkptr") }

// IsOurs reports whether a function is run by profguard's own goroutines, or by the
// runtime's goroutine that writes CPU profiles.
func IsOurs(name string) bool {
	if name == "runtime/pprof.profileWriter" {
		return true
	}
	rest, found := strings.CutPrefix(name, module)
	return found && slices.ContainsFunc(ourPrefixes[:], func(prefix string) bool { return strings.HasPrefix(rest, prefix) })
}

// callsHost is the function through which profguard calls code of the program, and sinks are the
// methods that call sinks through it: what is done in a sink counts as the program's. What is
// done to read counters of work is only done for profguard.
const callsHost, sinks = module + "internal/foreign.Call", module + "guard.(*sink)."

// WithoutOwn returns a profile of memory or contention without the samples of profguard's own
// goroutines, unless they run a sink (see callsHost). In a process that only
// computes, taking profiles makes nearly all allocations, and the guard would name itself.
// CPU profiles do not need this: in a busy process the guard's share is too small to matter.
func WithoutOwn(t *decode.Table) *decode.Table {
	return t.Filter(func(s *decode.Stack) bool {
		ours, call, sink := false, false, false
		for _, at := range s.Locations {
			for _, line := range t.Lines[t.Locations[at].LineLo:t.Locations[at].LineHi] {
				name := t.Symbols.Name(line.Name)
				ours, call, sink = ours || IsOurs(name), call || name == callsHost, sink || strings.HasPrefix(name, sinks)
			}
		}
		return !ours || call && sink
	})
}

// IsStandard reports whether a function is of the standard library, as far as its name tells.
func IsStandard(name string) bool {
	return partsOf(name, names.PackageOf(name), slices.Contains(standardRoots, firstElement(name)))&standard != 0
}
