package dumps

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// childEnv makes the test binary run one of children instead of the tests.
const childEnv = "PROFGUARD_DUMP_TEST_CHILD"

func TestMain(m *testing.M) {
	if role, dir, ok := strings.Cut(os.Getenv(childEnv), "="); ok {
		children[role](dir)
		return
	}
	goleak.VerifyTestMain(m)
}

// testKeep does not depend on how full the machine's disk is.
var testKeep = Keep{Free: 1e-12}

// home is the folder of a store.
func home(dir string, s *Store) string { return filepath.Join(inside(dir), folderName(s.instance)) }

// inside is the folder of all stores.
func inside(dir string) string { return filepath.Join(dir, FolderName) }

var start = time.Date(2026, 11, 21, 9, 15, 0, 123e6, time.UTC)

// clock is a wall clock that tests move.
type clock struct{ nanos atomic.Int64 }

func newClock() *clock {
	c := new(clock)
	c.nanos.Store(start.UnixNano())
	return c
}

func (c *clock) now() time.Time          { return time.Unix(0, c.nanos.Load()).UTC() }
func (c *clock) advance(d time.Duration) { c.nanos.Add(int64(d)) }

// counter is a source of foreseeable randomness.
func counter(from uint32) func() string {
	var n atomic.Uint32
	n.Store(from)
	return func() string { return fmt.Sprintf("%08x", n.Add(1)) }
}

// openTest opens a store on the real directory dir, with a clock that every
// look moves by a second. wrap, if not nil, wraps the disk.
func openTest(t *testing.T, dir string, keep Keep, wrap func(disk) disk) (*Store, *clock) {
	t.Helper()
	c := newClock()
	s, err := openWith(dir, keep, func() time.Time { c.advance(time.Second); return c.now() }, randomHex, wrap)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close(context.Background()) }) // again is fine
	return s, c
}

func openWith(dir string, keep Keep, now func() time.Time, random func() string, wrap func(disk) disk) (*Store, error) {
	return openReporting(dir, keep, now, random, wrap, discard)
}

// openRunning is openTest with a report.
func openRunning(t *testing.T, dir string, keep Keep, wrap func(disk) disk, report func(Outcome)) *Store {
	t.Helper()
	c := newClock()
	s, err := openReporting(dir, keep, func() time.Time { c.advance(time.Second); return c.now() }, randomHex, wrap, report)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// openReporting has all the seams.
func openReporting(dir string, keep Keep, now func() time.Time, random func() string, wrap func(disk) disk, report func(Outcome)) (*Store, error) {
	d, err := newDisk(dir, FolderName)
	if err != nil {
		return nil, err
	}
	if wrap != nil {
		d = wrap(d)
	}
	s := &Store{disk: d, keep: keep, now: now, random: random, report: report}
	if err := s.open(); err != nil {
		return nil, err
	}
	return s, nil
}

// discard is for outcomes that a test does not wait for.
func discard(Outcome) {}

// fileName is the name of a file of a dump.
func fileName(id ID, suffix string) string { return string(id) + "." + suffix }

func newDir(t *testing.T) string { return filepath.Join(t.TempDir(), "dumps") }

// gz is a valid gzip stream of about n bytes. It is made once for each size,
// because compressing is what tests would spend their time on.
func gz(n int) []byte {
	if b, ok := streams.Load(n); ok {
		return b.([]byte)
	}
	b, _ := streams.LoadOrStore(n, newStream(n))
	return b.([]byte)
}

var streams sync.Map

func newStream(n int) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	r := rand.NewChaCha8([32]byte{1})
	io.CopyN(w, r, int64(n))
	w.Close()
	return b.Bytes()
}

func testDump(budget string) Dump {
	return Dump{
		Name: budget, Budget: json.RawMessage(`{"name":"` + budget + `"}`),
		Files: []File{{"cpu.pb.gz", gz(1000)}, {"goroutine.pb.gz", gz(500)}, {"trace.out", gz(300)}},
	}
}

func (d Dump) marked(mark string) Dump {
	d.Mark = mark
	return d
}

// Save does at once what the store's goroutine does with a dump that it was offered.
func (s *Store) Save(d Dump) (ID, error) {
	p, err := s.prepare(d)
	if err != nil {
		return "", err
	}
	_, err = s.write(p)
	return p.id, err
}

// own are the dumps and remains that a store may delete.
func own(t *testing.T, s *Store) []*entry {
	t.Helper()
	entries, err := s.folders(s.mine)
	if err != nil {
		t.Error(err)
	}
	return entries
}

func mustSave(t *testing.T, s *Store, d Dump) ID {
	t.Helper()
	id, err := s.Save(d)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func listIDs(t *testing.T, s *Store) map[ID]bool {
	t.Helper()
	infos, _, err := s.List(1 << 20)
	if err != nil {
		t.Fatal(err)
	}
	ids := make(map[ID]bool)
	for _, i := range infos {
		ids[i.ID] = true
	}
	return ids
}

// census sorts the files in the folders of dir, by their paths.
type census struct {
	folders, temps, dumps, orphans []string
	bytes                          int64 // of whole dumps
}

// inspect checks the one thing that must hold at any moment, whatever crashed:
// every file under a final name is whole, and every sidecar has its files.
func inspect(dir string) (census, error) {
	var c census
	var errs []error
	folders, err := os.ReadDir(inside(dir))
	if err != nil {
		return c, err
	}
	for _, folder := range folders {
		if _, ok := parseFolder(folder.Name()); !ok {
			continue
		}
		c.folders = append(c.folders, folder.Name())
		files, err := os.ReadDir(filepath.Join(inside(dir), folder.Name()))
		errs = append(errs, err)
		for _, file := range files {
			n, suffix, ok := parseFile(file.Name())
			path := filepath.Join(inside(dir), folder.Name(), file.Name())
			if !ok {
				continue
			}
			if strings.HasSuffix(suffix, tempExt) {
				c.temps = append(c.temps, path)
				continue
			}
			data, err := os.ReadFile(path)
			if err != nil {
				errs = append(errs, err)
				continue
			}
			c.bytes += int64(len(data))
			if suffix != sidecarSuffix {
				if err := gunzip(data); err != nil {
					errs = append(errs, fmt.Errorf("%s: %w", path, err))
				}
				if _, err := os.Stat(filepath.Join(filepath.Dir(path), fileName(n.id, sidecarSuffix))); err != nil {
					c.orphans = append(c.orphans, path)
				}
				continue
			}
			c.dumps = append(c.dumps, string(n.id))
			var side Sidecar
			if err := json.Unmarshal(data, &side); err != nil {
				errs = append(errs, fmt.Errorf("%s: %w", path, err))
			}
			for _, name := range side.Files {
				if _, err := os.Stat(filepath.Join(filepath.Dir(path), name)); err != nil {
					errs = append(errs, fmt.Errorf("%s names %w", path, err))
				}
			}
		}
	}
	return c, errors.Join(errs...)
}

func gunzip(data []byte) error {
	r, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, r)
	return err
}

// assertClean: nothing but n whole dumps.
func assertClean(t *testing.T, dir string, n int) census {
	t.Helper()
	c, err := inspect(dir)
	if err != nil {
		t.Error(err)
	}
	if len(c.temps)+len(c.orphans) > 0 || len(c.dumps) != n {
		t.Errorf("temporary files %v, files without sidecar %v, dumps %v (want %d)", c.temps, c.orphans, c.dumps, n)
	}
	return c
}

// faulty is a disk whose every call passes through check first. After that it is
// noted, with what it was about.
type faulty struct {
	disk
	mu    sync.Mutex
	calls int
	log   []string
	bytes int // that were read
	// volatile leaves out the real syncs, for tests that are about other things.
	volatile bool
	check    func(call int, op string) error
}

func (d *faulty) hit(op string, names ...string) error {
	d.mu.Lock()
	d.calls++
	n, check := d.calls, d.check
	d.mu.Unlock()
	if check != nil {
		if err := check(n, op); err != nil {
			return err
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.log = append(d.log, strings.Join(append([]string{op}, names...), " "))
	return nil
}

// arm starts counting anew.
func (d *faulty) arm(check func(call int, op string) error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.calls, d.log, d.check = 0, nil, check
}

func (d *faulty) mkdir(n string) error {
	if err := d.hit("mkdir", n); err != nil {
		return err
	}
	return d.disk.mkdir(n)
}
func (d *faulty) create(n string) (file, error) { return d.file("create", n, d.disk.create) }
func (d *faulty) read(n string) (file, error)   { return d.file("read", n, d.disk.read) }
func (d *faulty) lock(n string) (io.Closer, error) {
	if err := d.hit("lock", n); err != nil {
		return nil, err
	}
	return d.disk.lock(n)
}
func (d *faulty) file(op, n string, do func(string) (file, error)) (file, error) {
	if err := d.hit(op, n); err != nil {
		return nil, err
	}
	f, err := do(n)
	if err != nil {
		return nil, err
	}
	return &faultyFile{f, d, n}, nil
}
func (d *faulty) lstat(n string) (fs.FileInfo, error) {
	if err := d.hit("lstat", n); err != nil {
		return nil, err
	}
	return d.disk.lstat(n)
}
func (d *faulty) rename(a, b string) error {
	if err := d.hit("rename", a, b); err != nil {
		return err
	}
	return d.disk.rename(a, b)
}
func (d *faulty) remove(n string) error {
	if err := d.hit("remove", n); err != nil {
		return err
	}
	return d.disk.remove(n)
}
func (d *faulty) list(n string) ([]string, error) {
	if err := d.hit("list", n); err != nil {
		return nil, err
	}
	return d.disk.list(n)
}
func (d *faulty) sync(n string) error {
	if err := d.hit("sync", n); err != nil || d.volatile {
		return err
	}
	return d.disk.sync(n)
}
func (d *faulty) space() (uint64, uint64, error) {
	if err := d.hit("space"); err != nil {
		return 0, 0, err
	}
	return d.disk.space()
}

type faultyFile struct {
	file
	d    *faulty
	name string
}

func (f *faultyFile) Read(p []byte) (int, error) {
	n, err := f.file.Read(p)
	f.d.mu.Lock()
	defer f.d.mu.Unlock()
	f.d.bytes += n
	return n, err
}

// errShort makes a write short without an error.
var errShort = errors.New("short")

func (f *faultyFile) Write(p []byte) (int, error) {
	err := f.d.hit("write", f.name)
	if err != nil {
		n, _ := f.file.Write(p[:len(p)/2])
		if errors.Is(err, errShort) {
			err = nil
		}
		return n, err
	}
	return f.file.Write(p)
}
func (f *faultyFile) Sync() error {
	if err := f.d.hit("fsync", f.name); err != nil || f.d.volatile {
		return err
	}
	return f.file.Sync()
}
func (f *faultyFile) Close() error {
	err := f.d.hit("close", f.name)
	return errors.Join(err, f.file.Close())
}
