package dump

import (
	"bytes"
	"compress/gzip"
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

// testKeep saves as often as the test likes, on however full a disk.
var testKeep = Keep{Interval: time.Nanosecond, Free: 1e-12}

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
	t.Cleanup(func() { s.Close() })
	return s, c
}

func openWith(dir string, keep Keep, now func() time.Time, random func() string, wrap func(disk) disk) (*Store, error) {
	keep, err := keep.withDefaults()
	if err != nil {
		return nil, err
	}
	d, err := openDisk(dir)
	if err != nil {
		return nil, err
	}
	if wrap != nil {
		d = wrap(d)
	}
	return openOn(d, dir, keep, now, random)
}

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
		Sidecar:    Sidecar{Budget: budget, Sentence: "crypto/tls below 5%", Verdict: "fail", Share: 0.4},
		Profile:    gz(1000),
		Companions: []Companion{{"goroutine.pb.gz", gz(500)}, {"trace.out", gz(300)}},
	}
}

// of marks d as part of a violation.
func (d Dump) of(violation string, severity float64) Dump {
	d.Sidecar.Violation, d.Sidecar.Severity = violation, severity
	return d
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
	infos, err := s.List()
	if err != nil {
		t.Fatal(err)
	}
	ids := make(map[ID]bool)
	for _, i := range infos {
		ids[i.ID] = true
	}
	return ids
}

// census sorts the names in dir.
type census struct {
	temps, marks, finals, sidecars, orphans []string
}

// inspect checks the one thing that must hold at any moment, whatever crashed:
// every file under a final name is whole, and every sidecar has its files.
func inspect(dir string) (census, error) {
	var c census
	var errs []error
	entries, err := os.ReadDir(dir)
	if err != nil {
		return c, err
	}
	for _, e := range entries {
		p := parseFile(e.Name())
		path := filepath.Join(dir, e.Name())
		switch p.kind {
		case temp:
			c.temps = append(c.temps, e.Name())
		case live:
			c.marks = append(c.marks, e.Name())
		case final:
			c.finals = append(c.finals, e.Name())
			data, err := os.ReadFile(path)
			if err != nil {
				errs = append(errs, err)
				continue
			}
			if p.suffix != sidecarSuffix {
				if err := gunzip(data); err != nil {
					errs = append(errs, fmt.Errorf("%s: %w", e.Name(), err))
				}
				if _, err := os.Stat(filepath.Join(dir, fileName(p.id, sidecarSuffix))); err != nil {
					c.orphans = append(c.orphans, e.Name())
				}
				continue
			}
			c.sidecars = append(c.sidecars, e.Name())
			side, err := decodeSidecar(bytes.NewReader(data))
			if err != nil {
				errs = append(errs, fmt.Errorf("%s: %w", e.Name(), err))
			}
			for _, f := range append(side.Companions, side.Profile) {
				if _, err := os.Stat(filepath.Join(dir, f)); err != nil {
					errs = append(errs, fmt.Errorf("%s names %w", e.Name(), err))
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

// assertClean: nothing but whole dumps and n marks of live instances.
func assertClean(t *testing.T, dir string, marks int) census {
	t.Helper()
	c, err := inspect(dir)
	if err != nil {
		t.Error(err)
	}
	if len(c.temps)+len(c.orphans) > 0 || len(c.marks) != marks {
		t.Errorf("left in the directory: temps %v, files without sidecar %v, marks %v (want %d)", c.temps, c.orphans, c.marks, marks)
	}
	return c
}

// faulty is a disk whose every call passes through check first.
type faulty struct {
	disk
	mu    sync.Mutex
	calls int
	// volatile leaves out the real syncs, for tests that are about other things.
	volatile bool
	check    func(call int, op string) error
}

func (d *faulty) hit(op string) error {
	d.mu.Lock()
	d.calls++
	n, check := d.calls, d.check
	d.mu.Unlock()
	if check == nil {
		return nil
	}
	return check(n, op)
}

// arm starts counting anew.
func (d *faulty) arm(check func(call int, op string) error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.calls, d.check = 0, check
}

func (d *faulty) create(n string) (file, error) {
	return d.file("create", func() (file, error) { return d.disk.create(n) })
}
func (d *faulty) openLock(n string) (file, error) {
	return d.file("openLock", func() (file, error) { return d.disk.openLock(n) })
}
func (d *faulty) open(n string) (file, error) {
	return d.file("open", func() (file, error) { return d.disk.open(n) })
}
func (d *faulty) file(op string, do func() (file, error)) (file, error) {
	if err := d.hit(op); err != nil {
		return nil, err
	}
	f, err := do()
	if err != nil {
		return nil, err
	}
	return &faultyFile{f, d}, nil
}
func (d *faulty) lstat(n string) (fs.FileInfo, error) {
	if err := d.hit("lstat"); err != nil {
		return nil, err
	}
	return d.disk.lstat(n)
}
func (d *faulty) rename(a, b string) error {
	if err := d.hit("rename"); err != nil {
		return err
	}
	return d.disk.rename(a, b)
}
func (d *faulty) remove(n string) error {
	if err := d.hit("remove"); err != nil {
		return err
	}
	return d.disk.remove(n)
}
func (d *faulty) list(yield func(string)) error {
	if err := d.hit("list"); err != nil {
		return err
	}
	return d.disk.list(yield)
}
func (d *faulty) sync() error {
	if err := d.hit("sync"); err != nil {
		return err
	}
	if d.volatile {
		return nil
	}
	return d.disk.sync()
}
func (d *faulty) space() (uint64, uint64, error) {
	if err := d.hit("space"); err != nil {
		return 0, 0, err
	}
	return d.disk.space()
}

type faultyFile struct {
	file
	d *faulty
}

// errShort makes a write short without an error.
var errShort = errors.New("short")

func (f *faultyFile) Write(p []byte) (int, error) {
	err := f.d.hit("write")
	if err != nil {
		n, _ := f.file.Write(p[:len(p)/2])
		if errors.Is(err, errShort) {
			err = nil
		}
		return n, err
	}
	return f.file.Write(p)
}
func (f *faultyFile) WriteAt(p []byte, off int64) (int, error) {
	if err := f.d.hit("writeAt"); err != nil {
		return 0, err
	}
	return f.file.WriteAt(p, off)
}
func (f *faultyFile) ReadAt(p []byte, off int64) (int, error) {
	if err := f.d.hit("readAt"); err != nil {
		return 0, err
	}
	return f.file.ReadAt(p, off)
}
func (f *faultyFile) Sync() error {
	if err := f.d.hit("fsync"); err != nil {
		return err
	}
	if f.d.volatile {
		return nil
	}
	return f.file.Sync()
}
func (f *faultyFile) Close() error {
	err := f.d.hit("close")
	return errors.Join(err, f.file.Close())
}
func (f *faultyFile) tryLock() (bool, error) {
	if err := f.d.hit("tryLock"); err != nil {
		return false, err
	}
	return f.file.tryLock()
}
