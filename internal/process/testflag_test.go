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
		want       string
	}{
		{"with a sign", "fuzz", []string{"p.test", "-test.fuzz=x"}, "x"},
		{"in two words", "fuzz", []string{"p.test", "-test.v", "--test.fuzz", "x"}, "x"},
		{"the last one counts", "fuzz", []string{"p.test", "-test.fuzz=", "-test.fuzz=x"}, "x"},
		{"taken back", "fuzz", []string{"p.test", "-test.fuzz=x", "-test.fuzz="}, ""},
		{"of another name", "fuzz", []string{"p.test", "-test.fuzztime=1s", "test.fuzz=x", "-fuzz=x"}, ""},
		{"without a value", "fuzz", []string{"p.test", "-test.fuzz"}, ""},
		{"after the flags", "fuzz", []string{"p.test", "--", "-test.fuzz=x"}, ""},
		{"the program's own name", "fuzz", []string{"-test.fuzz=x"}, ""},
		{"nothing at all", "fuzz", nil, ""},
		{"switched on", "short", []string{"p.test", "-test.short", "-test.v"}, "true"},
		{"switched on by a number", "short", []string{"p.test", "-test.short=1"}, "true"},
		{"switched off", "short", []string{"p.test", "-test.short", "-test.short=false"}, "false"},
	} {
		if got := testFlag(tt.args, tt.flag); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

// What is read from the arguments is what package flag has.
func TestTestFlagOfThisTest(t *testing.T) {
	for _, name := range []string{"short", "cpuprofile", "mutexprofile", "blockprofile", "fuzz"} {
		want := flag.Lookup("test." + name).Value.String()
		if got := TestFlag(name); got != want && (got != "" || want != "false") {
			t.Errorf("%s: %q, want %q; the arguments are %q", name, got, want, os.Args)
		}
	}
}
