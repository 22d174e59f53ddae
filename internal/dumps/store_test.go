package dumps

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestSaveAndList(t *testing.T) {
	dir := newDir(t)
	s, _ := openTest(t, dir, testKeep, nil)
	first := mustSave(t, s, testDump("checkout-tls"))
	d := testDump("no function above 20%")
	d.Files[0].Name = "heap.pb.gz"
	second := mustSave(t, s, d)

	infos, total, err := s.List(10)
	if err != nil || total != 2 {
		t.Fatal(total, err)
	}
	host, _ := os.Hostname()
	for i, want := range []struct {
		id           ID
		budget, kind string
	}{{second, "no function above 20%", "heap"}, {first, "checkout-tls", "cpu"}} {
		var budget struct{ Name string }
		side := sidecarOf(t, infos[i])
		json.Unmarshal(side.Budget, &budget)
		if got := infos[i]; got.Broken != "" || got.ID != want.id || budget.Name != want.budget || side.Host != host || side.PID != os.Getpid() ||
			!strings.HasSuffix(side.Build, " "+runtime.Version()+" "+runtime.GOOS+"/"+runtime.GOARCH) || got.Bytes == 0 || got.End.IsZero() ||
			!cmp.Equal(side.Files, names(want.id, want.kind+".pb.gz", "goroutine.pb.gz", "trace.out")) {
			t.Errorf("%+v, sidecar %+v", got, side)
		}
	}
	if infos, total, err := s.List(1); err != nil || len(infos) != 1 || total != 2 || infos[0].ID != second {
		t.Errorf("the newest: %v of %d, %v", infos, total, err)
	}
	if !strings.HasPrefix(string(first), "profguard-20261121T09") || first >= second {
		t.Errorf("ids do not sort by time: %s, %s", first, second)
	}
	assertClean(t, dir, 2)
}

func names(id ID, suffixes ...string) (list []string) {
	for _, suffix := range suffixes {
		list = append(list, fileName(id, suffix))
	}
	return list
}

func TestInvalidDumps(t *testing.T) {
	s, _ := openTest(t, newDir(t), Keep{Bytes: 2 * maxSidecar, Free: 1e-12}, nil)
	for name, tt := range map[string]struct {
		change func(*Dump)
		want   error
	}{
		"kind":           {func(d *Dump) { d.Files[0].Name = "../cpu.pb.gz" }, nil},
		"companion path": {func(d *Dump) { d.Files[1].Name = "../x.out" }, nil},
		"companion json": {func(d *Dump) { d.Files[1].Name = "json" }, nil},
		"same names":     {func(d *Dump) { d.Files[1].Name = "cpu.pb.gz" }, fs.ErrExist},
		"no JSON":        {func(d *Dump) { d.Budget = json.RawMessage(`{`) }, nil},
		"too large":      {func(d *Dump) { d.Files[0].Data = make([]byte, 2*maxSidecar+1) }, ErrLimit},
	} {
		d := testDump("b")
		tt.change(&d)
		if _, err := s.Save(d); err == nil || tt.want != nil && !errors.Is(err, tt.want) {
			t.Errorf("%s: %v, want %v", name, err, tt.want)
		}
	}
	mustSave(t, s, testDump("b"))
	if k := (Keep{}).withDefaults(); k != (Keep{64, 256 << 20, 7 * 24 * time.Hour, 0.10}) {
		t.Errorf("defaults %+v", k)
	}
}

func TestFault_42_WallClockJumps(t *testing.T) {
	s, c := openTest(t, newDir(t), testKeep, nil)
	seen := map[ID]bool{}
	for i := range 20 {
		d := testDump("b")
		d.End = start // all in the same millisecond
		seen[mustSave(t, s, d)] = true
		c.advance(time.Duration(1-i%3) * 24 * time.Hour)
	}
	if got := listIDs(t, s); len(seen) != 20 || !cmp.Equal(seen, got) {
		t.Errorf("%d names, %d dumps, want 20", len(seen), len(got))
	}
}

func TestAge(t *testing.T) {
	dir := newDir(t)
	s, c := openTest(t, dir, testKeep, nil)
	old := mustSave(t, s, testDump("b").marked(First)) // first and worst, but old
	c.advance(6 * 24 * time.Hour)
	young := mustSave(t, s, testDump("b"))
	for _, days := range []int{0, 1} {
		c.advance(time.Duration(days) * 25 * time.Hour)
		if err := s.tidy(nil); err != nil {
			t.Error(err)
		}
		if len(listIDs(t, s)) != 2-days {
			t.Errorf("after 6 and %d days there are %v", days, listIDs(t, s))
		}
	}
	if diff := cmp.Diff(map[ID]bool{young: true}, listIDs(t, s)); diff != "" {
		t.Errorf("%s should have gone:\n%s", old, diff)
	}
	assertClean(t, dir, 1)
}

func TestClosedStore(t *testing.T) {
	dir := newDir(t)
	s, _ := openTest(t, dir, testKeep, nil)
	id := mustSave(t, s, testDump("b"))
	for range 2 {
		if err := s.Close(context.Background()); err != nil {
			t.Error(err)
		}
	}
	_, saveErr := s.Save(testDump("b"))
	_, _, listErr := s.List(10)
	_, openErr := s.Open(id, fileName(id, "json"))
	for _, err := range []error{saveErr, listErr, openErr} {
		if !errors.Is(err, fs.ErrClosed) {
			t.Errorf("after Close: %v", err)
		}
	}
	assertClean(t, dir, 1)
	// A store that has no dumps leaves nothing.
	empty, _ := openTest(t, newDir(t), testKeep, nil)
	if err := empty.Close(context.Background()); err != nil {
		t.Error(err)
	}
	next, _ := openTest(t, dir, testKeep, nil)
	next.Close(context.Background())
	if c := assertClean(t, dir, 1); len(c.folders) != 1 {
		t.Errorf("folders %v", c.folders)
	}
}

func TestReason(t *testing.T) {
	if len(noSpace) == 0 {
		t.Skip("the errors of this system are not told apart")
	}
	errs := map[string]error{
		"": nil, "limit": ErrLimit, "refused": ErrRefused, "dropped": ErrDropped,
		"permission": fs.ErrPermission, "no_space": syscall.ENOSPC, "other": errors.New("x"),
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
		if got := Reason(&fs.PathError{Err: errno}); got != "no_space" {
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
	dir := newDir(t)
	s, _ := openTest(t, dir, testKeep, nil)
	id := mustSave(t, s, Dump{Name: "b", Files: []File{{"allocs.pb.gz", b.Bytes()}}})
	cmd := exec.Command(goTool, "tool", "pprof", "-top", "-sample_index=alloc_space", filepath.Join(home(dir, s), fileName(id, "allocs.pb.gz")))
	out, err := cmd.CombinedOutput()
	if err != nil || !bytes.Contains(out, []byte("TestDumpOpensInPprof")) {
		t.Errorf("go tool pprof: %v\n%s", err, out)
	}
	_ = ballast
}
