package process

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// arguments are the program's. Later os.Args may be assigned to by others.
var arguments = os.Args

// TestFlag reports whether one of go test's flags was given, by its name without "test.", with
// a value other than "" and false.
//
// Package flag is not used: it has no locks, so that reading flags while the program declares
// or parses its own is a data race, and it would be linked into every program with a guard.
func TestFlag(name string) bool { return testFlag(arguments, name) }

// testFlag looks for the flag as package flag would: the last one counts.
func testFlag(args []string, name string) (given bool) {
	for i := 1; i < len(args) && args[i] != "--"; i++ {
		flag, value, is := strings.Cut(args[i], "=")
		if flag == "-test."+name || flag == "--test."+name {
			on, err := strconv.ParseBool(value)
			given = !is || value != "" && (on || err != nil)
		}
	}
	return given
}

// IsTest reports whether the program is one that go test has built.
func IsTest() bool { return isTest(arguments) }

func isTest(args []string) bool {
	if len(args) == 0 {
		return false
	}
	name := strings.TrimSuffix(filepath.Base(args[0]), ".exe")
	if strings.HasSuffix(name, ".test") {
		return true
	}
	for _, arg := range args[1:] {
		if strings.HasPrefix(arg, "-test.") || strings.HasPrefix(arg, "--test.") {
			return true
		}
	}
	return false
}
