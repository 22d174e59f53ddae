package reference

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/profguard/profguard/internal/release"
)

// A running process is a keeper in a test, with the time that it has.
type running struct {
	*Keeper
	t   *testing.T
	now time.Time
}

// begin begins a process of a build.
func begin(t *testing.T, dir string, b release.Build, change func(*Config)) *running {
	r := &running{t: t, now: time.Now()}
	cfg := Config{Dir: dir, Build: func() release.Build { return b }, Now: func() time.Time { return r.now }}
	if change != nil {
		change(&cfg)
	}
	r.Keeper = NewKeeper(cfg)
	t.Cleanup(func() { r.rest(context.Background()) }) // before its folder is removed
	return r
}

// windows takes windows with so many samples of a function beside 40 of others, and 100 requests.
func (r *running) windows(n, audit int) {
	r.t.Helper()
	text := small
	if audit > 0 {
		text += fmt.Sprintf("main.main;main.serve@a.go:12;main.audit@c.go:5 %d\n", audit)
	}
	t := table(r.t, text)
	for range n {
		r.now = r.now.Add(time.Minute)
		if err := r.Window(r.t.Context(), t, window(0.4+float64(audit)/100, 100)); err != nil {
			r.t.Error(err)
		}
		r.await()
	}
}

// await waits until it is known what there is.
func (r *running) await() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.collectUntil(r.t.Context())
}

func (r *running) compare() (*release.Comparison, string) {
	return r.Compare(r.t.Context(), release.Options{Per: "request"})
}

func build(version string) release.Build {
	return release.Build{Program: "example.com/shop", Version: version, Binary: "0011" + version}
}

func newDir(t *testing.T) string { return filepath.Join(t.TempDir(), "dumps") }

func files(t *testing.T, dir string) []string {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(dir, "references", "*"))
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// TestKeeper: the first build becomes the reference, and the next ones are compared with the newest other.
func TestKeeper(t *testing.T) {
	dir := newDir(t)
	first := begin(t, dir, build("v1"), nil)
	first.windows(10, 0)
	if _, why := first.compare(); !strings.Contains(why, "first build here") {
		t.Error(why)
	}
	first.Stop(t.Context())
	second := begin(t, dir, build("v2"), nil)
	second.windows(10, 30)
	c, why := second.compare()
	if why != "" || c.Before.Build.Version != "v1" || len(c.Functions) == 0 || !c.Functions[0].Named || c.Functions[0].Name != "main.audit" {
		t.Errorf("%+v, %s", c, why)
	}
	second.Stop(t.Context())
	again := begin(t, dir, build("v2"), nil) // the same build once more: it goes on
	again.windows(5, 30)
	c, why = again.compare()
	if why != "" || c.Before.Build.Version != "v1" || c.Now.Samples != 15*70 {
		t.Errorf("%+v, %s", c.Now, why)
	}
	if news := balances(again, 70); news != 1 {
		t.Errorf("the balance was told %d times", news)
	}
	again.Stop(t.Context())
	if len(files(t, dir)) != 2 {
		t.Errorf("%v", files(t, dir))
	}
}

func balances(r *running, windows int) (news int) {
	for range windows {
		r.windows(1, 30)
		if _, is := r.Balance(r.t.Context()); is {
			news++
		}
	}
	return news
}

// TestFault_134_ReferenceOfAnotherProgram: neither a program with another path, nor a file that lies in
// its name, is compared with.
func TestFault_134_ReferenceOfAnotherProgram(t *testing.T) {
	dir := newDir(t)
	other := build("v1")
	other.Program = "example.com/other"
	r := begin(t, dir, other, nil)
	r.windows(10, 0)
	r.Stop(t.Context())
	if err := os.Rename(files(t, dir)[0], filepath.Join(dir, "references", nameOf(build("v0")))); err != nil {
		t.Fatal(err)
	}
	r = begin(t, dir, build("v2"), nil)
	r.windows(10, 0)
	if _, why := r.compare(); !strings.Contains(why, "first build here") {
		t.Error(why)
	}
}

// TestFault_135_TestBinary: a binary of go test leaves no reference.
func TestFault_135_TestBinary(t *testing.T) {
	dir := newDir(t)
	r := begin(t, dir, build("v1"), func(c *Config) { c.Test = true })
	r.windows(10, 0)
	if _, why := r.compare(); !strings.Contains(why, "a test keeps no references") {
		t.Error(why)
	}
	r.Stop(t.Context())
	if len(files(t, dir)) != 0 {
		t.Errorf("%v", files(t, dir))
	}
}

// TestFault_136_NoVersionControl: two builds that say nothing of themselves are told apart.
func TestFault_136_NoVersionControl(t *testing.T) {
	dir := newDir(t)
	for i := range 2 {
		r := begin(t, dir, release.Build{Program: "example.com/shop", Binary: fmt.Sprint("00aabbccddee", i)}, nil)
		r.windows(10, 0)
		c, why := r.compare()
		if i == 0 && !strings.Contains(why, "first build here") || i == 1 && (c == nil || !strings.HasPrefix(c.Balance(), "build 00aabbcc may cost ")) {
			t.Errorf("%+v, %s", c, why)
		}
		r.Stop(t.Context())
	}
	if len(files(t, dir)) != 2 {
		t.Errorf("%v", files(t, dir))
	}
}

// TestFault_137_CountersReset: a window in which a counter of work went back has no part in the cost of a
// unit, and is no growth.
func TestFault_137_CountersReset(t *testing.T) {
	dir := newDir(t)
	r := begin(t, dir, build("v1"), nil)
	r.windows(20, 0)
	r.Stop(t.Context())
	r = begin(t, dir, build("v2"), nil)
	lost := window(0.4, 0)
	lost.Work = nil
	for range 10 {
		r.windows(2, 0)
		if err := r.Window(t.Context(), table(t, small), lost); err != nil {
			t.Fatal(err)
		}
	}
	c, why := r.compare()
	if why != "" || !c.Known || c.Process.Value > 0.001 || c.Process.Value < -0.001 {
		t.Errorf("%+v, %s", c, why)
	}
	// And as neighbours are added up.
	var w Windows
	for i := range 1000 {
		if i%3 == 0 {
			w.Add(lost)
		} else {
			w.Add(window(0.4, 100))
		}
	}
	for _, x := range w.List() {
		if n := x.Work["request"]; n > 0 && (x.CPU/n > 0.0041 || x.CPU/n < 0.0039) {
			t.Errorf("%+v", x)
		}
	}
}

// TestFault_138_ShortRelease: a release that runs for less than a minute, as in a crash loop, does not
// become the reference.
func TestFault_138_ShortRelease(t *testing.T) {
	dir := newDir(t)
	for version, windows := range map[string]int{"v1": 10} {
		r := begin(t, dir, build(version), nil)
		r.windows(windows, 0)
		r.Stop(t.Context())
	}
	for i := range 3 {
		r := begin(t, dir, build(fmt.Sprint("crash", i)), nil)
		r.windows(1, 30)
		r.Stop(t.Context())
	}
	r := begin(t, dir, build("v2"), nil)
	r.windows(10, 0)
	if c, why := r.compare(); c == nil || c.Before.Build.Version != "v1" {
		t.Errorf("%+v, %s", c, why)
	}
}

// TestWritten: the reference is written early, and then every ten minutes.
func TestWritten(t *testing.T) {
	dir := newDir(t)
	r := begin(t, dir, build("v1"), nil)
	samples := func() int64 {
		r.rest(t.Context())
		if len(files(t, dir)) == 0 {
			return 0
		}
		_, own, err := load(dir, build("v1"), time.Now())
		if err != nil || own == nil {
			t.Fatal(own, err)
		}
		return own.Table.Count()
	}
	for i, step := range []struct{ windows, want int }{{5, 0}, {1, 6}, {9, 6}, {1, 16}, {9, 16}, {1, 26}} {
		r.windows(step.windows, 0)
		if got := samples(); got != int64(step.want)*40 {
			t.Errorf("step %d: %d samples are written, want those of %d windows", i, got, step.want)
		}
	}
	// Windows that come quickly make a reference before the five minutes have passed.
	quick := begin(t, dir, build("v2"), nil)
	for i := range firstWindows {
		if quick.writing != nil {
			t.Errorf("it is written after %d windows", i)
		}
		quick.now = quick.now.Add(-50 * time.Second)
		quick.windows(1, 0)
	}
	if quick.writing == nil {
		t.Fatal("it is not written after the first windows")
	}
}

// unfinished makes the references of a process what they are if it ends before they have their names, and
// returns the file.
func unfinished(t *testing.T, dir string, b release.Build) string {
	t.Helper()
	temp := filepath.Join(dir, "references", nameOf(b)+".0123456789abcdef.tmp")
	if err := os.Rename(filepath.Join(dir, "references", nameOf(b)), temp); err != nil {
		t.Fatal(err)
	}
	return temp
}

// TestFault_140_StoppedWhileWriting: a release that ended before its file had its name is what the next
// one is compared with, and one that ended in the middle of the file is not.
func TestFault_140_StoppedWhileWriting(t *testing.T) {
	for _, cut := range []bool{false, true} {
		dir := newDir(t)
		for version, audit := range map[string]int{"v1": 0, "v2": 30} {
			r := begin(t, dir, build(version), nil)
			r.windows(10, audit)
			r.Stop(t.Context())
		}
		old := time.Now().Add(-24 * time.Hour)
		if err := os.Chtimes(filepath.Join(dir, "references", nameOf(build("v1"))), old, old); err != nil {
			t.Fatal(err)
		}
		temp, want := unfinished(t, dir, build("v2")), "v2"
		if cut { // the clean twin
			info, err := os.Stat(temp)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.Truncate(temp, info.Size()-1); err != nil {
				t.Fatal(err)
			}
			want = "v1"
		}
		r := begin(t, dir, build("v3"), nil)
		r.windows(10, 30)
		c, why := r.compare()
		if why != "" || c.Before.Build.Version != want {
			t.Fatalf("cut %v: compared with %+v, want %s; %s", cut, c, want, why)
		}
		if grown := len(c.Functions) > 0 && c.Functions[0].Named; grown != cut {
			t.Errorf("cut %v: %+v", cut, c.Functions)
		}
		r.Stop(t.Context())
		_, err := os.Stat(temp)
		if left := err == nil; left != cut {
			t.Errorf("cut %v: the file is left: %v", cut, left)
		}
	}
}

// TestFault_140_OlderUnfinished: an old file that was left does not replace a newer one of its build, nor
// become newer than those of later builds.
func TestFault_140_OlderUnfinished(t *testing.T) {
	for _, again := range []bool{false, true} {
		dir := newDir(t)
		run := func(version string, windows int, ago time.Duration) {
			r := begin(t, dir, build(version), nil)
			at := time.Now().Add(-ago)
			r.now = at.Add(-time.Duration(windows) * time.Minute)
			r.windows(windows, 0)
			r.Stop(t.Context())
			if err := os.Chtimes(filepath.Join(dir, "references", nameOf(build(version))), at, at); err != nil {
				t.Fatal(err)
			}
		}
		run("v1", 10, 3*time.Minute)
		temp := unfinished(t, dir, build("v1"))
		kept := temp + ".kept" // out of the way of the builds that follow
		if err := os.Rename(temp, kept); err != nil {
			t.Fatal(err)
		}
		run("v2", 10, time.Minute)
		if again {
			run("v1", 20, 2*time.Minute)
		}
		if err := os.Rename(kept, temp); err != nil {
			t.Fatal(err)
		}
		before, own, err := load(dir, build("v1"), time.Now())
		if err != nil || own == nil || before == nil || before.Build.Version != "v2" {
			t.Fatalf("%+v, %+v, %v", before, own, err)
		}
		want := 10
		if again {
			want = 20
		}
		if got := own.Table.Count(); got != int64(want)*40 {
			t.Errorf("again %v: the build has %d samples, want those of %d windows", again, got, want)
		}
		if before, _, err := load(dir, build("v3"), time.Now()); err != nil || before == nil || before.Build.Version != "v2" {
			t.Errorf("again %v: v3 is compared with %+v, want v2; %v", again, before, err)
		}
	}
}

// TestBaseline: a baseline that is given is compared with, and references are kept beside it.
func TestBaseline(t *testing.T) {
	dir := newDir(t)
	base := &release.Side{Table: table(t, strings.ReplaceAll(small, "30\n", "3000\n")), Build: release.Build{Version: "the baseline"}, Windows: []release.Window{{CPU: 30.1, Work: map[string]float64{"request": 7000}}}}
	r := begin(t, dir, build("v1"), func(c *Config) { c.Base = base })
	r.windows(10, 0)
	if c, why := r.compare(); why != "" || c.Before.Build.Version != "the baseline" {
		t.Errorf("%+v, %s", c, why)
	}
	r.Stop(t.Context())
	if len(files(t, dir)) != 1 {
		t.Errorf("%v", files(t, dir))
	}
}
