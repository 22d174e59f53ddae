package dumps

import (
	"context"
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
	defer s.Close(context.Background())
	// The first random number was the instance; each save takes one for its ID.
	for n, suffix := range []string{"goroutine.pb.gz.tmp", "json.tmp", "goroutine.pb.gz", "cpu.pb.gz", "json"} {
		id := newName(start, "b", s.instance, fmt.Sprintf("%08x", n+2), "").id
		link := filepath.Join(home(dir, s), fileName(id, suffix))
		if err := os.Symlink(secret, link); err != nil {
			t.Fatal(err)
		}
		_, err := s.Save(testDump("b"))
		if !errors.Is(err, fs.ErrExist) && Reason(err) != "refused" {
			t.Errorf("%s: a link at the name: %v", suffix, err)
		}
		if _, err := s.Open(id, fileName(id, suffix)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("the link can be opened: %v", err)
		}
		if err := os.Remove(link); err != nil {
			t.Error("the link is not ours to remove:", err)
		}
	}
	mustSave(t, s, testDump("b"))
	if data, _ := os.ReadFile(secret); string(data) != "precious" {
		t.Errorf("the link's target now holds %d bytes", len(data))
	}
	assertClean(t, dir, 1)
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
	assertClean(t, moved, 1)
}

// A directory that others may write to, that is theirs, or that they may replace, is
// refused, and the error says what to do.
func TestFault_66_DirectoryOfOthers(t *testing.T) {
	plain := func(t *testing.T) string { return t.TempDir() }
	for _, tt := range []struct {
		name string
		dir  func(t *testing.T) string
		want string // "" if it may be used
	}{
		{"clean twin: of its own", plain, ""},
		{"clean twin: to be made", newDir, ""},
		{"a link", func(t *testing.T) string {
			link := filepath.Join(t.TempDir(), "link")
			if err := os.Symlink(t.TempDir(), link); err != nil {
				t.Fatal(err)
			}
			return link
		}, "is a link"},
		{"a link with a slash", func(t *testing.T) string {
			link := filepath.Join(t.TempDir(), "link")
			if err := os.Symlink(t.TempDir(), link); err != nil {
				t.Fatal(err)
			}
			return link + "/"
		}, "is a link"},
		{"of somebody else", func(t *testing.T) string {
			dir := t.TempDir()
			if err := os.Chown(dir, os.Geteuid()+1, -1); err != nil {
				t.Skip("SKIPPED: only root can give a directory away:", err)
			}
			return dir
		}, "belongs to another user"},
		{"mode 770", chmod(0o770), "chmod go-w"},
		{"mode 707", chmod(0o707), "chmod go-w"},
		{"mode 777 and sticky", chmod(0o777 | os.ModeSticky), "name a directory in it"},
		{"clean twin: mode 755", chmod(0o755), ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := tt.dir(t)
			s, err := Open(dir, testKeep, discard)
			if err == nil {
				s.Close(context.Background())
			}
			if tt.want == "" && err != nil || tt.want != "" && (Reason(err) != "refused" || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("%v, want one that says %q", err, tt.want)
			}
			if list, err := os.ReadDir(dir); err != nil || len(list) > 0 {
				t.Errorf("left in it: %v, %v", list, err)
			}
		})
	}
}

func chmod(mode os.FileMode) func(t *testing.T) string {
	return func(t *testing.T) string {
		dir := t.TempDir()
		if err := os.Chmod(dir, mode); err != nil {
			t.Fatal(err)
		}
		return dir
	}
}

// Files that are there are not written to, whatever other names they have.
func TestFault_66_SecondNames(t *testing.T) {
	dir := newDir(t)
	secret := filepath.Join(t.TempDir(), "secret")
	if err := errors.Join(os.Mkdir(dir, 0o700), os.WriteFile(secret, []byte("precious"), 0o600)); err != nil {
		t.Fatal(err)
	}
	plant := func(path string) {
		t.Helper()
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.Link(secret, path)); err != nil {
			t.Fatal(err)
		}
	}
	id := newName(start, "b", "00000002", "00000003", "").id
	plant(filepath.Join(dir, folderName("00000001")+tempExt)) // the one that comes first
	random := counter(0)
	if _, err := openWith(dir, testKeep, newClock().now, random, nil); !errors.Is(err, fs.ErrExist) {
		t.Errorf("with a file of that name: %v", err)
	}
	var d1 *faulty
	s, err := openWith(dir, testKeep, newClock().now, random, func(d disk) disk { d1 = &faulty{disk: d}; return d1 })
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close(context.Background())
	d1.arm(func(_ int, op string) error {
		if op == "space" { // after the clean-up, which would remove it
			plant(filepath.Join(dir, folderName("00000002"), fileName(id, "trace.out.tmp")))
		}
		return nil
	})
	if _, err := s.Save(testDump("b")); !errors.Is(err, fs.ErrExist) {
		t.Errorf("with a file at a temporary name: %v", err)
	}
	d1.arm(nil)
	mustSave(t, s, testDump("b"))
	if data, _ := os.ReadFile(secret); string(data) != "precious" {
		t.Errorf("the other name's file now holds %q", data)
	}
}

func TestFault_21_VanishesDuringCleanUp(t *testing.T) {
	var d1 *faulty
	dir := newDir(t)
	s, c := openTest(t, dir, testKeep, func(d disk) disk { d1 = &faulty{disk: d}; return d1 })
	for range 5 {
		mustSave(t, s, testDump("b"))
	}
	c.advance(8 * 24 * time.Hour)
	removeAll := func() {
		names, _ := filepath.Glob(filepath.Join(home(dir, s), "profguard-2026*"))
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
	if err := s.tidy(nil); err != nil {
		t.Error(err)
	}
	if n := len(own(t, s)); n > 0 {
		t.Errorf("%d dumps are left", n)
	}
	// Between listing and looking, too.
	mustSave(t, s, testDump("b"))
	d1.arm(func(_ int, op string) error {
		if op == "lstat" {
			removeAll()
		}
		return nil
	})
	if err := s.tidy(nil); err != nil {
		t.Error(err)
	}
	if infos, _, err := s.List(10); err != nil || len(infos) > 0 {
		t.Errorf("%v, %v", infos, err)
	}
}

func TestFault_22_UnknownFiles(t *testing.T) {
	dir := newDir(t)
	folder := folderName("00000001")
	stem := "profguard-20201121T091500.123Z-b-00000001-00000002"
	theirs := []string{
		"notes.txt", "profguard", "profguard-0000000g/notes.txt", "profguard-00000002", stem + ".json", stem + ".cpu.pb.gz",
	}
	for _, name := range []string{
		"notes.txt", "profguard-notes.json", ".tmp", "core.1234",
		stem, stem + ".svg", stem + ".json.bak", stem + ".json~", "." + stem + ".json", stem + ".cpu.pb.gz.part",
		stem + ".CPU.pb.gz", strings.Replace(stem, "2020", "20x0", 1) + ".json", stem + "." + strings.Repeat("x", 40) + ".out",
		strings.Replace(stem, "00000001", "00000002", 1) + ".json", // another instance's
	} {
		theirs = append(theirs, folder+"/"+name)
	}
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range theirs {
		write(name, "mine")
	}
	if err := os.Mkdir(filepath.Join(dir, folder, stem+".json"), 0o700); err != nil {
		t.Fatal(err)
	}
	planted := []string{ // the twins that must go, or this test shows nothing
		folder + "/" + stem + ".cpu.pb.gz", folder + "/" + stem + ".json.tmp",
	}
	for _, name := range planted {
		write(name, "")
	}
	s, c := openTest(t, dir, Keep{Dumps: 1, Free: 1e-12}, nil)
	for range 3 {
		mustSave(t, s, testDump("b"))
	}
	c.advance(30 * 24 * time.Hour)
	if err := s.tidy(nil); err != nil {
		t.Fatal(err)
	}
	for _, name := range append(theirs, folder+"/"+stem+".json") {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Errorf("deleted: %v", err)
		}
	}
	for _, name := range planted {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			t.Errorf("%s was not removed", name)
		}
	}
}

// Where files cannot be locked, what a folder's owner has written says whether it lives.
func TestWithoutLocks(t *testing.T) {
	dir := newDir(t)
	open := func() (*Store, *clock) {
		return openTest(t, dir, Keep{Dumps: 1, Free: 1e-12}, func(d disk) disk {
			return &faulty{disk: d, check: func(_ int, op string) error {
				if op == "lock" {
					return errors.ErrUnsupported
				}
				return nil
			}}
		})
	}
	a, _ := open()
	id := mustSave(t, a, testDump("b"))
	for _, tt := range []struct {
		after time.Duration
		lives bool
	}{{idleAge - time.Minute, true}, {idleAge + time.Minute, false}} {
		b, c := open()
		c.nanos.Store(time.Now().Add(tt.after).UnixNano())
		if err := b.tidy(nil); err != nil {
			t.Fatal(err)
		}
		mustSave(t, b, testDump("b"))
		if there := listIDs(t, b)[id]; there != tt.lives {
			t.Errorf("%v after the owner's last dump it lives: %t; its dump is there: %t", tt.after, tt.lives, there)
		}
		b.Close(context.Background())
	}
	// If it lives after all, it makes its folder again.
	mustSave(t, a, testDump("b"))
}

// A process that looks for the folders of ended ones leaves one alone that has just
// been made: its owner could not take the lock.
func TestNewFolderIsLeftAlone(t *testing.T) {
	dir := newDir(t)
	other, _ := openTest(t, dir, testKeep, nil)
	looks := 0
	s, _ := openTest(t, dir, testKeep, func(d disk) disk {
		return &faulty{disk: d, check: func(_ int, op string) error {
			if op == "lock" && looks == 0 {
				looks++
				err := other.tidy(nil)
				return err
			}
			return nil
		}}
	})
	if id := mustSave(t, s, testDump("b")); looks != 1 || id.Folder() != folderName(s.instance) {
		t.Errorf("the other looked %d times; the dump is in %s", looks, id.Folder())
	}
	if err := other.tidy(nil); err != nil || len(own(t, other)) != 0 {
		t.Errorf("the other has %d dumps for its own, %v", len(own(t, other)), err)
	}
}
