package guard

import (
	"fmt"
	"os"
	"runtime"
	"runtime/pprof"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/folded"
	"github.com/profguard/profguard/internal/kinds"
	"github.com/profguard/profguard/internal/profiles"
)

// leaks is a profile of the runtime: these stacks, and n samples without a frame.
func leaks(stacks string, n int) []byte {
	p := folded.Must("goroutineleak\n" + stacks)
	for range n {
		p.Sample = append(p.Sample, &profile.Sample{Value: []int64{1}})
	}
	return packed(p)
}

// A leak fires in the first window. A main goroutine in "select {}", which the runtime counts with
// the leaks, does not.
func TestLeak(t *testing.T) {
	for _, test := range []struct {
		name, stacks string
		state        State
		offender     string
	}{
		{"none", "", StateOK, ""},
		{"one", "main.serve.func1;main.answer;runtime.gopark 1\n", StateFiring, "main.serve.func1"},
	} {
		t.Run(test.name, func(t *testing.T) {
			bubble(t, func(t *testing.T, w *world) {
				w.profile = func(string) (profiles.Profile, error) {
					return profiles.Profile{Source: decode.Source{Data: leaks(test.stacks, 1)}}, nil
				}
				g := w.start(t, Config{Budgets: budget.Must("no goroutine leaked", "fmt.Println below 20%")})
				pass(15 * second)
				b := g.Status().Budgets[0]
				offender := ""
				if b.Offender != nil {
					offender = b.Offender.Function
				}
				if b.State != test.state || offender != test.offender {
					t.Errorf("%s, offender %q: %s", b.State, offender, b.Result)
				}
				g.Stop()
			})
		})
	}
}

// The profile of leaks runs a garbage collection. While a budget is pending, windows follow each
// other closely, and there is one such profile a period still. Where collections take long, there
// are fewer.
func TestLeaksAreCollectedOncePerPeriod(t *testing.T) {
	for _, test := range []struct {
		collecting, lasts time.Duration
		least, most       int // profiles
	}{
		{0, 3 * minute, 3, 4},
		{time.Second, 10 * minute, 2, 3}, // of which one in 200 seconds is half a percent of a core
	} {
		bubble(t, func(t *testing.T, w *world) {
			taken := 0
			w.profile = func(kind string) (profiles.Profile, error) {
				if kind == kinds.GoroutineLeak {
					taken++
				}
				return profiles.Profile{Source: decode.Source{Data: leaks("", 0)}, Cost: test.collecting}, nil
			}
			g := w.start(t, Config{Budgets: budget.Must("leak: no goroutine leaked", "main.work below 70%")})
			pass(test.lasts)
			g.Stop()
			if n := len(w.windows()); n < 9 {
				t.Errorf("%d windows: none was pending, so the test proves nothing", n)
			}
			if taken < test.least || taken > test.most {
				t.Errorf("collections of %v: %d profiles in %d windows, want %d to %d", test.collecting, taken, len(w.windows()), test.least, test.most)
			}
		})
	}
}

// Profiles of very many goroutines pause the process, so there are fewer the longer they take, and
// a window has one of goroutines, or none.
func TestFault_91_GoroutineProfiles(t *testing.T) {
	for _, test := range []struct {
		cost        time.Duration
		least, most int // profiles in ten minutes
	}{
		{3 * time.Millisecond, 250, 360}, // of 1,000 goroutines: in each window
		{30 * time.Millisecond, 70, 100}, // of 10,000: in one of three
		{300 * time.Millisecond, 9, 10},  // on a slow machine
	} {
		bubble(t, func(t *testing.T, w *world) {
			taken := 0
			w.profile = func(kind string) (profiles.Profile, error) {
				if kind == kinds.Goroutine {
					taken++
				}
				return profiles.Profile{Source: decode.Source{Data: packed(folded.Must("goroutine\nruntime.goexit;main.serve;runtime.gopark 10\n"))}, Cost: test.cost}, nil
			}
			g := w.start(t, Config{Budgets: budget.Must("no function above 500 of goroutine"), Every: 2 * second, Window: second})
			pass(10 * minute)
			if r := g.Status().Budgets[0].Result; r.Verdict != budget.Pass {
				t.Errorf("%v a profile: %s", test.cost, r)
			}
			g.Stop()
			if spent := time.Duration(taken) * test.cost; taken < test.least || taken > test.most || spent > 10*minute/180 {
				t.Errorf("%v a profile: %d profiles in ten minutes, want %d to %d", test.cost, taken, test.least, test.most)
			}
		})
	}
}

// With the runtime's own profile: the main goroutine of these processes waits in "select {}", and
// one of them has a leak.
func TestRealLeak(t *testing.T) {
	if pprof.Lookup(kinds.GoroutineLeak) == nil {
		t.Skip("SKIPPED: this runtime has no profile of leaks: Go 1.27 has")
	}
	needProfiler(t)
	for role, want := range map[string]string{
		"waits": "ok pass 0 goroutines blocked for ever\n",
		"leaks": "firing fail 1 goroutine blocked for ever; guard.forget.func1 at its go statement: true\n",
	} {
		if out, err := child(t, role); err != nil || !strings.HasSuffix(out, want) {
			t.Errorf("%s: %v\n%s\nwant %s", role, err, out, want)
		}
	}
}

//go:noinline
func forget() (line int) {
	_, _, line, _ = runtime.Caller(0)
	go func() { // in the line below
		replyTo(make(chan int))
	}()
	return line + 1
}

//go:noinline
func replyTo(ch chan int) { ch <- 1 }

// playLeaks prints what a guard says of leaks, and ends the process. There is one whose go statement
// is in a line, unless that is 0.
func playLeaks(line int) {
	g, err := Start(newWorld().quiet(Config{Budgets: budget.Must("no goroutine leaked"), Window: second, Every: second}))
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	for g.Status().Budgets[0].Verdicts["pass"]+g.Status().Budgets[0].Verdicts["fail"] < 2 {
		<-time.After(100 * time.Millisecond)
	}
	b := g.Status().Budgets[0]
	text := fmt.Sprint(b.State, " ", b.Result.Verdict, " ", b.Result.Reason)
	if b.Offender != nil {
		text += fmt.Sprintf("; %s at its go statement: %t", strings.TrimPrefix(b.Offender.Function, "github.com/profguard/profguard/"), b.Offender.Line == line)
	}
	fmt.Println(text)
	os.Exit(0)
}
