package guard_test

import (
	"context"
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/guard"
)

// printed stands in for the *testing.T, which an example has not.
type printed struct{ failed bool }

func (p *printed) Helper()             {}
func (p *printed) Name() string        { return "TestCheckout" }
func (p *printed) Logf(string, ...any) {}
func (p *printed) Errorf(format string, args ...any) {
	p.failed = true
	fmt.Println(fmt.Sprintf(format, args...))
}
func (p *printed) FailNow()                         { p.failed = true; runtime.Goexit() }
func (p *printed) Failed() bool                     { return p.failed }
func (p *printed) Skipf(format string, args ...any) { fmt.Printf(format, args...); runtime.Goexit() }
func (p *printed) Skipped() bool                    { return false }

// What a test says that its code may cost. In a test, t is its *testing.T.
func ExampleCheck() {
	t := new(printed)
	guard.Check(t, budget.Must(
		"process below 1KiB per call of allocs",
		"fmt.Sprintf absent of allocs",
		"no goroutine leaked",
	), func(ctx context.Context) {
		checkout(ctx)
	})
	fmt.Println("failed:", t.failed)
	// Output: failed: false
}

// Of work that does several things in a call, each has its price.
func ExampleChecker() {
	t := new(printed)
	var lines atomic.Int64 // it is read while work runs
	guard.Checker{
		Max:  time.Minute,
		Work: map[string]func() float64{"line": func() float64 { return float64(lines.Load()) }},
	}.Check(t, budget.Must("process below 1KiB per line of allocs"), func(ctx context.Context) {
		for range 10 {
			checkout(ctx)
			lines.Add(1)
		}
	})
	fmt.Println("failed:", t.failed)
	// Output: failed: false
}

// A check that compares with a saved profile, and writes it under -update.
func ExampleChecker_baseline() {
	update := false // a flag: go test -update
	TestCheckout := func(t *testing.T) {
		guard.Checker{
			Max:          time.Minute,
			BaselineFile: "testdata/checkout.pprof",
			Update:       update,
		}.Check(t, budget.Must("no function grows above 5 points"), checkout)
	}
	_ = TestCheckout
}

// checkout is what the examples check.
func checkout(context.Context) { order = append([]byte(nil), make([]byte, 500)...) }

var order []byte
