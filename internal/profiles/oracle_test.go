package profiles

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/pprof/profile"

	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/kinds"
)

// sums adds the first two values of samples up by stack, lines included, of those
// that a function of the tests' load is on. The rest of the process (this test, the
// taker itself) does not stand still between two profiles.
func sums(p *profile.Profile, functions ...string) map[string][2]int64 {
	m := map[string][2]int64{}
	for _, s := range p.Sample {
		var stack strings.Builder
		ours := false
		for _, l := range s.Location {
			fmt.Fprintf(&stack, "%x", l.Address)
			for _, line := range l.Line {
				fmt.Fprintf(&stack, " %s:%d", line.Function.Name, line.Line)
				for _, f := range functions {
					ours = ours || strings.HasSuffix(line.Function.Name, "/profiles."+f)
				}
			}
			stack.WriteByte('\n')
		}
		fmt.Fprint(&stack, s.NumLabel["bytes"])
		if ours && s.Value[1] != 0 {
			v := m[stack.String()]
			m[stack.String()] = [2]int64{v[0] + s.Value[0], v[1] + s.Value[1]}
		}
	}
	return m
}

// minus is what google/pprof makes of the difference, as with go tool pprof -base.
func minus(t *testing.T, after, before *profile.Profile) *profile.Profile {
	t.Helper()
	before.Scale(-1)
	p, err := profile.Merge([]*profile.Profile{after, before})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// The numbers of windows are those of runtime/pprof, subtracted by google/pprof.
func TestOracle(t *testing.T) {
	tests := []struct {
		kind      string
		work      func()
		functions []string
	}{
		{kinds.Allocs, func() {
			serve(func() { allocate(1000, 3000) })
			serve(func() { allocate(100, 70_000) })
			deep(60, func() { allocate(100, 5000) })
			sites(300)
		}, []string{"allocate", "fork"}},
		{kinds.Mutex, func() { contend(300) }, []string{"quarrel"}},
		{kinds.Block, func() { pingpong(300); contend(50) }, []string{"play", "quarrel"}},
	}
	for _, tt := range tests {
		t.Run(tt.kind, func(t *testing.T) {
			taker := newTaker(t, runtimeSource{})
			runtime.SetBlockProfileRate(1)
			defer runtime.SetBlockProfileRate(0)
			defer runtime.SetMutexProfileFraction(runtime.SetMutexProfileFraction(1))

			tt.work() // so that there is something to subtract
			for round := range 2 {
				publish()
				begin(t, taker, tt.kind)
				before := runtimeProfile(t, tt.kind)
				// Whether goroutines meet at a lock is the scheduler's doing: until they do.
				for range 100 {
					tt.work()
					publish()
					before := before.Copy()
					if len(sums(minus(t, runtimeProfile(t, tt.kind), before), tt.functions...)) > 0 {
						break
					}
				}
				got := parsed(t, take(t, taker, tt.kind).Bytes())
				want := sums(minus(t, runtimeProfile(t, tt.kind), before), tt.functions...)
				if len(want) == 0 {
					t.Fatal("the oracle has nothing to compare with")
				}
				if diff := cmp.Diff(want, sums(got, tt.functions...)); diff != "" {
					t.Errorf("round %d: growth (-runtime/pprof +taken):\n%s", round, diff)
				}
			}
		})
	}
}

// States are runtime/pprof's bytes.
func TestOracleOfStates(t *testing.T) {
	held := hold(100, 10_000)
	publish()
	park(t, 50, wait)
	taker := newTaker(t, runtimeSource{})
	for kind, function := range map[string]string{kinds.Heap: "hold", kinds.Goroutine: "wait"} {
		column := func(p *profile.Profile) (n int64) {
			for _, s := range p.Sample {
				for _, l := range s.Location {
					if strings.HasSuffix(l.Line[0].Function.Name, "/profiles."+function) {
						n += s.Value[len(s.Value)-1]
						break
					}
				}
			}
			return n
		}
		for kind == kinds.Goroutine && column(runtimeProfile(t, kind)) < 50 {
			time.Sleep(time.Millisecond) // some have started, and do not wait yet
		}
		got := parsed(t, take(t, taker, kind).Bytes())
		want := runtimeProfile(t, kind)
		if column(got) != column(want) || column(want) == 0 {
			t.Errorf("%s has %d in %s, runtime/pprof says %d", kind, column(got), function, column(want))
		}
	}
	runtime.KeepAlive(held)
}

// Stacks reach to the goroutine's bottom frame, which the runtime's own records
// cut off: that is why they are not used.
func TestWholeStacks(t *testing.T) {
	taker := newTaker(t, runtimeSource{})
	publish()
	begin(t, taker, kinds.Allocs)
	deep(60, func() { allocate(200, 9000) })
	publish()
	var d decode.Decoder
	table, err := d.Bytes(take(t, taker, kinds.Allocs).Bytes())
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range table.Samples {
		stack := table.Stacks[s.StackLo:s.StackHi]
		depth, allocates := 0, false
		for _, l := range stack {
			name := table.Symbols.Name(table.Lines[table.Locations[l].LineLo].Name)
			depth++
			allocates = allocates || strings.HasSuffix(name, "/profiles.allocate")
		}
		root := table.Locations[stack[len(stack)-1]]
		if name := table.Symbols.Name(table.Lines[root.LineHi-1].Name); allocates && (depth < 60 || name != "testing.tRunner") {
			t.Errorf("a stack of %d frames ends at %s, want testing.tRunner", depth, name)
		}
	}
	// The offender: what the records make of it.
	records := make([]runtime.MemProfileRecord, 100_000)
	n, _ := runtime.MemProfile(records, true)
	cut := false
	for _, r := range records[:n] {
		if stack := r.Stack(); len(stack) == len(r.Stack0) {
			cut = true
		}
	}
	if !cut {
		t.Error("runtime.MemProfile has no stack of 32 frames: it could be used after all")
	}
}
