package guard

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/profguard/profguard/internal/dumps"
)

func TestDiskFull(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		var roomy atomic.Bool
		offers := 0 // only the loop counts
		w.take = story("b")
		w.offer = func(store *dumps.Store, d dumps.Dump) (dumps.ID, error) {
			offers++
			if roomy.Load() {
				return store.Offer(d)
			}
			id := dumps.ID(fmt.Sprint(offers))
			go dumpEnds(theGuard(), dumps.Outcome{ID: id, Err: &os.PathError{Op: "write", Path: "x", Err: syscall.ENOSPC}})
			return id, nil
		}
		cfg := dumping(t, "x: fmt.Println below 20% for 1 windows")
		cfg.Every = minute
		g := w.start(t, cfg)
		pass(150*minute + second)
		s := g.Status()
		if s.Windows["ok"] < 140 || s.Budgets[0].State != StateFiring {
			t.Errorf("windows %v, %s", s.Windows, s.Budgets[0].State)
		}
		var degraded int
		for _, name := range w.told() {
			if name == string(EventDegraded) {
				degraded++
			}
		}
		if degraded != 3 || !strings.Contains(s.Reason, "a dump was not kept") {
			t.Errorf("%d degraded events in two and a half hours, want one an hour; the status says %q", degraded, s.Reason)
		}
		roomy.Store(true)
		pass(2 * minute)
		if s := g.Status(); s.Budgets[0].Dump == "" || s.Reason != "" || len(saved(t, g)) != 1 {
			t.Errorf("with room again: dump %q, reason %q", s.Budgets[0].Dump, s.Reason)
		}
		g.Stop()
	})
}

// A directory that somebody removes is made again by the next dump; where a file is in
// its place, the guard goes on without, says so, and has dumps again when it is gone.
func TestDirectoryVanishes(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.take = story("gbggbg")
		cfg := dumping(t, "x: fmt.Println below 20% for 1 windows")
		cfg.DumpLimits.Every = time.Second
		g := w.start(t, cfg)
		initials(t, g, 1)
		remove := func() {
			if err := os.RemoveAll(cfg.DumpDir); err != nil {
				t.Fatal(err)
			}
		}
		remove()
		if err := os.WriteFile(cfg.DumpDir, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		initials(t, g, 2)
		s := g.Status()
		if e := firings(w); s.Windows["ok"] != 3 || len(e) != 1 || e[0].Dump != "" || s.Budgets[0].Dump != "" || s.Dumps["saved"] != 0 {
			t.Errorf("windows %v, events %+v, dump %q, counts %v", s.Windows, e, s.Budgets[0].Dump, s.Dumps)
		}
		if !slices.Contains(w.told(), string(EventDegraded)) {
			t.Errorf("events %q, want one that says it", w.told())
		}
		remove()
		initials(t, g, 3)
		s = g.Status()
		if e := firings(w); len(e) != 2 || e[1].Dump == "" || s.Budgets[0].Dump != e[1].Dump || s.Reason != "" {
			t.Errorf("when it can be made again: events %+v, dump %q, reason %q", e, s.Budgets[0].Dump, s.Reason)
		}
		g.Stop()
	})
}

// Start has no error for what the machine refuses: it is told, and nothing is left.
func TestUnusableDumpDir(t *testing.T) {
	noLeaks(t)
	open := filepath.Join(t.TempDir(), "profguard")
	if err := errors.Join(os.Mkdir(open, 0o700), os.Chmod(open, 0o777)); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for dir, want := range map[string]string{
		filepath.Dir(open): "has mode 0777", file: "not a directory", filepath.Join(file, "below"): "not a directory",
		t.TempDir(): "", // the clean twin
	} {
		w := newWorld()
		g, err := start(w.quiet(Config{DumpDir: dir}), "a test", w.seams())
		if err != nil {
			t.Errorf("%s: %v", dir, err)
			continue
		}
		if s := g.Status(); !strings.Contains(s.Reason, want) || (s.Reason == "") != (want == "") {
			t.Errorf("%s: reason %q, want %q", dir, s.Reason, want)
		}
		stopWhole(t, g)
		if told := w.told(); len(told) != min(len(want), 1) {
			t.Errorf("%s: told %q", dir, told)
		}
	}
}

// The folder is another user's to remove, where DumpDir is for all: that is told, counted, and mended.
func TestFolderIsLost(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.take = story("gbgbgb")
		cfg := dumping(t, "x: fmt.Println below 20% for 1 windows")
		cfg.DumpLimits.Every = time.Second
		g := w.start(t, cfg)
		registry := prometheus.NewPedanticRegistry()
		registry.MustRegister(g.collector())
		lost := func(want string) bool {
			return strings.Contains(scrape(t, registry, "text/plain"), "profguard_dump_dir_lost_total "+want+"\n")
		}
		initials(t, g, 2)
		if !lost("0") || slices.Contains(w.told(), string(EventDegraded)) {
			t.Errorf("told %q before anything was lost", w.told())
		}
		folder := filepath.Join(cfg.DumpDir, dumps.FolderName)
		if err := os.Rename(folder, folder+".away"); err != nil {
			t.Fatal(err)
		}
		initials(t, g, 2)
		s := g.Status()
		if !lost("1") || s.Reason != "" || s.Dumps["saved"] != 2 || len(saved(t, g)) != 1 || !slices.Contains(w.told(), string(EventDegraded)) {
			t.Errorf("reason %q, dumps %v, told %q", s.Reason, s.Dumps, w.told())
		}
		stopWhole(t, g)
	})
}

// A store that keeps nothing costs a window no more than one that does: dumps that fail
// are counted, too.
func TestDumpsThatFailAreFew(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.take = story("b")
		offers := 0
		w.offer = func(*dumps.Store, dumps.Dump) (dumps.ID, error) {
			offers++
			return "", dumps.ErrDropped
		}
		var lines []string
		for i := range 20 {
			lines = append(lines, fmt.Sprintf("b%d: fmt.Println below %d%% for 1 windows", i, 1+i))
		}
		g := w.start(t, dumping(t, lines...))
		pass(2 * minute)
		if ok := g.Status().Windows["ok"]; ok < 5 || offers != 4*ok {
			t.Errorf("%d dumps were tried in %d windows, want 4 in each", offers, ok)
		}
		g.Stop()
	})
}
