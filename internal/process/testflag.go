package process

import (
	"os"
	"strconv"
	"strings"
)

// arguments are the program's. Later os.Args may be assigned to by others.
var arguments = os.Args

// TestFlag returns the value of one of go test's flags, by its name without "test.". It is ""
// if the flag was not given, and "true" or "false" for a boolean flag.
//
// Package flag is not used: it has no locks, so that reading flags while the program declares
// or parses its own is a data race, and it would be linked into every program with a guard.
func TestFlag(name string) string { return testFlag(arguments, name) }

// testFlag looks for the flag as package flag would: the last one counts.
func testFlag(args []string, name string) (value string) {
	for i := 1; i < len(args) && args[i] != "--"; i++ {
		flag, given, is := strings.Cut(args[i], "=")
		switch {
		case flag != "-test."+name && flag != "--test."+name:
		case is:
			value = given
		case switches[name]:
			value = "true"
		case i+1 < len(args):
			value = args[i+1]
		}
	}
	if on, err := strconv.ParseBool(value); err == nil && switches[name] {
		return strconv.FormatBool(on) // of -short=1
	}
	return value
}

// switches are the flags that need no value, among those that are asked for.
var switches = map[string]bool{"short": true, "fuzzworker": true, "artifacts": true}
