package dump

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/pprof"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestSaveAndList(t *testing.T) {
	s, _ := openTest(t, newDir(t), testKeep, nil)
	first := mustSave(t, s, testDump("checkout-tls"))
	d := testDump("no function above 20%")
	d.Sidecar.Kind = "heap"
	second := mustSave(t, s, d)

	infos, err := s.List()
	if err != nil {
		t.Fatal(err)
	}
	host, _ := os.Hostname()
	want := []Info{{
		ID: second, Budget: "no function above 20%", Profile: fileName(second, "heap.pb.gz"),
		Companions: []string{fileName(second, "goroutine.pb.gz"), fileName(second, "trace.out")},
	}, {
		ID: first, Budget: "checkout-tls", Profile: fileName(first, "cpu.pb.gz"),
		Companions: []string{fileName(first, "goroutine.pb.gz"), fileName(first, "trace.out")},
	}}
	if diff := cmp.Diff(want, infos, cmpopts.IgnoreFields(Info{}, "Time", "Bytes", "Sidecar", "Err")); diff != "" {
		t.Error(diff)
	}
	for _, i := range infos {
		side := i.Sidecar
		if i.Err != nil || side.ID != i.ID || side.Host != host || side.PID != os.Getpid() || side.Build.Go == "" ||
			side.Profile != i.Profile || !cmp.Equal(side.Companions, i.Companions) || side.Share != 0.4 || i.Bytes == 0 {
			t.Errorf("sidecar: %v %+v", i.Err, side)
		}
	}
	if !strings.HasPrefix(string(first), "profguard-20261121T09") || first >= second {
		t.Errorf("ids do not sort by time: %s, %s", first, second)
	}
	assertClean(t, s.Dir(), 1)
}

func TestInvalidDumpsAndConfigs(t *testing.T) {
	s, _ := openTest(t, newDir(t), Keep{Bytes: 10_000, Interval: 1, Free: 1e-12}, nil)
	for name, tt := range map[string]struct {
		change func(*Dump)
		want   error
	}{
		"no budget":       {func(d *Dump) { d.Sidecar.Budget = "" }, ErrInvalid},
		"no profile":      {func(d *Dump) { d.Profile = nil }, ErrInvalid},
		"kind":            {func(d *Dump) { d.Sidecar.Kind = "../cpu" }, ErrInvalid},
		"companion path":  {func(d *Dump) { d.Companions[0].Name = "../x.out" }, ErrInvalid},
		"companion json":  {func(d *Dump) { d.Companions[0].Name = "json" }, ErrInvalid},
		"companion twice": {func(d *Dump) { d.Companions[0].Name = "trace.out" }, ErrInvalid},
		"same as profile": {func(d *Dump) { d.Companions[0].Name = "cpu.pb.gz" }, ErrInvalid},
		"year":            {func(d *Dump) { d.Sidecar.Time = time.Date(12026, 1, 1, 0, 0, 0, 0, time.UTC) }, ErrInvalid},
		"too large":       {func(d *Dump) { d.Profile = make([]byte, 10_001) }, ErrLimit},
	} {
		d := testDump("b")
		tt.change(&d)
		if _, err := s.Save(d); !errors.Is(err, tt.want) {
			t.Errorf("%s: %v, want %v", name, err, tt.want)
		}
	}
	mustSave(t, s, testDump("b"))

	dir := newDir(t)
	_, err := Open(dir, Keep{Files: -1, Bytes: -1, Age: -1, Interval: -1, Free: math.NaN()})
	for _, field := range []string{"Files", "Bytes", "Age", "Interval", "Free"} {
		if !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), "Keep."+field) {
			t.Errorf("Keep.%s is not in %v", field, err)
		}
	}
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Error("a wrong Keep left a directory behind")
	}
	if k, err := (Keep{}).withDefaults(); err != nil ||
		k != (Keep{64, 256 << 20, 7 * 24 * time.Hour, 10 * time.Minute, 0.1}) {
		t.Errorf("defaults %+v, %v", k, err)
	}
}

func TestDirectoryMode(t *testing.T) {
	if !hasModes {
		t.Skip("no permission bits here")
	}
	for mode, ok := range map[os.FileMode]bool{0o700: true, 0o755: true, 0o770: false, 0o707: false, 0o1777: false} {
		dir := t.TempDir()
		if err := os.Chmod(dir, mode&os.ModePerm); err != nil {
			t.Fatal(err)
		}
		s, err := Open(dir, testKeep)
		if ok != (err == nil) || (!ok && (!errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), "chmod go-w"))) {
			t.Errorf("mode %o: %v", mode, err)
		}
		if err == nil {
			s.Close()
		}
	}
}

func TestInterval(t *testing.T) {
	dir := newDir(t)
	s, c := openTest(t, dir, Keep{Free: 1e-12}, nil)
	mustSave(t, s, testDump("a"))
	mustSave(t, s, testDump("b")) // each budget has its own
	if _, err := s.Save(testDump("a")); Reason(err) != "too_soon" {
		t.Errorf("second dump at once: %v", err)
	}
	c.advance(10 * time.Minute)
	mustSave(t, s, testDump("a"))

	// A restart does not reset it: the limit would not hold in a crash loop.
	s.Close()
	again, err := openWith(dir, Keep{Free: 1e-12}, c.now, randomHex, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if _, err := again.Save(testDump("a")); Reason(err) != "too_soon" {
		t.Errorf("at once after a restart: %v", err)
	}
	mustSave(t, again, testDump("b"))
	c.advance(10 * time.Minute)
	mustSave(t, again, testDump("a"))
}

func TestFault_42_WallClockJumps(t *testing.T) {
	s, c := openTest(t, newDir(t), testKeep, nil)
	seen := map[ID]bool{}
	for i := range 20 {
		d := testDump("b")
		d.Sidecar.Time = start // all in the same millisecond
		seen[mustSave(t, s, d)] = true
		c.advance(time.Duration(1-i%3) * 24 * time.Hour)
	}
	if got := listIDs(t, s); len(seen) != 20 || !cmp.Equal(seen, got) {
		t.Errorf("%d names, %d dumps, want 20", len(seen), len(got))
	}

	// A clock that was in the future when the last dump was made must not stop
	// the dumps until it gets there again.
	slow, c := openTest(t, newDir(t), Keep{Free: 1e-12}, nil)
	mustSave(t, slow, testDump("b"))
	c.advance(-24 * time.Hour)
	mustSave(t, slow, testDump("b"))
}

func TestAge(t *testing.T) {
	dir := newDir(t)
	s, c := openTest(t, dir, testKeep, nil)
	old := mustSave(t, s, testDump("b").of("v", 1)) // first and worst, but old
	c.advance(6 * 24 * time.Hour)
	young := mustSave(t, s, testDump("b"))
	if cleaned, err := s.Clean(); err != nil || cleaned != (Cleaned{}) {
		t.Errorf("nothing is too old yet: %+v, %v", cleaned, err)
	}
	c.advance(25 * time.Hour)
	if cleaned, err := s.Clean(); err != nil || cleaned != (Cleaned{Files: 4}) {
		t.Errorf("cleaned %+v, %v", cleaned, err)
	}
	if diff := cmp.Diff(map[ID]bool{young: true}, listIDs(t, s)); diff != "" {
		t.Errorf("%s should have gone:\n%s", old, diff)
	}
	assertClean(t, dir, 1)
}

func TestClosedStore(t *testing.T) {
	s, _ := openTest(t, newDir(t), testKeep, nil)
	for range 2 {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	_, saveErr := s.Save(testDump("b"))
	_, cleanErr := s.Clean()
	_, listErr := s.List()
	for _, err := range []error{saveErr, cleanErr, listErr, s.Delete("profguard-20261121T091500.123Z-b-00000001-00000002")} {
		if Reason(err) != "closed" {
			t.Errorf("after Close: %v", err)
		}
	}
	assertClean(t, s.Dir(), 0)
}

func TestMarkIsRenewed(t *testing.T) {
	dir := newDir(t)
	a, _ := openTest(t, dir, Keep{Files: 2, Interval: 1, Free: 1e-12}, nil)
	ids := map[ID]bool{mustSave(t, a, testDump("b")): true, mustSave(t, a, testDump("b")): true}
	if err := os.Remove(filepath.Join(dir, a.liveName())); err != nil {
		t.Fatal(err)
	}
	a.x = nil // as after ten minutes
	if _, err := a.Clean(); err != nil {
		t.Fatal(err)
	}
	b, _ := openTest(t, dir, Keep{Files: 2, Interval: 1, Free: 1e-12}, nil)
	if _, err := b.Save(testDump("b")); Reason(err) != "limit" {
		t.Errorf("b took a for dead: %v", err)
	}
	if diff := cmp.Diff(ids, listIDs(t, b)); diff != "" {
		t.Error(diff)
	}
	// Room for b comes when a, above its share of one, cleans up; and a's
	// dumps are anybody's once it is gone.
	if _, err := a.Clean(); err != nil {
		t.Fatal(err)
	}
	mustSave(t, b, testDump("b"))
	a.Close()
	mustSave(t, b, testDump("b"))
	mustSave(t, b, testDump("b"))
	if got := listIDs(t, b); len(got) != 2 {
		t.Errorf("%d dumps", len(got))
	}
}

func TestReason(t *testing.T) {
	errs := map[string]error{
		"": nil, "invalid": ErrInvalid, "too_soon": ErrTooSoon, "limit": ErrLimit, "refused": ErrRefused, "busy": ErrBusy,
		"closed": fs.ErrClosed, "gone": fs.ErrNotExist, "permission": fs.ErrPermission, "short_write": io.ErrShortWrite,
		"no_space": ErrNoSpace, "other": errors.New("x"),
	}
	for _, reason := range Reasons() {
		if errs[reason] == nil {
			t.Errorf("no error has the reason %q", reason)
		}
	}
	if n := len(Reasons()); n != len(errs)-1 {
		t.Errorf("%d reasons, but errors have %d", n, len(errs)-1)
	}
	for want, err := range errs {
		if err != nil {
			err = fmt.Errorf("save: %w", err)
		}
		if got := Reason(err); got != want {
			t.Errorf("Reason(%v) = %q, want %q", err, got, want)
		}
	}
	for _, errno := range []error{syscall.ENOSPC, syscall.EFBIG} {
		if got := Reason(&fs.PathError{Err: errno}); hasModes && got != "no_space" {
			t.Errorf("Reason(%v) = %q", errno, got)
		}
	}
}

func TestDumpOpensInPprof(t *testing.T) {
	goTool, err := exec.LookPath("go")
	if err != nil {
		t.Skip("no go command to run pprof with")
	}
	ballast := make([][]byte, 64)
	for i := range ballast {
		ballast[i] = make([]byte, 1<<20)
	}
	var b bytes.Buffer
	if err := pprof.Lookup("allocs").WriteTo(&b, 0); err != nil {
		t.Fatal(err)
	}
	s, _ := openTest(t, newDir(t), testKeep, nil)
	id := mustSave(t, s, Dump{Sidecar: Sidecar{Budget: "b", Kind: "allocs"}, Profile: b.Bytes()})
	cmd := exec.Command(goTool, "tool", "pprof", "-top", "-sample_index=alloc_space", filepath.Join(s.Dir(), fileName(id, "allocs.pb.gz")))
	out, err := cmd.CombinedOutput()
	if err != nil || !bytes.Contains(out, []byte("TestDumpOpensInPprof")) {
		t.Errorf("go tool pprof: %v\n%s", err, out)
	}
	_ = ballast
}
