package reference

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/release"
	"github.com/profguard/profguard/internal/tree"
)

// leave leaves the reference of a build, written so long ago.
func leave(t *testing.T, dir, version string, ago time.Duration) (file string) {
	t.Helper()
	r := begin(t, dir, build(version), nil)
	r.now = time.Now().Add(-ago)
	r.windows(10, 0)
	r.Stop(t.Context())
	file = filepath.Join(dir, "profguard", "references", nameOf(build(version)))
	age(t, file, ago)
	return file
}

func age(t *testing.T, file string, ago time.Duration) {
	t.Helper()
	at := time.Now().Add(-ago)
	if err := os.Chtimes(file, at, at); err != nil {
		t.Fatal(err)
	}
}

// charged is the tree of a table.
func charged(t *testing.T, table *decode.Table) *tree.Tree {
	t.Helper()
	var c tree.Counter
	sum, err := c.Tree(t.Context(), table)
	if err != nil {
		t.Fatal(err)
	}
	return sum
}

// problems takes windows, and returns what they say of files.
func (r *running) problems(n int) (list []string) {
	r.t.Helper()
	for range n {
		r.now = r.now.Add(time.Minute)
		if err := r.Window(charged(r.t, table(r.t, small)), window(0.4, 100)); err != nil {
			list = append(list, err.Error())
		}
		r.await()
		r.rest(context.Background())
	}
	return list
}

// loaded is what a folder has.
func loaded(dir string, build release.Build, now time.Time) (before, own *release.Side, err error) {
	f := load(Config{Dir: dir}, build, now)
	return f.before, f.own, f.err
}

// TestFault_141_FolderNotReadable: a folder that is a link, belongs to all, or may not be opened, and a file
// in its place: the problem is told as long as it lasts, and nothing claims that there was no build before.
// When the folder is right again, it is read, and what an earlier process of the build has left is kept.
func TestFault_141_FolderNotReadable(t *testing.T) {
	for name, test := range map[string]struct {
		spoil func(folder string) error
		want  string
	}{
		"a link": {func(folder string) error {
			return errorsOf(os.Rename(folder, folder+".away"), os.Symlink(folder+".away", folder))
		}, "is no folder"},
		"a file": {func(folder string) error {
			return errorsOf(os.Rename(folder, folder+".away"), os.WriteFile(folder, nil, 0o600))
		}, "is no folder"},
		"for all":   {func(folder string) error { return os.Chmod(folder, 0o777) }, "mode 0777"},
		"forbidden": {func(folder string) error { return os.Chmod(folder, 0) }, "permission denied"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := newDir(t)
			leave(t, dir, "v1", 2*time.Hour)
			leave(t, dir, "v2", time.Hour)
			folder := filepath.Join(dir, "profguard", "references")
			if err := test.spoil(folder); err != nil {
				t.Skip(err)
			}
			t.Cleanup(func() { os.Chmod(folder, 0o700) })
			if list, err := os.ReadDir(folder); name == "forbidden" && err == nil {
				t.Skipf("root may read all: %d files", len(list))
			}
			r := begin(t, dir, build("v2"), nil)
			told := r.problems(12)
			if len(told) < 11 || !strings.Contains(told[0], test.want) || !strings.Contains(told[10], test.want) {
				t.Errorf("told %q, want %q in each window, perhaps without the first", told, test.want)
			}
			if _, why := r.compare(); !strings.Contains(why, "no reference of an earlier build could be read: ") || !strings.Contains(why, test.want) {
				t.Error(why)
			}
			if _, err := os.Lstat(folder + ".away"); err == nil {
				if err := errorsOf(os.Remove(folder), os.Rename(folder+".away", folder)); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.Chmod(folder, 0o700); err != nil {
				t.Fatal(err)
			}
			r.problems(10) // the longest pause
			if told := r.problems(10); len(told) > 0 {
				t.Errorf("when it is right again: %q", told)
			}
			if c, why := r.compare(); c == nil || c.Before.Build.Version != "v1" || c.Now.Samples != (10+12+20)*40 {
				t.Errorf("when it is right again: %+v, %s", c, why)
			}
			r.Stop(t.Context())
		})
	}
}

func errorsOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// TestFault_142_HugeReference: a file of a gigabyte, a gzip bomb, and what is no profile in the place of the
// newest reference are told, and the one before it is compared with.
func TestFault_142_HugeReference(t *testing.T) {
	var bomb bytes.Buffer
	z, _ := gzip.NewWriterLevel(&bomb, gzip.BestSpeed)
	for range 64 {
		z.Write(make([]byte, 1<<20))
	}
	z.Close()
	for name, test := range map[string]struct {
		spoil func(file string) error
		most  uint64 // memory for reading
		want  string
	}{
		"a gigabyte": {func(file string) error { return os.Truncate(file, 1<<30) }, 4 << 20, "it has 1073741824 bytes"},
		"a bomb":     {func(file string) error { return os.WriteFile(file, bomb.Bytes(), 0o600) }, 80 << 20, "bytes"},
		"no profile": {func(file string) error { return os.WriteFile(file, []byte("reference"), 0o600) }, 4 << 20, "decode"},
		"empty":      {func(file string) error { return os.Truncate(file, 0) }, 4 << 20, "decode"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := newDir(t)
			leave(t, dir, "v1", 2*time.Hour)
			file := leave(t, dir, "v2", time.Hour)
			if err := test.spoil(file); err != nil {
				t.Fatal(err)
			}
			age(t, file, time.Hour)
			var was, is runtime.MemStats
			runtime.ReadMemStats(&was)
			before, own, err := loaded(dir, build("v3"), time.Now())
			runtime.ReadMemStats(&is)
			if used := is.TotalAlloc - was.TotalAlloc; used > test.most {
				t.Errorf("reading took %d bytes of memory, want at most %d", used, test.most)
			}
			if own != nil || before == nil || before.Build.Version != "v1" || err == nil || !strings.Contains(err.Error(), nameOf(build("v2"))) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%+v, %+v, %v", before, own, err)
			}
			r := begin(t, dir, build("v3"), nil)
			if told := r.problems(4); len(told) < 3 || !strings.Contains(told[0], test.want) {
				t.Errorf("told %q, want the same in each window, perhaps without the first", told)
			}
			r.problems(6)
			if told := r.problems(1); len(told) > 0 {
				t.Errorf("told when the reference of this build was written: %q", told)
			}
			if c, why := r.compare(); c == nil || c.Before.Build.Version != "v1" {
				t.Errorf("%+v, %s", c, why)
			}
		})
	}
}

// TestFault_143_ClockSetBack: the clock goes back a day after two releases. The next build is compared with
// the second one still, and a build whose file has the right time goes before both.
func TestFault_143_ClockSetBack(t *testing.T) {
	dir := newDir(t)
	leave(t, dir, "v8", -23*time.Hour)
	leave(t, dir, "v9", -24*time.Hour)
	leave(t, dir, "v10", -22*time.Hour) // which is the first by name
	compared := func(version, want string) {
		t.Helper()
		r := begin(t, dir, build(version), nil)
		r.windows(10, 0)
		if c, why := r.compare(); c == nil || c.Before.Build.Version != want {
			t.Errorf("%s is compared with %+v, %s, want %s", version, c, why, want)
		}
		r.Stop(t.Context())
	}
	compared("v11", "v9")
	compared("v12", "v11")
	// In a process that runs, the clock has no part in when it writes.
	r := begin(t, dir, build("v13"), nil)
	r.windows(10, 0)
	r.rest(t.Context())
	written := r.written
	r.now = r.now.Add(-24 * time.Hour)
	r.windows(10, 0)
	if r.written != written {
		t.Error("it is written again when the clock goes back")
	}
	r.windows(24*60, 0)
	if !r.written.After(written) {
		t.Error("it is not written any more")
	}
}

// TestFault_144_TwoBuildsAtOnce: in a rolling update two builds write into one folder in turns. Each keeps its
// own, and the new one is compared with the old one. After a rollback, the old build goes on with its own
// reference, and is compared with the one that was rolled back.
func TestFault_144_TwoBuildsAtOnce(t *testing.T) {
	dir := newDir(t)
	old := begin(t, dir, build("v1"), nil)
	old.windows(10, 0)
	old.rest(t.Context())
	next := begin(t, dir, build("v2"), nil)
	for range 5 {
		old.windows(11, 0)
		next.windows(11, 30)
	}
	for r, want := range map[*running]string{old: "first build here", next: ""} {
		if _, why := r.compare(); !strings.Contains(why, want) || want == "" && why != "" {
			t.Errorf("%s, want %q", why, want)
		}
	}
	if c, _ := next.compare(); c.Before.Build.Version != "v1" || !c.Functions[0].Named {
		t.Errorf("%+v", c)
	}
	old.Stop(t.Context())
	next.Stop(t.Context())
	if n := len(files(t, dir)); n != 2 {
		t.Errorf("%d files", n)
	}
	age(t, filepath.Join(dir, "profguard", "references", nameOf(build("v1"))), time.Minute)
	back := begin(t, dir, build("v1"), nil)
	back.windows(10, 0)
	c, why := back.compare()
	if c == nil || c.Before.Build.Version != "v2" || c.Now.Samples != float64(75*40) || c.Process.Value >= 0 || len(c.Functions) == 0 || c.Functions[0].Named {
		t.Errorf("%+v, %s", c, why)
	}
}

// TestFault_145_OldBuildWritesLast: in a rolling update the old build is the last one to write, as its processes
// end after the new ones have begun. What follows is compared with the new one still, and the old one,
// started again beside it, not with what came after it, if there was one before.
func TestFault_145_OldBuildWritesLast(t *testing.T) {
	dir := newDir(t)
	leave(t, dir, "v0", time.Hour)
	old := begin(t, dir, build("v1"), nil)
	old.windows(10, 30)
	next := begin(t, dir, build("v2"), nil)
	next.windows(10, 0)
	next.Stop(t.Context())
	old.windows(10, 30)
	old.Stop(t.Context())
	age(t, filepath.Join(dir, "profguard", "references", nameOf(build("v2"))), time.Second)
	for version, want := range map[string]string{"v3": "v2", "v2": "v1", "v1": "v0", "v0": "v2"} {
		r := begin(t, dir, build(version), nil)
		r.windows(10, 0)
		if c, why := r.compare(); c == nil || c.Before.Build.Version != want {
			t.Errorf("%s is compared with %+v, %s, want %s", version, c, why, want)
		}
		if r.rest(t.Context()); version == "v3" { // it was there for a look only
			if err := os.Remove(filepath.Join(dir, "profguard", "references", nameOf(build("v3")))); err != nil {
				t.Fatal(err)
			}
		}
	}
	// The build was first seen when it was, whatever goes on with it.
	_, own, err := loaded(dir, build("v1"), time.Now())
	if err != nil || own == nil || !own.Since.Equal(old.side.Since) {
		t.Errorf("%+v, %v, want it since %v", own, err, old.side.Since)
	}
	// An older profguard did not write that: then it is the time of the file.
	own.Since = time.Time{}
	if err := os.WriteFile(filepath.Join(dir, "profguard", "references", nameOf(build("v1"))), Encode(own, time.Now()), 0o600); err != nil {
		t.Fatal(err)
	}
	age(t, filepath.Join(dir, "profguard", "references", nameOf(build("v1"))), -5*time.Minute)
	if before, _, err := loaded(dir, build("v3"), time.Now().Add(time.Hour)); err != nil || before == nil || before.Build.Version != "v1" {
		t.Errorf("%+v, %v, want v1", before, err)
	}
}

// TestFirstMinute: what is there is looked for before the first window that is kept, a build that had few of
// these is not compared, and leaves nothing.
func TestFirstMinute(t *testing.T) {
	dir := newDir(t)
	leave(t, dir, "v1", time.Hour)
	r := begin(t, dir, build("v2"), nil)
	r.Begin()
	r.await()
	if r.Before() == nil {
		t.Error("the build before is not known in the first minute")
	}
	for n := range leastWindows {
		c, why := r.compare()
		if want := fmt.Sprintf("from 5 windows after the first minute and 100 samples on, and there are %d", n); c != nil || !strings.Contains(why, want) {
			t.Errorf("after %d windows: %+v, %s", n, c, why)
		}
		if _, news := r.Balance(t.Context()); news {
			t.Errorf("the balance was told after %d windows", n)
		}
		r.windows(1, 30)
	}
	if c, why := r.compare(); c == nil || !c.Functions[0].Named { // the clean twin
		t.Errorf("%+v, %s", c, why)
	}
	short := begin(t, dir, build("v3"), nil)
	short.Begin()
	short.Stop(t.Context())
	only := begin(t, newDir(t), build("v1"), nil)
	only.Begin()
	only.await()
	if _, why := only.compare(); !strings.HasPrefix(why, release.FirstBuild+" after 5 good windows that begin a minute after the start, and there are 0") {
		t.Error(why)
	}
	if n := len(files(t, dir)); n != 1 {
		t.Errorf("%d files, want that of v1: v2 runs, and v3 had no windows", n)
	}
}

// TestFiveBuilds: a folder keeps the references of five builds of a program, the newest ones.
func TestFiveBuilds(t *testing.T) {
	dir := newDir(t)
	for i := range builds + 2 {
		leave(t, dir, fmt.Sprint("v", i), time.Duration(builds+2-i)*time.Hour)
	}
	var want []string
	for i := 2; i < builds+2; i++ {
		want = append(want, filepath.Join(dir, "profguard", "references", nameOf(build(fmt.Sprint("v", i)))))
	}
	if got := files(t, dir); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestOlderForm: what an older profguard has left is told until this build has written its own, and not compared with.
// The build after is compared with this one.
func TestOlderForm(t *testing.T) {
	dir := newDir(t)
	file := leave(t, dir, "v1", time.Hour)
	if err := os.WriteFile(file, table(t, small).Encode(prefix+"1\nprogram \"example.com/shop\"\nbinary \"0011v1\"\nwindow 40 0.4 10 \"request\" 100\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	age(t, file, time.Hour)
	r := begin(t, dir, build("v2"), nil)
	// The first window may come before the folder is read.
	if told := r.problems(10); len(told) < 5 || len(told) > 6 || !strings.Contains(told[0], nameOf(build("v1"))+": decode reference: an older profguard wrote it") {
		t.Errorf("told %q", told)
	}
	if _, why := r.compare(); !strings.Contains(why, "no reference of an earlier build could be read: ") {
		t.Error(why)
	}
	r.Stop(t.Context())
	age(t, filepath.Join(dir, "profguard", "references", nameOf(build("v2"))), time.Minute)
	next := begin(t, dir, build("v3"), nil)
	next.windows(10, 0)
	if c, why := next.compare(); c == nil || c.Before.Build.Version != "v2" {
		t.Errorf("%+v, %s", c, why)
	}
}
