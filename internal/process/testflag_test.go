package process

import (
	"flag"
	"os"
	"testing"
)

func TestTestFlag(t *testing.T) {
	for _, tt := range []struct {
		name, flag string
		args       []string
		want       bool
	}{
		{"with a sign", "fuzz", []string{"p.test", "-test.fuzz=x"}, true},
		{"in two words", "fuzz", []string{"p.test", "-test.v", "--test.fuzz", "x"}, true},
		{"the last one counts", "fuzz", []string{"p.test", "-test.fuzz=", "-test.fuzz=x"}, true},
		{"taken back", "fuzz", []string{"p.test", "-test.fuzz=x", "-test.fuzz="}, false},
		{"of another name", "fuzz", []string{"p.test", "-test.fuzztime=1s", "test.fuzz=x", "-fuzz=x"}, false},
		{"after the flags", "fuzz", []string{"p.test", "--", "-test.fuzz=x"}, false},
		{"the program's own name", "fuzz", []string{"-test.fuzz=x"}, false},
		{"nothing at all", "fuzz", nil, false},
		{"switched on", "short", []string{"p.test", "-test.short", "-test.v"}, true},
		{"switched on by a number", "short", []string{"p.test", "-test.short=1"}, true},
		{"switched off", "short", []string{"p.test", "-test.short", "-test.short=false"}, false},
	} {
		if got := testFlag(tt.args, tt.flag); got != tt.want {
			t.Errorf("%s: %t, want %t", tt.name, got, tt.want)
		}
	}
}

// What is read from the arguments is what package flag has.
func TestTestFlagOfThisTest(t *testing.T) {
	for _, name := range []string{"short", "cpuprofile", "mutexprofile", "blockprofile", "fuzz"} {
		value := flag.Lookup("test." + name).Value.String()
		if got, want := TestFlag(name), value != "" && value != "false"; got != want {
			t.Errorf("%s: %t, want %t; the arguments are %q", name, got, want, os.Args)
		}
	}
}
