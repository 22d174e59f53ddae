package dump

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

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
