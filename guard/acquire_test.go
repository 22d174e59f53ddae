package guard

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/profguard/profguard/internal/dumps"
	"github.com/profguard/profguard/internal/webtest"
)

// inUse is what processes have in a directory of dumps that use it, or have left dumps:
// a folder for each.
func inUse(t *testing.T, dir string) []string {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(dir, "profguard", "profguard-*"))
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// A disk that hangs when its directory is opened costs the dumps, and neither the
// host's start nor Stop. When it comes to, there are dumps.
func TestFault_24_StartOnAHungDisk(t *testing.T) {
	const x = "x: fmt.Println below 20% for 1 windows"
	bubble(t, func(t *testing.T, w *world) {
		w.take = story("gggggggb")
		let := make(chan struct{})
		w.openDir = func(dir string, keep dumps.Keep, report func(dumps.Outcome)) (*dumps.Store, error) {
			<-let
			return dumps.Open(dir, keep, report)
		}
		before := time.Now()
		g := w.start(t, dumping(t, x))
		if d := time.Since(before); d != startWithin {
			t.Errorf("Start took %v, want %v", d, startWithin)
		}
		pass(55 * second)
		if s := g.Status(); !strings.Contains(s.Reason, "dumps off: opening DumpDir has not returned within 1s") || s.Windows["ok"] < 5 {
			t.Errorf("reason %q, windows %v", s.Reason, s.Windows)
		}
		if text := webtest.Body(t, webtest.Ask(g.Handler(), "GET", "/dumps.json")); !strings.Contains(text, "state says why") {
			t.Errorf("the page says %q", text)
		}
		wantEvents(t, w, EventDegraded)
		close(let)
		pass(30 * second)
		s := g.Status()
		if s.Reason != "" || s.Dumps["saved"] != 1 || len(saved(t, g)) != 1 {
			t.Errorf("when the disk has come to: reason %q, dumps %v", s.Reason, s.Dumps)
		}
		g.Stop()
	})
}

// What is wrong with a directory may show late: it is told then, too, and tried again.
func TestUnusableDumpDirShowsLate(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		var tries atomic.Int32
		w.openDir = func(dir string, _ dumps.Keep, _ func(dumps.Outcome)) (*dumps.Store, error) {
			if tries.Add(1) == 1 {
				time.Sleep(10 * second)
			}
			return nil, &fs.PathError{Op: "mkdir", Path: dir, Err: fs.ErrPermission}
		}
		g := w.start(t, dumping(t, "portlist absent"))
		wantEvents(t, w, EventDegraded)
		pass(20 * second)
		wantEvents(t, w, EventDegraded, EventDegraded)
		if s := g.Status(); !strings.Contains(s.Reason, "dumps off: mkdir") || tries.Load() != 2 {
			t.Errorf("reason %q, %d tries", s.Reason, tries.Load())
		}
		g.Stop()
	})
}

// TestFault_12_StartWithoutADumpDir: what the machine refuses when the guard starts costs the dumps, and
// not the host's start. It is an event, a metric and a line of the status, and is tried again after a pause
// that grows. When it works, the state goes, and there are dumps.
func TestFault_12_StartWithoutADumpDir(t *testing.T) {
	for _, refused := range []error{
		fmt.Errorf("make the folder: %w", &fs.PathError{Op: "mkdir", Path: "/var/x", Err: syscall.ENOSPC}),
		&fs.PathError{Op: "mkdir", Path: "/var/x", Err: syscall.EACCES},
		&fs.PathError{Op: "mkdir", Path: "/var/x", Err: syscall.EROFS},
		&fs.PathError{Op: "mkdir", Path: "/var/x", Err: syscall.ENOTDIR},
		fmt.Errorf("%w: /var/x/profguard belongs to another user", dumps.ErrRefused),
	} {
		bubble(t, func(t *testing.T, w *world) {
			var mu sync.Mutex
			var tries []time.Duration // since the start
			works := false
			began := time.Now()
			w.take = story("b")
			w.openDir = func(dir string, keep dumps.Keep, report func(dumps.Outcome)) (*dumps.Store, error) {
				mu.Lock()
				defer mu.Unlock()
				if tries = append(tries, time.Since(began)); works {
					return dumps.Open(dir, keep, report)
				}
				return nil, fmt.Errorf("%w (try %d)", refused, len(tries)) // a text that differs
			}
			g := w.start(t, dumping(t, "x: fmt.Println below 20% for 1 windows"))
			registry := prometheus.NewPedanticRegistry()
			registry.MustRegister(g.collector())
			usable := func(want string) bool {
				return strings.Contains(scrape(t, registry, "text/plain"), "profguard_dump_dir_usable "+want+"\n")
			}
			if !usable("0") || !strings.Contains(g.Status().Reason, "; it is tried again") {
				t.Errorf("%v: reason %q, usable %t", refused, g.Status().Reason, !usable("0"))
			}
			pass(50 * minute)
			mu.Lock()
			if want := []time.Duration{0, 10 * second, 30 * second, 70 * second, 150 * second, 310 * second, 630 * second, 1230 * second, 1830 * second, 2430 * second}; !slices.Equal(tries, want) {
				t.Errorf("tried at %v, want %v", tries, want)
			}
			works = true
			mu.Unlock()
			if s := g.Status(); s.Windows["ok"] < 100 || s.Budgets[0].State != StateFiring {
				t.Errorf("%v: windows %v, %s", refused, s.Windows, s.Budgets[0].State)
			}
			if told := w.told(); !slices.Equal(told, []string{string(EventDegraded), string(EventFiring) + " x"}) {
				t.Errorf("%v: told %q, want it once in an hour", refused, told)
			}
			pass(20 * minute)
			if s := g.Status(); s.Reason != "" || s.Dumps["saved"] == 0 || !usable("1") {
				t.Errorf("%v: when it works: reason %q, dumps %v", refused, s.Reason, s.Dumps)
			}
			stopWhole(t, g)
		})
	}
}

func TestFault_24_StopBeforeADiskComesTo(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		let := make(chan struct{})
		w.openDir = func(dir string, keep dumps.Keep, report func(dumps.Outcome)) (*dumps.Store, error) {
			<-let
			store, err := dumps.Open(dir, keep, report)
			if len(inUse(t, dir)) != 1 {
				t.Errorf("an open directory has %v, want a folder", inUse(t, dir))
			}
			return store, err
		}
		cfg := dumping(t, "portlist absent")
		g := w.start(t, cfg)
		before := time.Now()
		g.Stop()
		if d := time.Since(before); d > stopPromise {
			t.Errorf("Stop took %v", d)
		}
		close(let)
		pass(second)
		if left := inUse(t, cfg.DumpDir); len(left) > 0 || storeOf(g) != nil {
			t.Errorf("what was opened too late stays open: %v", left)
		}
	})
}

// A directory that opens at once keeps nobody waiting and is no news.
func TestStartOpensTheDirectory(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		before := time.Now()
		cfg := dumping(t, "portlist absent")
		g := w.start(t, cfg)
		if d := time.Since(before); d != 0 || storeOf(g) == nil || g.Status().Reason != "" {
			t.Errorf("Start took %v, reason %q", d, g.Status().Reason)
		}
		g.Stop()
		wantEvents(t, w)
		w.openDir = func(dir string, _ dumps.Keep, _ func(dumps.Outcome)) (*dumps.Store, error) {
			return nil, &fs.PathError{Op: "mkdir", Path: dir, Err: fs.ErrPermission}
		}
		g = w.start(t, cfg)
		if d := time.Since(before); d != 0 || !strings.Contains(g.Status().Reason, "permission denied: choose a folder") {
			t.Errorf("a directory that must not be: Start took %v, reason %q", d, g.Status().Reason)
		}
		g.Stop()
	})
}

// A registry that takes the metrics after Stop has taken them back would keep them
// for good, and the next guard could not start.
func TestFault_26_RegistersAfterStop(t *testing.T) {
	for _, stopped := range []bool{true, false} {
		bubble(t, func(t *testing.T, w *world) {
			r := hungRegistry{prometheus.NewRegistry(), make(chan struct{})}
			g := w.start(t, Config{Budgets: simple, Registerer: r})
			if stopped {
				g.Stop()
			}
			close(r.let)
			pass(second)
			families, err := r.Gather()
			if err != nil || (len(families) == 0) != stopped {
				t.Errorf("stopped %t: %d families are registered, %v", stopped, len(families), err)
			}
			g.Stop()
			next := w.start(t, Config{Budgets: simple, Registerer: r})
			if families, err := r.Gather(); err != nil || len(families) == 0 {
				t.Errorf("the next guard has %d families, %v", len(families), err)
			}
			next.Stop()
		})
	}
}
