package dump

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// nthCall fails the nth call, or from it on all, with err.
func nthCall(n int, on bool, err error) func(int, string) error {
	return func(call int, op string) error {
		if call == n || on && call > n {
			return &fs.PathError{Op: op, Path: "injected", Err: err}
		}
		return nil
	}
}

// eachCall runs do once for each call that it makes, with that call failing, and
// each time checks the directory after. It returns the number of calls.
func eachCall(t *testing.T, keep Keep, prepare func(*Store), do func(*Store) error, fault error, on bool) int {
	t.Helper()
	for n := 1; ; n++ {
		if n > 500 {
			t.Fatal("still failing after 500 calls")
		}
		dir := newDir(t)
		var disk1 *faulty
		s, _ := openTest(t, dir, keep, func(d disk) disk { disk1 = &faulty{disk: d, volatile: true}; return disk1 })
		prepare(s)
		before, err := inspect(dir)
		if err != nil {
			t.Fatal(err)
		}
		disk1.arm(nthCall(n, on, fault))
		failed := do(s)
		calls := disk1.calls
		disk1.arm(nil)

		after, err := inspect(dir)
		if err != nil {
			t.Errorf("call %d: %v", n, err)
		}
		// With the disk gone for good nothing can be tidied; see below.
		if failed != nil && !on {
			// A dump that had to make room may be half gone by then: it is remains.
			orphans := slices.DeleteFunc(slices.Clone(after.orphans), func(f string) bool { return strings.Contains(f, "-old-") })
			if len(after.temps) > 0 || len(orphans) > 0 {
				t.Errorf("call %d failed (%v) and left %v %v", n, failed, after.temps, after.orphans)
			}
			if len(after.sidecars) > len(before.sidecars) {
				t.Errorf("call %d failed (%v) and left a dump", n, failed)
			}
		}
		// Later saves go on, and tidy what could not be.
		if _, err := s.Save(testDump("later")); err != nil {
			t.Errorf("call %d failed (%v), and so did the next save: %v", n, failed, err)
		}
		if _, err := s.Clean(); err != nil {
			t.Errorf("call %d: clean-up after: %v", n, err)
		}
		c := assertClean(t, dir, 1)
		if u := s.Usage(); u.Files != len(c.sidecars) || u.Files > s.keep.Files {
			t.Errorf("call %d: %d dumps, usage says %+v", n, len(c.sidecars), u)
		}
		s.Close()
		if calls < n { // the fault was never reached
			if failed != nil {
				t.Errorf("failed without a fault: %v", failed)
			}
			return n - 1
		}
	}
}

func TestFault_11_NoSpaceAtEveryCall(t *testing.T) {
	save := func(s *Store) error {
		_, err := s.Save(testDump("b").of("v", 1))
		if err != nil && Reason(err) != "no_space" {
			t.Errorf("reason %q: %v", Reason(err), err)
		}
		return err
	}
	var id ID
	full := func(s *Store) {
		for range 3 {
			id = mustSave(t, s, testDump("old"))
		}
	}
	keep3 := Keep{Files: 3, Interval: 1, Free: 1e-12}
	for _, on := range []bool{false, true} {
		n := eachCall(t, testKeep, func(*Store) {}, save, syscall.ENOSPC, on)
		m := eachCall(t, keep3, full, save, syscall.ENOSPC, on)
		t.Logf("a save makes %d calls, %d when another dump must go", n, m)
		if n < 25 || m <= n {
			t.Errorf("the fault does not reach all calls: %d, %d", n, m)
		}
	}
	eachCall(t, testKeep, full, func(s *Store) error { return s.Delete(id) }, syscall.EIO, false)
}

func TestFault_11_OpenAndClose(t *testing.T) {
	for n := 1; ; n++ {
		dir := newDir(t)
		var d1 *faulty
		s, err := openWith(dir, testKeep, time.Now, randomHex, func(d disk) disk {
			d1 = &faulty{disk: d, check: nthCall(n, false, syscall.ENOSPC)}
			return d1
		})
		if err == nil {
			d1.arm(nthCall(n, false, syscall.ENOSPC))
			s.Close()
		}
		if d1.calls < n {
			break
		}
		// Whatever was left is reaped by the next process.
		next, err := Open(dir, testKeep)
		if err != nil {
			t.Fatalf("call %d: %v", n, err)
		}
		assertClean(t, dir, 1)
		next.Close()
	}
}

func TestFault_11_TooLittleLeft(t *testing.T) {
	d := &fixedSpace{free: 1000, total: 10_000}
	s, _ := openTest(t, newDir(t), Keep{Interval: 1}, func(real disk) disk { d.disk = real; return d })
	if _, err := s.Save(testDump("b")); Reason(err) != "no_space" || !errors.Is(err, ErrNoSpace) {
		t.Errorf("at 10%%: %v", err)
	}
	assertClean(t, s.Dir(), 1)
	d.free = 9000
	mustSave(t, s, testDump("b"))
	d.err = fmt.Errorf("statfs: %w", errors.ErrUnsupported)
	mustSave(t, s, testDump("b"))
}

type fixedSpace struct {
	disk
	free, total uint64
	err         error
}

func (d *fixedSpace) space() (uint64, uint64, error) { return d.free, d.total, d.err }

func TestFault_12_ReadOnly(t *testing.T) {
	for _, errno := range []error{syscall.EACCES, syscall.EROFS} {
		var d1 *faulty
		s, c := openTest(t, newDir(t), testKeep, func(d disk) disk { d1 = &faulty{disk: d}; return d1 })
		d1.arm(nthCall(1, true, errno))
		var log Hourly
		said := 0
		for range 180 { // three hours of one attempt a minute
			_, err := s.Save(testDump("b"))
			if Reason(err) != "permission" {
				t.Fatalf("reason %q of %v", Reason(err), err)
			}
			if log.Say(Reason(err), c.now()) {
				said++
			}
			c.advance(time.Minute - 2*time.Second)
		}
		if said != 3 && said != 4 {
			t.Errorf("%v: %d log lines in three hours", errno, said)
		}
		if !log.Say("another", c.now()) {
			t.Error("another reason was held back")
		}
		d1.arm(nil)
		mustSave(t, s, testDump("b"))
	}
}

func TestFault_17_ShortWrite(t *testing.T) {
	for n := 1; n <= 4; n++ { // companions, profile, sidecar
		var d1 *faulty
		s, _ := openTest(t, newDir(t), testKeep, func(d disk) disk { d1 = &faulty{disk: d}; return d1 })
		writes := 0
		d1.arm(func(_ int, op string) error {
			if op == "write" {
				if writes++; writes == n {
					return errShort
				}
			}
			return nil
		})
		if _, err := s.Save(testDump("b")); Reason(err) != "short_write" {
			t.Errorf("write %d: %v", n, err)
		}
		assertClean(t, s.Dir(), 1)
		mustSave(t, s, testDump("b"))
	}
}

func TestWithoutLocks(t *testing.T) {
	noLocks := func(d disk) disk {
		return &faulty{disk: d, check: func(_ int, op string) error {
			if op == "tryLock" {
				return errors.ErrUnsupported
			}
			return nil
		}}
	}
	dir := newDir(t)
	keep := Keep{Files: 3, Interval: 1, Free: 1e-12}
	a, _ := openTest(t, dir, keep, noLocks)
	b, c := openTest(t, dir, keep, noLocks)
	for range 3 {
		mustSave(t, a, testDump("b"))
		mustSave(t, b, testDump("b"))
	}
	if got := assertClean(t, dir, 0); len(got.sidecars) != 3 {
		t.Errorf("%d dumps, want the cap of 3", len(got.sidecars))
	}
	// Nobody can tell whether a fresh temporary file is being written.
	fresh := filepath.Join(dir, "profguard-00000001-00000002.tmp")
	if err := os.WriteFile(fresh, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(fresh, start, c.now()); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		after time.Duration
		there bool
	}{{time.Minute, true}, {2 * time.Hour, false}} {
		c.advance(tt.after)
		if _, err := b.Clean(); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(fresh); (err == nil) != tt.there {
			t.Errorf("%v later: %v", tt.after, err)
		}
	}
}
