package hub

import (
	"flag"
	"testing"
	"testing/synctest"
	"time"
)

func TestFault_08_HeldByTest(t *testing.T) {
	tests := []struct {
		name       string
		registered bool
		parsed     bool
		args       []string
		want       bool
	}{
		{name: "no test binary", args: []string{"-test.cpuprofile=x"}},
		{name: "not asked for", registered: true, parsed: true},
		{name: "asked for", registered: true, parsed: true, args: []string{"-test.cpuprofile=x"}, want: true},
		{name: "asked for, in TestMain", registered: true, args: []string{"-test.v", "-test.cpuprofile=x"}, want: true},
		{name: "in two words, in TestMain", registered: true, args: []string{"--test.cpuprofile", "x"}, want: true},
		{name: "not asked for, in TestMain", registered: true, args: []string{"-test.v", "-test.cpuprofilerate=1", "test.cpuprofile=x"}},
	}
	for _, test := range tests {
		flags := flag.NewFlagSet("", flag.ContinueOnError)
		if test.registered {
			flags.String("test.cpuprofile", "", "")
		}
		if test.parsed {
			if err := flags.Parse(test.args); err != nil {
				t.Fatal(err)
			}
		}
		if got := heldByTest(flags, test.args); got != test.want {
			t.Errorf("%s: %t, want %t", test.name, got, test.want)
		}
	}
}

func TestFault_08_HubYields(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeProfiler{}
		held := true
		h := newHub(f, &fakeClocks{}, func() bool { return held })
		w, err := h.Capture(t.Context(), time.Second)
		if w.Outcome != Busy || w.Reason != reasonHeld || err == nil || len(f.starts) != 0 {
			t.Errorf("%v: %s, %d starts", w.Outcome, w.Reason, len(f.starts))
		}
		held = false
		if _, err := h.Capture(t.Context(), time.Second); err != nil {
			t.Error(err)
		}
	})
}
