package dumps

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
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
			if len(after.dumps) > len(before.dumps) {
				t.Errorf("call %d failed (%v) and left a dump", n, failed)
			}
		}
		// Later saves go on, and tidy what could not be.
		if _, err := s.Save(testDump("later")); err != nil {
			t.Errorf("call %d failed (%v), and so did the next save: %v", n, failed, err)
		}
		if err := s.tidy(nil); err != nil {
			t.Errorf("call %d: clean-up after: %v", n, err)
		}
		if c := assertClean(t, dir, len(own(t, s))); len(c.dumps) > s.keep.Dumps {
			t.Errorf("call %d: %d dumps, the cap is %d", n, len(c.dumps), s.keep.Dumps)
		}
		s.Close(context.Background())
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
		_, err := s.Save(testDump("b").marked(First))
		if err != nil && Reason(err) != "no_space" {
			t.Errorf("reason %q: %v", Reason(err), err)
		}
		return err
	}
	full := func(s *Store) {
		for range 3 {
			mustSave(t, s, testDump("old"))
		}
	}
	keep3 := Keep{Dumps: 3, Free: 1e-12}
	for _, on := range []bool{false, true} {
		n := eachCall(t, testKeep, func(*Store) {}, save, syscall.ENOSPC, on)
		m := eachCall(t, keep3, full, save, syscall.ENOSPC, on)
		t.Logf("a save makes %d calls, %d when another dump must go", n, m)
		if n < 25 || m <= n {
			t.Errorf("the fault does not reach all calls: %d, %d", n, m)
		}
	}
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
			s.Close(context.Background())
		}
		if d1.calls < n {
			break
		}
		// Whatever was left does not keep the next process from its dumps.
		next, err := Open(dir, testKeep, discard)
		if err != nil {
			t.Fatalf("call %d: %v", n, err)
		}
		mustSave(t, next, testDump("b"))
		assertClean(t, dir, 1)
		next.Close(context.Background())
	}
}

// The calls of a save, in their order: what a power cut leaves depends on it. A file
// is durable before it has its name, the folder's names are before there is a
// sidecar, and the folder is in DumpDir before anything is written to it.
func TestDurability(t *testing.T) {
	var d1 *faulty
	s, _ := openTest(t, newDir(t), testKeep, func(d disk) disk { d1 = &faulty{disk: d}; return d1 })
	d1.log = slices.DeleteFunc(d1.log, func(call string) bool { return call == "list ." || strings.HasPrefix(call, "lstat ") })
	folder := folderName(s.instance)
	made := folder + tempExt
	opened := []string{"mkdir " + made, "lock " + made, "rename " + made + " " + folder, "sync ."}
	if diff := cmp.Diff(opened, d1.log[:len(opened)]); diff != "" {
		t.Errorf("Open (-want +got):\n%s", diff)
	}
	d1.arm(nil)
	id := mustSave(t, s, testDump("b"))
	var want []string
	suffixes := []string{"cpu.pb.gz", "goroutine.pb.gz", "trace.out", "json"}
	path := func(suffix string) string { return folder + "/" + fileName(id, suffix) }
	for _, suffix := range suffixes {
		for _, op := range []string{"create", "write", "fsync", "close"} {
			want = append(want, op+" "+path(suffix)+".tmp")
		}
	}
	for _, suffix := range suffixes {
		if suffix == "json" {
			want = append(want, "sync "+folder)
		}
		want = append(want, "rename "+path(suffix)+".tmp "+path(suffix))
	}
	want = append(want, "sync "+folder)
	got := slices.DeleteFunc(d1.log, func(call string) bool {
		return call == "space" || strings.HasPrefix(call, "lstat ") || strings.HasPrefix(call, "list ")
	})
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Save (-want +got):\n%s", diff)
	}
	// And the disk does sync.
	if err := d1.disk.sync("nowhere"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("sync of a folder that is not there: %v", err)
	}
	closed, err := os.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	if err := syncDir(closed); err == nil && runtime.GOOS == "linux" {
		t.Error("sync of a folder that is closed: no error")
	}
}

func TestFault_11_TooLittleLeft(t *testing.T) {
	d := &fixedSpace{free: 1000, total: 10_000}
	dir := newDir(t)
	s, _ := openTest(t, dir, Keep{}, func(real disk) disk { d.disk = real; return d })
	if _, err := s.Save(testDump("b")); Reason(err) != "no_space" || !errors.Is(err, ErrNoSpace) {
		t.Errorf("at 10%%: %v", err)
	}
	assertClean(t, dir, 0)
	d.free = 9000
	mustSave(t, s, testDump("b"))
	d.free, d.total = 0, 0 // of a file system without a size
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
		s, _ := openTest(t, newDir(t), testKeep, func(d disk) disk { d1 = &faulty{disk: d}; return d1 })
		d1.arm(nthCall(1, true, errno))
		for range 3 {
			if _, err := s.Save(testDump("b")); Reason(err) != "permission" {
				t.Errorf("reason %q of %v", Reason(err), err)
			}
		}
		d1.arm(nil)
		mustSave(t, s, testDump("b"))
	}
}

func TestFault_17_ShortWrite(t *testing.T) {
	for n := 1; n <= 4; n++ { // companions, profile, sidecar
		var d1 *faulty
		dir := newDir(t)
		s, _ := openTest(t, dir, testKeep, func(d disk) disk { d1 = &faulty{disk: d}; return d1 })
		writes := 0
		d1.arm(func(_ int, op string) error {
			if op == "write" {
				if writes++; writes == n {
					return errShort
				}
			}
			return nil
		})
		if _, err := s.Save(testDump("b")); !errors.Is(err, io.ErrShortWrite) {
			t.Errorf("write %d: %v", n, err)
		}
		assertClean(t, dir, 0)
		mustSave(t, s, testDump("b"))
	}
}
