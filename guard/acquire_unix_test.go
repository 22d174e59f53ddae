//go:build linux || darwin || freebsd

package guard

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Another process that does not let go of the directory's lock costs the dumps
// until it does.
func TestFault_20_StartOnALockedDirectory(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		cfg := dumping(t, "portlist absent")
		if err := os.Mkdir(cfg.DumpDir, 0o700); err != nil {
			t.Fatal(err)
		}
		lock, err := os.OpenFile(filepath.Join(cfg.DumpDir, "profguard-lock"), os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX); err != nil {
			t.Fatal(err)
		}
		before := time.Now()
		g := w.start(t, cfg)
		if d := time.Since(before); d > openWithin {
			t.Errorf("Start took %v, want %v at the most", d, openWithin)
		}
		pass(30 * second)
		if s := g.Status(); !strings.Contains(s.Reason, "another process has held profguard-lock") || s.Dumps["busy"] != 1 || s.Windows["ok"] < 2 {
			t.Errorf("reason %q, dumps %v, windows %v", s.Reason, s.Dumps, s.Windows)
		}
		wantEvents(t, w, eventDegraded)
		lock.Close()
		pass(openAgain)
		if s := g.Status(); s.Reason != "" || g.writer() == nil {
			t.Errorf("when the lock is free: reason %q", s.Reason)
		}
		g.Stop()
	})
}
