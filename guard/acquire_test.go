package guard

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
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
	list, err := filepath.Glob(filepath.Join(dir, "profguard-*"))
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

// What is wrong with a directory shows too late for an error of Start, and is told.
func TestUnusableDumpDirShowsLate(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.openDir = func(dir string, _ dumps.Keep, _ func(dumps.Outcome)) (*dumps.Store, error) {
			time.Sleep(10 * second)
			return nil, &fs.PathError{Op: "mkdir", Path: dir, Err: fs.ErrPermission}
		}
		g := w.start(t, dumping(t, "portlist absent"))
		wantEvents(t, w, EventDegraded)
		pass(20 * second)
		wantEvents(t, w, EventDegraded, EventDegraded)
		if s := g.Status(); !strings.Contains(s.Reason, "dumps off: mkdir") {
			t.Errorf("reason %q", s.Reason)
		}
		g.Stop()
	})
}

// A disk that is full when the guard starts costs the dumps, and not the host's start.
func TestFault_11_StartOnAFullDisk(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.openDir = func(dir string, _ dumps.Keep, _ func(dumps.Outcome)) (*dumps.Store, error) {
			return nil, fmt.Errorf("write lock file: %w", &fs.PathError{Op: "write", Path: dir, Err: syscall.ENOSPC})
		}
		g := w.start(t, dumping(t, "portlist absent"))
		pass(30 * second)
		if s := g.Status(); !strings.Contains(s.Reason, "dumps off: ") || s.Windows["ok"] < 2 {
			t.Errorf("reason %q, windows %v", s.Reason, s.Windows)
		}
		wantEvents(t, w, EventDegraded)
		g.Stop()
	})
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

// A directory that opens at once keeps nobody waiting and is no news; one that
// cannot be used is the caller's mistake.
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
		cfg.DumpDir = "/dev/null/dumps"
		if g, err := start(w.quiet(cfg), "a test", w.seams()); err == nil || !strings.Contains(err.Error(), "DumpDir") {
			t.Errorf("a directory that cannot be: %v", err)
			g.Stop()
		}
		w.openDir = func(string, dumps.Keep, func(dumps.Outcome)) (*dumps.Store, error) {
			return nil, &fs.PathError{Op: "mkdir", Path: "/var/lib/shop", Err: fs.ErrPermission}
		}
		if g, err := start(w.quiet(cfg), "a test", w.seams()); err == nil || !strings.Contains(err.Error(), "permission denied: choose a folder") {
			t.Errorf("a directory that must not be: %v", err)
			g.Stop()
		}
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
