// Package waiting is for tests of the nested modules, which wait more than they
// compute: for windows to pass, for servers to start, for the profiler to be free.
package waiting

import (
	"flag"
	"testing"
	"time"
)

// patience is for what takes seconds, and on a crowded machine a minute, or two when
// the guard leaves the profiler alone in between.
const patience = 4 * time.Minute

// Until waits until cond holds.
func Until(t testing.TB, what string, cond func() bool) {
	t.Helper()
	deadline := time.After(patience)
	poll := time.NewTicker(20 * time.Millisecond)
	defer poll.Stop()
	for !cond() {
		select {
		case <-poll.C:
		case <-deadline:
			t.Fatalf("waited in vain for %s", what)
		}
	}
}

// Together runs the tests, so many of those side by side that ask for it, however few
// cores there are. It is the body of a TestMain.
func Together(m *testing.M, most string) int {
	flag.Parse()
	if err := flag.Set("test.parallel", most); err != nil {
		panic(err) // most is a constant
	}
	return m.Run()
}
