package peerbench

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/http/pprof"
	"os"
	"os/exec"
	"runtime"
	runtimepprof "runtime/pprof"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/pprof/profile"
	"github.com/grafana/pyroscope-go"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/guard"
	"github.com/profguard/profguard/internal/waiting"
)

// A guard that finds the profiler taken leaves it alone for a minute, so each of
// these tests takes a little longer than that, and they run beside each other.

// TestMain lets all of them do that, whatever the number of cores.
func TestMain(m *testing.M) { os.Exit(waiting.Together(m, "3")) }

// TestBesideNetHTTPPprof: somebody asks /debug/pprof for a profile, which gets
// what it would have got alone. The guard's window is lost and counted, and once
// the profiler is free it goes on.
func TestBesideNetHTTPPprof(t *testing.T) {
	if !apart(t) {
		return
	}
	rest := burn(t)
	delays := measureDelays(t)
	server := httptest.NewServer(http.HandlerFunc(pprof.Profile))
	t.Cleanup(server.Close)
	const seconds = 4
	answer := make(chan []byte, 1)
	go func() {
		resp, err := http.Get(server.URL + "?seconds=" + strconv.Itoa(seconds))
		if err != nil {
			answer <- nil
			return
		}
		defer resp.Body.Close()
		data, _ := io.ReadAll(resp.Body)
		answer <- data
	}()
	// The handler sleeps once it has the profiler. Looking at stacks disturbs
	// nothing, as asking for the profiler would.
	stacks := make([]byte, 1<<20)
	waiting.Until(t, "the profiler to be taken", func() bool {
		return bytes.Contains(stacks[:runtime.Stack(stacks, true)], []byte("net/http/pprof.sleep"))
	})
	g := start(t)
	waiting.Until(t, "a window to be lost", func() bool { return g.Status().Windows["busy"] > 0 })
	lost := time.Now()
	for _, b := range g.Status().Budgets {
		if b.Result.Verdict != budget.Inconclusive || b.Result.Reason == "" {
			t.Errorf("%s: %v of a lost window: %q", b.Name, b.Result.Verdict, b.Result.Reason)
		}
	}
	data := <-answer
	p, err := profile.Parse(bytes.NewReader(data))
	if err != nil {
		t.Fatalf("their profile: %v: %.100q", err, data)
	}
	if err := whole(p, seconds*time.Second, delays()); err != nil {
		t.Error(err)
	}
	rest()
	judgesAgain(t, g, lost)
}

// TestBesidePyroscope: pyroscope-go stops whatever profile there is when it
// starts its own, and then profiles all the time. The guard loses windows, never
// spoils a profile, and goes on when pyroscope has ended.
func TestBesidePyroscope(t *testing.T) {
	if !apart(t) {
		return
	}
	rest := burn(t)
	delays := measureDelays(t)
	sink := &uploads{t: t}
	server := httptest.NewServer(sink)
	t.Cleanup(server.Close)
	g := start(t)
	waiting.Until(t, "a good window", func() bool { return g.Status().Windows["ok"] > 0 })

	const rate = 5 * time.Second // long beside what a starved machine takes off
	peer, err := pyroscope.Start(pyroscope.Config{
		ApplicationName: "peer", ServerAddress: server.URL, UploadRate: rate,
		ProfileTypes: []pyroscope.ProfileType{pyroscope.ProfileCPU},
	})
	if err != nil {
		t.Fatal(err)
	}
	waiting.Until(t, "a window to be lost", func() bool { return g.Status().Windows["busy"]+g.Status().Windows["stolen"] > 0 })
	lost := time.Now()
	waiting.Until(t, "their profiles", func() bool { return len(sink.all()) >= 3 })
	if err := peer.Stop(); err != nil {
		t.Error(err)
	}
	t.Logf("windows: %v", g.Status().Windows)
	for _, u := range sink.all() {
		if err := whole(u.profile, u.length, delays()); err != nil {
			t.Error(err)
		}
	}
	rest()
	judgesAgain(t, g, lost)
}

// late is what a profile may fall short of its time on a starved machine, where
// the runtime's goroutine that notes its start is late. Measured with pyroscope
// alone and beside a guard, in turns, under six spinning processes on two cores:
// 48 profiles each, short by 0.05 and 0.04 s (median), 0.71 and 0.29 s (most).
const late = 1200 * time.Millisecond

// measureDelays begins to add up how much later than they should goroutines of this
// process wake. On a machine with more to do than that, profiles are later as well.
func measureDelays(t *testing.T) (total func() time.Duration) {
	var sum atomic.Int64
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		const nap, usual = 10 * time.Millisecond, 20 * time.Millisecond
		for ctx.Err() == nil {
			start := time.Now()
			time.Sleep(nap)
			if took := time.Since(start); took > nap+usual {
				sum.Add(int64(took - nap))
			}
		}
	})
	t.Cleanup(func() {
		cancel()
		running.Wait()
	})
	return func() time.Duration { return time.Duration(sum.Load()) }
}

// whole returns an error unless a profile covers the time that it is meant for,
// and has samples of a goroutine that burns through it, on a machine that was
// late by so much.
func whole(p *profile.Profile, want, delays time.Duration) error {
	got := time.Duration(p.DurationNanos)
	if got < want*9/10-late-delays || got > want*11/10+late+delays {
		return fmt.Errorf("their profile covers %v, want %v on a machine that is late by %v", got, want, delays)
	}
	var cpu int64
	for _, s := range p.Sample {
		cpu += s.Value[1]
	}
	// Of two cores that six others want, a goroutine that burned all the time got 0.08 at
	// the least. This one wants a part of that.
	least := want / 50
	if delays > late {
		least = 1 // there is no telling what it gets
	}
	if want > 2*time.Second && time.Duration(cpu) < least {
		return fmt.Errorf("their profile of %v has %v of CPU, one goroutine burned again and again", got, time.Duration(cpu))
	}
	return nil
}

// TestWholeFires: a profile that somebody stops half way is not whole, and one
// that nobody stops is.
func TestWholeFires(t *testing.T) {
	t.Parallel() // the others are in processes of their own
	burn(t)
	const want = 4 * time.Second
	for _, stop := range []time.Duration{want / 2, want} {
		var b bytes.Buffer
		if err := runtimepprof.StartCPUProfile(&b); err != nil {
			t.Fatal(err)
		}
		<-time.After(stop)
		runtimepprof.StopCPUProfile()
		p, err := profile.Parse(&b)
		if err != nil {
			t.Fatal(err)
		}
		if err := whole(p, want, 0); (err == nil) != (stop == want) {
			t.Errorf("stopped after %v of %v: %v", stop, want, err)
		}
	}
}

// almost is the most of the minute for which a guard that has lost a window leaves the
// profiler alone. Nobody looks until then.
const almost = 55 * time.Second

// judgesAgain waits for a good window with a verdict. There is something to see again when
// the guard is about to look. Status.Next does not tell when that is: it is when windows
// without the profiler are due as well.
func judgesAgain(t *testing.T, g *guard.Guard, lost time.Time) {
	t.Helper()
	before := g.Status()
	waiting.Until(t, "the minute to be almost over", func() bool { return time.Since(lost) > almost })
	burn(t)
	waiting.Until(t, "a good window, with the profiler free again", func() bool { return g.Status().Windows["ok"] > before.Windows["ok"] })
	waiting.Until(t, "a verdict", func() bool {
		b := g.Status().Budgets[0]
		return b.Verdicts["fail"] > before.Budgets[0].Verdicts["fail"]
	})
	t.Logf("windows: %v", g.Status().Windows)
}

// apart runs a test in a process of its own, for a process has one profiler and one
// guard, and reports whether this is that process.
func apart(t *testing.T) bool {
	t.Helper()
	const variable = "PEERBENCH_TEST"
	switch {
	case os.Getenv(variable) == t.Name():
		return true
	case testing.Short():
		t.Skip("takes more than a minute")
	}
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.v", "-test.timeout", "9m", "-test.run", "^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), variable+"="+t.Name())
	out, err := cmd.CombinedOutput()
	t.Logf("%s", out)
	if err != nil {
		t.Errorf("in a process of its own: %v", err)
	}
	return false
}

// start starts a guard without pauses, whose budget fails in every good window.
func start(t *testing.T) *guard.Guard {
	t.Helper()
	g, err := guard.Start(guard.Config{
		Every: 2 * time.Second, Window: 2 * time.Second,
		Registerer: prometheus.NewRegistry(),
		Logger:     slog.New(slog.NewTextHandler(io.Discard, nil)),
		Budgets:    budget.Must("hot: peerbench.hot below 5%"),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Stop)
	return g
}

// burn uses a fifth of a core or more, which is what it takes to be seen in each window,
// until rest is called or the test ends.
func burn(t *testing.T) (rest func()) {
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		for ctx.Err() == nil {
			for range 3 {
				hot()
			}
			select {
			case <-ctx.Done():
			case <-time.After(10 * time.Millisecond):
			}
		}
	})
	rest = func() {
		cancel()
		running.Wait()
	}
	t.Cleanup(rest)
	return rest
}

//go:noinline
func hot() {
	data := make([]byte, 64<<10)
	for range 20 {
		sha256.Sum256(data)
	}
}

// uploads is the other end of pyroscope: it keeps the profiles.
type uploads struct {
	t    *testing.T
	mu   sync.Mutex
	kept []upload
}

// upload is a profile, and the time that pyroscope says it covers: its period,
// or up to twice that when its timer and its clock disagree.
type upload struct {
	profile *profile.Profile
	length  time.Duration
}

func (u *uploads) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	file, _, err := r.FormFile("profile")
	if err != nil {
		u.t.Errorf("upload: %v", err)
		return
	}
	defer file.Close()
	p, err := profile.Parse(file)
	if err != nil {
		u.t.Errorf("upload: %v", err)
		return
	}
	from, err1 := strconv.ParseInt(r.FormValue("from"), 10, 64)
	until, err2 := strconv.ParseInt(r.FormValue("until"), 10, 64)
	if err := errors.Join(err1, err2); err != nil {
		u.t.Errorf("upload: %v", err)
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.kept = append(u.kept, upload{p, time.Duration(until - from)})
}

func (u *uploads) all() []upload {
	u.mu.Lock()
	defer u.mu.Unlock()
	return slices.Clone(u.kept)
}
