package charge

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/profguard/profguard/internal/pattern"
)

func TestParts(t *testing.T) {
	for name, want := range map[string]part{
		"runtime.mallocgc":                     standard | runtimes | roots | floor | waiting,
		"runtime/pprof.writeHeap":              standard,
		"runtime/pprof.Do":                     standard,
		"internal/runtime/maps.newTable":       standard | floor | waiting,
		"internal/poll.(*FD).Read":             standard | floor | waiting,
		"golang.org/x/sys/unix.Syscall":        floor | waiting,
		"golang.org/x/system.Call":             0,
		"os.(*File).Write":                     standard | floor | waiting,
		"os/exec.(*Cmd).Run":                   standard,
		"net.(*conn).Read":                     standard | floor | waiting,
		"net.(*netFD).Read":                    standard | floor | waiting | network,
		"net/http.(*conn).serve":               standard,
		"sync.(*Mutex).Lock":                   standard | waiting,
		"time.Sleep":                           standard | waiting,
		"vendor/golang.org/x/net/idna.ToASCII": standard,
		"golang.org/x/net/idna.ToASCII":        0,
		"testing.tRunner":                      standard | roots,
		"slices.SortFunc[go.shape.[]int]":      standard | generic,
		"slices.SortStableFunc[go.shape.[]internal/fmtsort.KeyValue,go.shape.struct { example.com/a.Key reflect.Value }]": standard | generic,
		"example.com/lo.Map[go.shape.string]": generic,
		"memeqbody":                           standard | runtimes | floor | waiting | foreign,
		"do_exit.isra.0":                      standard | runtimes | floor | waiting | foreign,
		"main.part.func1":                     literal,
		"main.init.0":                         0,
		"main.main":                           0,
		"main.init.func1":                     literal,
		"main.f-range1":                       literal,
		"main.(*T).m-fm":                      literal,
		"main.f.gowrap1":                      0,
		"shop/db.Get":                         0,
		"github.com/profguard/profguard/guard.(*looper).wait":  ours,
		"github.com/profguard/profguard/guard.TestRun":         0,
		"example.com/profguard/profguard/guard.(*looper).wait": 0,
		"runtime.asyncPreempt":                                 standard | runtimes | roots | floor | waiting | interrupts,
		"_ZN6__tsanL14MemoryRangeSetEmmNS_9RawShadowE.part.0":  standard | runtimes | floor | waiting | interrupts,
		"__tsan_read": standard | runtimes | floor | waiting | interrupts,
	} {
		if got := partsOf(name, pattern.PackageOf(name)); got != want {
			t.Errorf("%s: %b, want %b", name, got, want)
		}
	}
}

// TestNameless: what stands in the place of a name is none, and names that look like it are.
func TestNameless(t *testing.T) {
	for name, want := range map[string]bool{
		"": true, " ": true, "??": true, "<unknown>": true, "[libc.so.6]": true, "[[vdso]]": true, "[unknown]": true,
		"0x4a2b10": true, "0xabcdef": true, "7f3a10c2": true, "shop+0x2b10": true,
		"main.main": false, "add": false, "facade": false, "9fans.net/go/acme.Open": false, "memeqbody": false, "core::hot": false,
		"type:.eq.main.T": false, "main.F[go.shape.int]": false, "0x": true,
	} {
		if got := isNameless(name); got != want {
			t.Errorf("%q: nameless %t, want %t", name, got, want)
		}
	}
}

// TestStandardRoots compares the list with the toolchain's standard library.
func TestStandardRoots(t *testing.T) {
	out, err := exec.Command("go", "list", "std").Output()
	if err != nil {
		t.Fatal("go list std:", err)
	}
	for pkg := range strings.FieldsSeq(string(out)) {
		first, _, _ := strings.Cut(pkg, "/")
		if !slices.Contains(standardRoots, first) {
			t.Errorf("%s is of the standard library, and %s is not listed", pkg, first)
		}
	}
	packages := strings.Fields(string(out))
	for _, pkg := range slices.Concat(floorPackages, waitingPackages) {
		if !slices.Contains(packages, pkg) {
			t.Errorf("%s is no package of the standard library", pkg)
		}
	}
}

func TestIsOurs(t *testing.T) {
	for name, want := range map[string]bool{
		"github.com/profguard/profguard/guard.start.func2":                    true,
		"github.com/profguard/profguard/guard.(*Guard).within.func1":          true,
		"github.com/profguard/profguard/internal/profiler.(*Hub).run":         true,
		"github.com/profguard/profguard/internal/profiles.(*Taker).Now.func1": true,
		"runtime/pprof.profileWriter":                                         true,
		"github.com/profguard/profguard/guard.runWork":                        false,
		"github.com/profguard/profguardian/guard.(*sink).run":                 false,
		"main.main": false,
		"":          false,
	} {
		if got := IsOurs(name); got != want {
			t.Errorf("%q: %v, want %v", name, got, want)
		}
	}
}

// A try on a long name costs as much as on many short ones.
func TestCostOfLongNames(t *testing.T) {
	p, err := pattern.Parse("/x+y/")
	if err != nil {
		t.Fatal(err)
	}
	n := NewNames(pattern.NewIndex([]*pattern.Pattern{p}))
	n.packageIDs, n.moduleIDs, n.parts, n.pkg, n.matches = map[string]int32{}, map[string]int32{}, make([]part, 2), make([]int32, 2), make([]span, 2)
	n.learnName(0, "main.f", "")
	short := n.cost
	n.learnName(1, "main."+strings.Repeat("x", 100*longName), "")
	if short != 1 || n.cost < 100 {
		t.Errorf("a short name costs %d, a long one %d", short, n.cost-short)
	}
}
