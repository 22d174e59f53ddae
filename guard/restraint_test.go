package guard

import (
	"fmt"
	"testing"
)

// What the guard says that it costs is what a process costs in which nothing else
// happens, within a factor of four: half of it is an estimate, of what the runtime
// does in signal handlers and in goroutines of its own, and on a machine that is
// overloaded everything costs more. It has three tries.
func TestOwnCostIsTrue(t *testing.T) {
	if testing.Short() {
		t.Skip("measures CPU for seconds")
	}
	needProfiler(t)
	for range 3 {
		out, err := child(t, "cost")
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		var says, with, without float64
		if _, err := fmt.Sscan(out, &says, &with, &without); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		is := with - without
		t.Logf("two windows: says %.1f ms, is %.1f ms", says/1000, is/1000)
		if says >= is/4 && says <= is*4 {
			return
		}
	}
	t.Error("what the guard says of its cost is not true")
}
