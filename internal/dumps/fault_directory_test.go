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
	for n, suffix := range []string{"goroutine.pb.gz.tmp", "json.tmp"} {
		id := newName(start, "b", s.instance, fmt.Sprintf("%08x", n+2), "").id
		link := filepath.Join(home(dir, s), fileName(id, suffix))
		if err := os.Symlink(secret, link); err != nil {
			t.Fatal(err)
		}
		_, err := s.Save(testDump("b"))
		if !errors.Is(err, fs.ErrExist) {
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

// Another user who may write to DumpDir, or to the folder above, cannot turn writes elsewhere: dumps fail
// until the way is free again, and then the folder is made again.
func TestFault_15_DirectorySwapped(t *testing.T) {
	for name, path := range map[string]func(dir string) string{
		"DumpDir":    func(dir string) string { return dir },
		"the folder": inside,
	} {
		t.Run(name, func(t *testing.T) {
			dir := newDir(t)
			var last Outcome
			s, _ := openTest(t, dir, testKeep, nil)
			before := mustSave(t, s, testDump("b"))
			at, evil := path(dir), t.TempDir()
			// What an attacker may offer: an empty folder, and one that looks like ours.
			if err := os.Mkdir(filepath.Join(evil, FolderName), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.Rename(at, at+".moved"); err != nil {
				t.Skip("an open directory cannot be moved here:", err)
			}
			if err := os.Symlink(evil, at); err != nil {
				t.Fatal(err)
			}
			s.report = func(o Outcome) { last = o }
			for range 2 {
				saveOffered(t, s)
				if Reason(last.Err) != "refused" || last.Lost {
					t.Errorf("%+v, want one that is refused", last)
				}
			}
			// Receipts go nowhere else, either.
			s.Sent(string(before)+".cpu", false)
			s.Flush(t.Context())
			for _, folder := range []string{evil, filepath.Join(evil, FolderName)} {
				if entries, _ := os.ReadDir(folder); len(entries) > 1 || len(entries) == 1 && entries[0].Name() != FolderName {
					t.Errorf("written through the link: %v", entries)
				}
			}
			if err := os.Remove(at); err != nil {
				t.Fatal(err)
			}
			saveOffered(t, s)
			if last.Err != nil || !last.Lost {
				t.Errorf("without the link: %+v, want a dump in a folder that was made again", last)
			}
			saveOffered(t, s)
			if last.Err != nil || last.Lost {
				t.Errorf("after that: %+v, want a dump in the same folder", last)
			}
			assertClean(t, dir, 2)
			// When the folder of before comes back, it is used.
			if err := errors.Join(os.RemoveAll(at), os.Rename(at+".moved", at)); err != nil {
				t.Fatal(err)
			}
			saveOffered(t, s)
			if last.Err != nil || !last.Lost {
				t.Errorf("back again: %+v, want a dump", last)
			}
			receipts, err := filepath.Glob(filepath.Join(home(dir, s), "*.sent"))
			if err != nil || len(receipts) != 1 || os.Remove(receipts[0]) != nil {
				t.Errorf("receipts of the folder that was moved: %v, %v", receipts, err)
			}
			assertClean(t, dir, 2)
			other, _ := openTest(t, dir, testKeep, nil)
			if n := len(own(t, other)); n != 0 {
				t.Errorf("another store counts %d dumps as its own: this one has no lock", n)
			}
		})
	}
}

// saveOffered is what the store's goroutine does with a dump.
func saveOffered(t *testing.T, s *Store) {
	t.Helper()
	p, err := s.prepare(testDump("b"))
	if err != nil {
		t.Fatal(err)
	}
	s.save(p)
}

// DumpDir may be anybody's, as volumes are: the folder in it is what counts.
func TestDumpDirOfOthers(t *testing.T) {
	for _, tt := range []struct {
		name string
		dir  func(t *testing.T) string
		want string // "" if it may be used
	}{
		{"of its own", func(t *testing.T) string { return t.TempDir() }, ""},
		{"to be made", newDir, ""},
		{"mode 775 with setgid", chmod(0o775 | os.ModeSetgid), ""},
		{"mode 777", chmod(0o777), ""},
		{"mode 777 and sticky", chmod(0o777 | os.ModeSticky), ""},
		{"of somebody else", func(t *testing.T) string {
			dir := t.TempDir()
			if err := os.Chown(dir, os.Geteuid()+1, -1); err != nil {
				t.Skip("SKIPPED: only root can give a directory away:", err)
			}
			return dir
		}, ""},
		{"a link", linked(""), "is a link"},
		{"a link with a slash", linked("/"), "is a link"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := tt.dir(t)
			s, err := Open(dir, testKeep, discard)
			if tt.want == "" && err != nil || tt.want != "" && (Reason(err) != "refused" || !strings.Contains(err.Error(), tt.want)) {
				t.Fatalf("%v, want one that says %q", err, tt.want)
			}
			if err != nil {
				if list, err := os.ReadDir(dir); err != nil || len(list) > 0 {
					t.Errorf("left in it: %v, %v", list, err)
				}
				return
			}
			mustSave(t, s, testDump("b"))
			s.Close(context.Background())
			assertClean(t, dir, 1)
			if info, err := os.Lstat(inside(dir)); err != nil || info.Mode().Perm() != 0o700 || !info.IsDir() {
				t.Errorf("the folder is %v, %v, want one of mode 0700", info.Mode(), err)
			}
		})
	}
}

func linked(behind string) func(t *testing.T) string {
	return func(t *testing.T) string {
		link := filepath.Join(t.TempDir(), "link")
		if err := os.Symlink(t.TempDir(), link); err != nil {
			t.Fatal(err)
		}
		return link + behind
	}
}

// A folder of the guard's name that others may write to, that is theirs, or that is a link, is
// refused until it is gone, and the error says what to do. So is the folder of references.
func TestFault_66_FolderOfOthers(t *testing.T) {
	mode := func(mode os.FileMode) func(t *testing.T, at string) error {
		return func(t *testing.T, at string) error { return errors.Join(os.Mkdir(at, 0o700), os.Chmod(at, mode)) }
	}
	for _, tt := range []struct {
		name string
		make func(t *testing.T, at string) error
		want string // "" if it may be used
	}{
		{"clean twin: mode 700", mode(0o700), ""},
		{"clean twin: mode 755", mode(0o755), ""},
		{"clean twin: mode 770, as fsGroup makes it", mode(0o770 | os.ModeSetgid), ""},
		{"mode 707", mode(0o707), "chmod go-w"},
		{"mode 777 and sticky", mode(0o777 | os.ModeSticky), "chmod go-w"},
		{"of somebody else", func(t *testing.T, at string) error {
			if err := mode(0o777)(t, at); err != nil {
				return err
			}
			if err := os.Chown(at, os.Geteuid()+1, -1); err != nil {
				t.Skip("SKIPPED: only root can give a directory away:", err)
			}
			return nil
		}, "belongs to another user"},
		{"a link", func(t *testing.T, at string) error { return os.Symlink(t.TempDir(), at) }, "is no folder (Lrwx"},
		{"a link within", func(t *testing.T, at string) error {
			return errors.Join(os.Mkdir(at+".elsewhere", 0o700), os.Symlink(filepath.Base(at)+".elsewhere", at))
		}, "is no folder (Lrwx"},
		{"a file", func(t *testing.T, at string) error { return os.WriteFile(at, nil, 0o600) }, "is no folder"},
	} {
		for what, path := range map[string]string{"dumps": FolderName, "references": FolderName + "/" + referencesName} {
			t.Run(tt.name+", "+what, func(t *testing.T) {
				dir := t.TempDir()
				at := filepath.Join(dir, path)
				if what == "references" {
					if err := os.Mkdir(inside(dir), 0o700); err != nil {
						t.Fatal(err)
					}
				}
				if err := tt.make(t, at); err != nil {
					t.Fatal(err)
				}
				try := func() error {
					if what == "references" {
						return openRefs(t, dir, nil).Write("shop-v1.pb.gz", gz(100), "shop-", 5)
					}
					s, err := Open(dir, testKeep, discard)
					if err == nil {
						mustSave(t, s, testDump("b"))
						s.Close(context.Background())
					}
					return err
				}
				err := try()
				if tt.want == "" {
					if info, _ := os.Lstat(at); err != nil || info.Mode().Perm()&0o022 != 0 {
						t.Errorf("%v, mode %v, want a folder that nobody else may write to", err, info.Mode())
					}
					return
				}
				if Reason(err) != "refused" || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), at) {
					t.Errorf("%v, want one that says %q", err, tt.want)
				}
				if list, err := os.ReadDir(at); err == nil && len(list) > 0 {
					t.Errorf("left in it: %v", list)
				}
				if err := errors.Join(os.RemoveAll(at), try()); err != nil {
					t.Errorf("when it is gone: %v", err)
				}
			})
		}
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
	if err := errors.Join(os.MkdirAll(inside(dir), 0o700), os.WriteFile(secret, []byte("precious"), 0o600)); err != nil {
		t.Fatal(err)
	}
	plant := func(path string) {
		t.Helper()
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.Link(secret, path)); err != nil {
			t.Fatal(err)
		}
	}
	id := newName(start, "b", "00000002", "00000003", "").id
	plant(filepath.Join(inside(dir), folderName("00000001")+tempExt)) // the one that comes first
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
			plant(filepath.Join(inside(dir), folderName("00000002"), fileName(id, "trace.out.tmp")))
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
		path := filepath.Join(inside(dir), name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range theirs {
		write(name, "mine")
	}
	if err := os.Mkdir(filepath.Join(inside(dir), folder, stem+".json"), 0o700); err != nil {
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
		if _, err := os.Stat(filepath.Join(inside(dir), name)); err != nil {
			t.Errorf("deleted: %v", err)
		}
	}
	for _, name := range planted {
		if _, err := os.Stat(filepath.Join(inside(dir), name)); err == nil {
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
	if id := mustSave(t, s, testDump("b")); looks != 1 || id.Folder() != FolderName+"/"+folderName(s.instance) {
		t.Errorf("the other looked %d times; the dump is in %s", looks, id.Folder())
	}
	if err := other.tidy(nil); err != nil || len(own(t, other)) != 0 {
		t.Errorf("the other has %d dumps for its own, %v", len(own(t, other)), err)
	}
}
