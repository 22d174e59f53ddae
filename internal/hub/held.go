package hub

import (
	"flag"
	"os"
	"strings"
)

// HeldByTest reports whether this is a test binary that runs with -cpuprofile:
// the testing package then holds the profiler from before the first test until
// after the last. The hub yields, and answers [Busy] without trying; otherwise a
// guard that TestMain starts would take the profiler first, and the profile that
// the person asked for would be an empty file.
func HeldByTest() bool {
	return heldByTest(flag.CommandLine, os.Args)
}

// heldByTest looks the flag up by name instead of importing testing, which would
// add its flags to production programs.
func heldByTest(flags *flag.FlagSet, args []string) bool {
	f := flags.Lookup("test.cpuprofile")
	switch {
	case f == nil:
		return false // not a test binary
	case flags.Parsed():
		return f.Value.String() != ""
	}
	// In TestMain before m.Run, the flags are registered but not yet parsed.
	for _, arg := range args {
		name := strings.TrimPrefix(strings.TrimPrefix(arg, "-"), "-")
		if name != arg && (name == "test.cpuprofile" || strings.HasPrefix(name, "test.cpuprofile=")) {
			return true
		}
	}
	return false
}
