package dumps

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// litter fills dir with n dumps of two empty files each, of a process that is gone.
func litter(tb testing.TB, dir string, n int, at time.Time) {
	tb.Helper()
	folder := filepath.Join(inside(dir), folderName("00000001"))
	if err := os.MkdirAll(folder, 0o700); err != nil {
		tb.Fatal(err)
	}
	empty := filepath.Join(tb.TempDir(), "empty")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		tb.Fatal(err)
	}
	for i := range n {
		id := newName(at.Add(time.Duration(i)*time.Millisecond), "b", "00000001", fmt.Sprintf("%08x", i), "").id
		for _, suffix := range []string{"cpu.pb.gz", "json"} {
			name := filepath.Join(folder, fileName(id, suffix))
			if os.Link(empty, name) == nil { // a third of what it takes to make a file
				continue
			}
			if err := os.WriteFile(name, nil, 0o600); err != nil {
				tb.Fatal(err)
			}
		}
	}
}

// Opening cleans up, however many old files there are, and looks at each folder once.
func TestFault_19_StaleFiles(t *testing.T) {
	for name, tt := range map[string]struct {
		age         time.Duration
		dumps, want int
	}{
		"too old":  {8 * 24 * time.Hour, 10_000, 0},
		"too many": {24 * time.Hour, 5_000, 64},
	} {
		t.Run(name, func(t *testing.T) {
			if testing.Short() && tt.dumps > 5_000 {
				t.Skip("20,000 files")
			}
			dir := newDir(t)
			litter(t, dir, tt.dumps, start.Add(-tt.age))
			var d1 *faulty
			scans := 0
			s, _ := openTest(t, dir, testKeep, func(d disk) disk {
				d1 = &faulty{disk: d, check: func(_ int, op string) error {
					if op == "list" {
						scans++
					}
					return nil
				}}
				return d1
			})
			if scans != 3 { // DumpDir and two folders
				t.Errorf("directories were read %d times, want each once", scans)
			}
			tidied(t, s)
			c := assertNames(t, dir, tt.want)
			if len(own(t, s)) != tt.want || (tt.want == 0) != (len(c.folders) == 1) {
				t.Errorf("%d dumps are left, folders %v", len(own(t, s)), c.folders)
			}
		})
	}
}

// tidied cleans up.
func tidied(t *testing.T, s *Store) {
	t.Helper()
	if err := s.tidy(nil); err != nil {
		t.Error(err)
	}
}

// assertNames is assertClean for files without contents.
func assertNames(t *testing.T, dir string, n int) census {
	t.Helper()
	c, _ := inspect(dir)
	if len(c.temps)+len(c.orphans) > 0 || len(c.dumps) != n {
		t.Errorf("temporary files %v, files without sidecar %v, %d dumps (want %d)", c.temps, c.orphans, len(c.dumps), n)
	}
	return c
}

// Thousands of old dumps, however far over the caps, are no reason to refuse one.
func TestFault_71_OldDumps(t *testing.T) {
	for _, n := range []int{1_000, 5_000} {
		dir := newDir(t)
		litter(t, dir, n, start.Add(-24*time.Hour))
		s, _ := openTest(t, dir, testKeep, nil)
		id := mustSave(t, s, testDump("b"))
		if !listIDs(t, s)[id] {
			t.Errorf("with %d old dumps: the new one is not listed", n)
		}
		if ids := listIDs(t, s); len(ids) != 64 || !ids[id] {
			t.Errorf("with %d old dumps: %d are left, the new one is among them: %t", n, len(ids), ids[id])
		}
	}
}

// BenchmarkScan is what a look at a directory with 50,000 of our files costs.
func BenchmarkScan(b *testing.B) {
	dir := filepath.Join(b.TempDir(), "dumps")
	litter(b, dir, 25_000, start)
	c := newClock()
	d, err := newDisk(dir, FolderName)
	if err != nil {
		b.Fatal(err)
	}
	if err := d.open(); err != nil {
		b.Fatal(err)
	}
	defer d.close()
	s := &Store{disk: d, now: c.now, instance: "00000001"}
	for b.Loop() {
		if _, err := s.folders(s.mine); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkSave is one dump of 200 kB with two companions, syncs included.
func BenchmarkSave(b *testing.B) {
	s, err := openWith(filepath.Join(b.TempDir(), "dumps"), testKeep, time.Now, randomHex, nil)
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close(context.Background())
	d := testDump("b")
	d.Files[0].Data = gz(200_000)
	for b.Loop() {
		if _, err := s.Save(d); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkCleanIdle is what the writer does before a save when all is well.
func BenchmarkCleanIdle(b *testing.B) {
	s, err := openWith(filepath.Join(b.TempDir(), "dumps"), testKeep, time.Now, randomHex, nil)
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close(context.Background())
	for range 20 {
		if _, err := s.Save(testDump("b")); err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		if err := s.tidy(nil); err != nil {
			b.Fatal(err)
		}
	}
}

// dumpSpec writes entries down briefly.
type dumpSpec struct {
	minute int
	mark   string
	size   int64
}

func (d dumpSpec) entry() *entry {
	at := start.Add(time.Duration(d.minute) * time.Minute)
	if d.size == 0 {
		d.size = 10
	}
	return &entry{name: newName(at, "s", "00000001", fmt.Sprintf("%08x", d.minute), d.mark), size: d.size, suffixes: []string{"json", "cpu.pb.gz"}}
}

func TestVictims(t *testing.T) {
	plain := func(minute int) dumpSpec { return dumpSpec{minute: minute} }
	aFirst := func(minute int) dumpSpec { return dumpSpec{minute: minute, mark: First} }
	aWorst := func(minute int) dumpSpec { return dumpSpec{minute: minute, mark: Worst} }
	for _, tt := range []struct {
		name string
		have []dumpSpec
		add  dumpSpec
		keep Keep
		want []string
	}{
		{"room", []dumpSpec{plain(1)}, plain(2), Keep{Dumps: 2, Free: 1e-12}, nil},
		{"oldest goes", []dumpSpec{plain(2), plain(1)}, plain(3), Keep{Dumps: 2, Free: 1e-12}, []string{"1"}},
		{"bytes", []dumpSpec{plain(1), plain(2), plain(3)}, dumpSpec{minute: 4, size: 15}, Keep{Bytes: 30, Free: 1e-12}, []string{"1", "2"}},
		{"first and worst stay", []dumpSpec{aFirst(1), aWorst(2), plain(3)}, plain(4), Keep{Dumps: 3, Free: 1e-12}, []string{"3"}},
		{"a worst that is no longer the worst goes", []dumpSpec{aFirst(1), aWorst(2)}, aWorst(4), Keep{Dumps: 2, Free: 1e-12}, []string{"2"}},
		{"and so does the first, for a worst that is too large", []dumpSpec{aFirst(1), aWorst(2)},
			dumpSpec{minute: 3, mark: Worst, size: 25}, Keep{Bytes: 30, Free: 1e-12}, []string{"2", "1"}},
		{"the first stays longest", []dumpSpec{aFirst(1), aWorst(2), aWorst(3)}, plain(4), Keep{Dumps: 2, Free: 1e-12}, []string{"2", "3"}},
		{"a new dump is never refused", []dumpSpec{aFirst(2), aFirst(1)}, plain(4), Keep{Dumps: 2, Free: 1e-12}, []string{"1"}},
		{"too old", []dumpSpec{aFirst(1), plain(100)}, plain(101), Keep{Age: time.Hour, Free: 1e-12}, []string{"1"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			now := tt.add.entry().time
			removed := &remover{}
			s := &Store{disk: removed, keep: tt.keep.withDefaults(), now: func() time.Time { return now }}
			var have []*entry
			for _, d := range tt.have {
				have = append(have, d.entry())
			}
			if err := s.clean(have, tt.add.entry()); err != nil {
				t.Error(err)
			}
			if diff := cmp.Diff(tt.want, removed.dumps); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// remover notes by their minutes the dumps whose sidecars are removed.
type remover struct {
	disk
	dumps []string
}

func (r *remover) remove(file string) error {
	if n, suffix, _ := parseFile(path.Base(file)); suffix == sidecarSuffix {
		r.dumps = append(r.dumps, fmt.Sprint(n.time.Sub(start).Minutes()))
	}
	return nil
}

func TestRetentionOfAnAlert(t *testing.T) {
	dir := newDir(t)
	s, _ := openTest(t, dir, Keep{Dumps: 4, Free: 1e-12}, nil)
	var ids []ID
	for _, mark := range []string{First, Worst, "", "", "", "", ""} {
		ids = append(ids, mustSave(t, s, testDump("b").marked(mark)))
	}
	want := map[ID]bool{ids[0]: true, ids[1]: true, ids[5]: true, ids[6]: true}
	if diff := cmp.Diff(want, listIDs(t, s)); diff != "" {
		t.Errorf("first, worst and the two newest should be kept:\n%s", diff)
	}
	infos, _, _ := s.List(10)
	slices.SortFunc(infos, func(a, b Info) int { return a.End.Compare(b.End) })
	var marks []string
	for _, i := range infos {
		marks = append(marks, sidecarOf(t, i).Mark)
	}
	if diff := cmp.Diff([]string{First, Worst, "", ""}, marks); diff != "" {
		t.Errorf("marks:\n%s", diff)
	}
	assertClean(t, dir, 4) // and companions went with their dumps

	// The next process knows it from the names: the last to go is the first of all.
	s.Close(context.Background())
	next, _ := openTest(t, dir, Keep{Dumps: 2, Free: 1e-12}, nil)
	newest := mustSave(t, next, testDump("b"))
	if diff := cmp.Diff(map[ID]bool{ids[0]: true, newest: true}, listIDs(t, next)); diff != "" {
		t.Errorf("the first and the newest should be kept:\n%s", diff)
	}
}

// An old dump that cannot be removed, as one that somebody has protected, stops no save that
// fits beside it.
func TestProtectedDump(t *testing.T) {
	for files, want := range map[int]bool{3: true, 1: false} {
		dir := newDir(t)
		litter(t, dir, 1, start.Add(-8*24*time.Hour))
		s, _ := openTest(t, dir, Keep{Dumps: files, Free: 1e-12}, func(d disk) disk { return protected{d} })
		_, err := s.Save(testDump("b"))
		if (err == nil) != want {
			t.Errorf("%d dumps are allowed: %v", files, err)
		}
	}
}

// In the place of a dump that cannot be removed the next one goes.
func TestOneProtectedDump(t *testing.T) {
	kept := &keeper{}
	s, _ := openTest(t, newDir(t), Keep{Dumps: 2, Free: 1e-12}, func(d disk) disk { kept.disk = d; return kept })
	first := mustSave(t, s, testDump("b"))
	mustSave(t, s, testDump("b"))
	kept.id = first
	last := mustSave(t, s, testDump("b"))
	if diff := cmp.Diff(map[ID]bool{first: true, last: true}, listIDs(t, s)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// keeper is a disk from which one dump cannot be removed.
type keeper struct {
	disk
	id ID
}

func (k *keeper) remove(n string) error {
	if k.id != "" && strings.Contains(n, string(k.id)) {
		return protected{}.remove(n)
	}
	return k.disk.remove(n)
}

// protected is a disk from which no file can be removed.
type protected struct{ disk }

func (protected) remove(n string) error {
	return &fs.PathError{Op: "remove", Path: n, Err: syscall.EPERM}
}

// TestKeepCounts: Dumps counts dumps and not their files, Bytes those of all files with the
// sidecar, and the age of a dump begins at the end of its window.
func TestKeepCounts(t *testing.T) {
	dir := newDir(t)
	s, _ := openTest(t, dir, testKeep, nil)
	mustSave(t, s, testDump("b"))
	size := assertClean(t, dir, 1).bytes
	sidecar := size
	for _, f := range testDump("b").Files {
		sidecar -= int64(len(f.Data))
	}
	for _, tt := range []struct {
		name string
		keep Keep
		want int // of three dumps, with a window that ended an hour ago for the last
	}{
		{"all", Keep{}, 3},
		{"two, of four files each", Keep{Dumps: 2}, 2},
		{"the bytes of two", Keep{Bytes: 2 * size}, 2},
		{"the bytes of two without a sidecar", Keep{Bytes: 2*size - sidecar}, 1},
		{"two hours", Keep{Age: 2 * time.Hour}, 2},
	} {
		tt.keep.Free = 1e-12
		dir := newDir(t)
		s, c := openTest(t, dir, tt.keep, nil)
		for _, ago := range []time.Duration{0, 0, time.Hour} {
			d := testDump("b")
			d.End = c.now().Add(-ago)
			mustSave(t, s, d)
		}
		c.advance(90 * time.Minute)
		if err := s.tidy(nil); err != nil {
			t.Fatal(err)
		}
		if got := assertClean(t, dir, tt.want); got.bytes != int64(tt.want)*size {
			t.Errorf("%s: %d bytes of %d dumps, which have %d each", tt.name, got.bytes, tt.want, size)
		}
	}
}
