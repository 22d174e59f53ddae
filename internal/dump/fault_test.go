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

func TestFault_14_SymlinkAtTheName(t *testing.T) {
	dir := newDir(t)
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	clock := newClock()
	s, err := openWith(dir, testKeep, clock.now, counter(0), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	plant := func(name string) {
		t.Helper()
		os.Remove(filepath.Join(dir, name))
		if err := os.Symlink(secret, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	// Random numbers so far: instance, token. Each save takes one for its ID,
	// one for the token and one for each of four temporary files. The first
	// save meets a link at a temporary name, the second at a final name.
	nth := func(n int) string { return fmt.Sprintf("%08x", n) }
	id := func(random int) ID {
		return name{start, slug("b"), s.instance, nth(random)}.id()
	}
	plant(tempName(s.instance, nth(5)))
	if _, err := s.Save(testDump("b")); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a link at the temporary name: %v", err)
	}
	os.Remove(filepath.Join(dir, tempName(s.instance, nth(5))))
	for at, suffix := range []string{"goroutine.pb.gz", "cpu.pb.gz", "json"} {
		var next int
		fmt.Sscanf(s.random(), "%x", &next)
		file := fileName(id(next+1), suffix)
		plant(file)
		if _, err := s.Save(testDump("b")); !errors.Is(err, ErrRefused) || Reason(err) != "refused" {
			t.Errorf("%d: a link at the final name: %v", at, err)
		}
		if _, err := s.Open(id(next+1), file); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("the link can be opened: %v", err)
		}
		if err := os.Remove(filepath.Join(dir, file)); err != nil {
			t.Error("the link is not ours to remove:", err)
		}
	}
	mustSave(t, s, testDump("b"))
	if data, _ := os.ReadFile(secret); string(data) != "precious" {
		t.Errorf("the link's target now holds %d bytes", len(data))
	}
	assertClean(t, dir, 1)

	// The lock file, too, is ours only when it is a regular file.
	other := newDir(t)
	os.Mkdir(other, 0o700)
	if err := os.Symlink(secret, filepath.Join(other, lockName)); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(other, testKeep); Reason(err) != "refused" {
		t.Errorf("a link for a lock: %v", err)
	}
}

func TestFault_15_DirectorySwapped(t *testing.T) {
	dir := newDir(t)
	s, _ := openTest(t, dir, testKeep, nil)
	moved, evil := dir+".moved", t.TempDir()
	if err := os.Rename(dir, moved); err != nil {
		t.Skip("an open directory cannot be moved here:", err)
	}
	if err := os.Symlink(evil, dir); err != nil {
		t.Fatal(err)
	}
	id := mustSave(t, s, testDump("b"))
	if got := listIDs(t, s); !got[id] {
		t.Error("the dump is not listed")
	}
	if entries, _ := os.ReadDir(evil); len(entries) > 0 {
		t.Errorf("written through the link: %v", entries)
	}
	if c := assertClean(t, moved, 1); len(c.sidecars) != 1 {
		t.Errorf("in the original directory: %+v", c)
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

func TestFault_21_VanishesDuringCleanUp(t *testing.T) {
	var d1 *faulty
	s, c := openTest(t, newDir(t), testKeep, func(d disk) disk { d1 = &faulty{disk: d}; return d1 })
	for range 5 {
		mustSave(t, s, testDump("b"))
	}
	c.advance(8 * 24 * time.Hour)
	removeAll := func() {
		names, _ := filepath.Glob(filepath.Join(s.Dir(), "profguard-2026*"))
		for _, n := range names {
			os.Remove(n)
		}
	}
	d1.arm(func(_ int, op string) error {
		if op == "remove" {
			removeAll()
		}
		return nil
	})
	if _, err := s.Clean(); err != nil {
		t.Error(err)
	}
	if u := s.Usage(); u != (Usage{}) {
		t.Errorf("usage %+v", u)
	}
	// Between listing and looking, too.
	mustSave(t, s, testDump("b"))
	s.x = nil
	d1.arm(func(_ int, op string) error {
		if op == "lstat" {
			removeAll()
		}
		return nil
	})
	if _, err := s.Clean(); err != nil {
		t.Error(err)
	}
	if infos, err := s.List(); err != nil || len(infos) > 0 {
		t.Errorf("%v, %v", infos, err)
	}
}

func TestFault_22_UnknownFiles(t *testing.T) {
	dir := newDir(t)
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	stem := "profguard-20201121T091500.123Z-b-00000001-00000002"
	theirs := []string{
		"notes.txt", "profguard", "profguard-notes.json", "profguard-.tmp", "profguard-x-y.tmp", "core.1234",
		stem, stem + ".svg", stem + ".json.bak", stem + ".json~", "." + stem + ".json", stem + ".cpu.pb.gz.part",
		stem + ".CPU.pb.gz", strings.Replace(stem, "2020", "20x0", 1) + ".json", "profguard-0000000g.live",
		stem + "." + strings.Repeat("x", 40) + ".out",
	}
	for _, n := range theirs {
		if err := os.WriteFile(filepath.Join(dir, n), []byte("mine"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, stem+".json"), 0o700); err != nil {
		t.Fatal(err)
	}
	planted := []string{ // the twins that must go, or this test shows nothing
		stem + ".cpu.pb.gz", "profguard-00000001-00000002.tmp", "profguard-00000001.live",
	}
	for _, n := range planted {
		if err := os.WriteFile(filepath.Join(dir, n), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s, c := openTest(t, dir, Keep{Files: 1, Interval: 1, Free: 1e-12}, nil)
	for range 3 {
		mustSave(t, s, testDump("b"))
	}
	c.advance(30 * 24 * time.Hour)
	if _, err := s.Clean(); err != nil {
		t.Fatal(err)
	}
	for _, n := range append(theirs, stem+".json") {
		if _, err := os.Stat(filepath.Join(dir, n)); err != nil {
			t.Errorf("deleted: %v", err)
		}
	}
	for _, n := range planted {
		if _, err := os.Stat(filepath.Join(dir, n)); err == nil {
			t.Errorf("%s was not reaped", n)
		}
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
