package work_test

import (
	"strings"
	"testing"

	. "github.com/profguard/profguard/internal/work"
)

// What runs around work is not work's: Check's loop, and the race detector. Work begins
// above the loop.
func TestWorkOf(t *testing.T) {
	const g = WorkPackage + "."
	for stack, want := range map[string]int{
		g + "(*Worker).loop " + g + "(*Worker).run.func3":                                         0,
		g + "(*Worker).run.func3.2.1 " + g + "(*Worker).loop " + g + "(*Worker).run.func3":        0,
		"sync/atomic.(*Int64).Add " + g + "(*Worker).loop " + g + "(*Worker).run.func3":           0,
		"runtime.asyncPreempt " + g + "(*Worker).loop " + g + "(*Worker).run.func3":               0,
		"testing.(*B).Loop " + g + "(*Worker).loop " + CheckPackage + ".(*run).benchmark.func3":   0,
		"runtime.chanrecv " + g + "(*Worker).run.func3":                                           0,
		"shop.TestIt.func1 " + g + "(*Worker).loop " + g + "(*Worker).run.func3":                  1,
		"sync/atomic.AddInt64 shop.TestIt.func1 " + g + "(*Worker).loop " + g + "(*Worker).run.f": 2,
		"runtime.mallocgc shop.serve " + g + "(*Worker).loop " + g + "(*Worker).run.f":            3,
		"shop.worker shop.TestIt.func1.1":                                                         2,
		"__tsan_read shop.serve shop.TestIt.func1 " + g + "(*Worker).loop":                        0,
		"__tsan_write": 0,
		"runtime.racefuncenter shop.serve shop.TestIt.func1 " + g + "(*Worker).loop":                                   0,
		"runtime.memmove shop.serve shop.TestIt.func1 " + g + "(*Worker).loop":                                         3,
		"bufio.NewReader net/http/httptest.NewRequestWithContext shop.serve shop.TestIt.func1 " + g + "(*Worker).loop": 0,
		"bytes.(*Buffer).Write net/http/httptest.(*ResponseRecorder).Write shop.serve " + g + "(*Worker).loop":         0,
		"encoding/json.Marshal shop.serve " + g + "(*Worker).loop":                                                     3,
	} {
		if got := WorkOf(strings.Fields(stack)); got != want {
			t.Errorf("WorkOf(%s) = %d, want %d", stack, got, want)
		}
	}
}

// The function a goroutine began with says whose it is.
func TestRootOf(t *testing.T) {
	const g = WorkPackage + "."
	for stack, want := range map[string]string{ // the leaf first
		"regexp.compile shop.handle net/http.(*conn).serve":                                                 "net/http.(*conn).serve",
		"shop.work shop.TestIt.func1 sync.(*WaitGroup).Go.func1":                                            "shop.TestIt.func1",
		"shop.work shop.(*pool).run runtime/pprof.Do":                                                       "shop.(*pool).run",
		"shop.work shop.TestOther testing.tRunner":                                                          "",
		"runtime.scanobject runtime.gcBgMarkWorker":                                                         "",
		"runtime.futex runtime.mcall":                                                                       "",
		"runtime/pprof.(*profileBuilder).build runtime/pprof.profileWriter":                                 "",
		"runtime.mallocgc shop.finalize runtime.runFinalizers":                                              "shop.finalize",
		"shop.work shop.goWork _cgoexp_0123_goWork runtime.cgocallbackg runtime.cgocallback":                "shop.goWork",
		"deflate runtime._ExternalCode":                                                                     "deflate",
		"runtime._ExternalCode":                                                                             "runtime._ExternalCode",
		"shop.setUp main.main runtime.main":                                                                 "",
		"compress/flate.deflate github.com/profguard/profguard/internal/loop.(*Loop).Run":                   "",
		"encoding/json.Marshal github.com/profguard/profguard/internal/profiler.(*Hub).run":                 "",
		"shop.price shop.TestIt.func1 " + g + "(*Worker).loop " + g + "(*Worker).run.func3":                 "shop.TestIt.func1",
		"sync/atomic.(*Int64).Add " + g + "(*Worker).loop " + g + "(*Worker).run.func3":                     "",
		"runtime.chanrecv " + g + "(*Worker).run.func3":                                                     "",
		"shop.total " + CheckPackage + ".(*cpuPhase).take " + CheckPackage + ".(*run).freely shop.on.func1": "",
		"runtime.mallocgc " + CheckPackage + ".newRun " + CheckPackage + ".newRun shop.on.func1":            "",
		"": "",
	} {
		if got, ok := RootOf(strings.Fields(stack)); ok != (want != "") || ok && got != want {
			t.Errorf("RootOf(%s) = %s, %t; want %q", stack, got, ok, want)
		}
	}
}
