package reference

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
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
		if err := r.Window(charged(r.t, t), window(0.4+float64(audit)/100, 100)); err != nil {
			r.t.Error(err)
		}
		r.await()
	}
}

// await waits until it is known what there is.
func (r *running) await() {
	r.mu.Lock()
	ready := r.ready
	r.mu.Unlock()
	if ready != nil {
		<-ready
	}
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
	list, err := filepath.Glob(filepath.Join(dir, "profguard", "references", "*"))
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
	again.Stop(t.Context())
	if len(files(t, dir)) != 2 {
		t.Errorf("%v", files(t, dir))
	}
}

// TestNews: what the process costs is told once, when it is sure or after an hour; and a function that costs more
// once, when it is found.
// TestKeeperPanics: what panics while the folder is read is a problem, and does not end the program. It is tried again.
func TestKeeperPanics(t *testing.T) {
	calls := 0
	r := begin(t, newDir(t), build("1"), func(cfg *Config) {
		cfg.Build = func() release.Build {
			if calls++; calls == 1 {
				panic("a reader's mistake")
			}
			return build("1")
		}
	})
	<-r.Begin()
	r.now = r.now.Add(time.Second)
	if err := r.Window(charged(t, table(t, small)), window(0.4, 100)); err == nil || !strings.Contains(err.Error(), "a reader's mistake") {
		t.Errorf("found %v", err)
	}
	r.now = r.now.Add(time.Hour)
	_ = r.Window(charged(t, table(t, small)), window(0.4, 100))
	if r.await(); calls != 2 {
		t.Errorf("the folder is read %d times", calls)
	}
	if err := r.Window(charged(t, table(t, small)), window(0.4, 100)); err != nil {
		t.Errorf("the second time: %v", err)
	}
}

func TestNews(t *testing.T) {
	dir := newDir(t)
	noisy := func(r *running, i int, audit, encode int) bool {
		text := small
		for name, n := range map[string]int{"audit": audit, "encode": encode} {
			if n > 0 {
				text += fmt.Sprintf("main.main;main.serve@a.go:12;main.%s@c.go:5 %d\n", name, n)
			}
		}
		r.now = r.now.Add(time.Minute)
		if err := r.Window(charged(t, table(t, text)), window((0.4+float64(audit+encode)/100)*[]float64{0.8, 1.3, 0.9, 1}[i%4], 100)); err != nil {
			t.Error(err)
		}
		r.await()
		_, news := r.Balance(t.Context())
		return news
	}
	first := begin(t, dir, build("v1"), nil)
	for i := range 20 {
		if noisy(first, i, 0, 0) {
			t.Error("there is news without a build before")
		}
	}
	first.Stop(t.Context())
	for name, tt := range map[string]struct {
		audit, encode func(i int) int
		want          []int // the windows that had news
	}{
		"equal":           {never, never, []int{anHour}},
		"a function":      {from(0, 60), never, []int{leastWindows, anHour}},
		"two functions":   {from(0, 60), from(10, 200), []int{leastWindows, 13, anHour}},
		"once more, less": {func(i int) int { return 60 * (i / 20 % 2) }, never, []int{25, anHour}},
	} {
		r := begin(t, dir, build("v2"), func(c *Config) { c.Test = true; c.Base = decoded(t, Encode(&first.side, time.Now())) })
		var got []int
		for i := range 80 {
			if noisy(r, i, tt.audit(i), tt.encode(i)) {
				got = append(got, i+1)
			}
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: news in windows %v, want %v", name, got, tt.want)
		}
	}
	// Where windows do not differ, what the process costs is sure at once.
	r := begin(t, dir, build("v3"), func(c *Config) { c.Test = true; c.Base = steady(t) })
	for i := range 10 {
		r.windows(1, 0)
		if _, news := r.Balance(t.Context()); news != (i+1 == leastWindows) {
			t.Errorf("window %d: news %v", i+1, news)
		}
	}
}

func never(int) int { return 0 }

func from(window, hits int) func(int) int {
	return func(i int) int {
		if i < window {
			return 0
		}
		return hits
	}
}

// steady is a side of ten windows that do not differ.
func steady(t *testing.T) *release.Side {
	s := &release.Side{}
	for range 10 {
		add(t, s, table(t, small), window(0.4, 100))
	}
	return s
}

// TestLooks: builds are compared anew when there is a quarter more samples, for each budget.
func TestLooks(t *testing.T) {
	r := begin(t, "", build("v2"), func(c *Config) { c.Base = steady(t) })
	r.windows(leastWindows, 0)
	looks := map[*release.Comparison]bool{}
	var last *release.Comparison
	for range 20 {
		c, why := r.compare()
		if why != "" {
			t.Fatal(why)
		}
		looks[c], last = true, c
		r.windows(1, 0)
	}
	if len(looks) != 7 { // of 5, 7, 9, 12, 15, 19 and 24 windows
		t.Errorf("%d looks", len(looks))
	}
	if c, _ := r.Compare(t.Context(), release.Options{Per: "request", Limit: 0.5}); c == last || c.Limit != 0.5 {
		t.Error("a budget with another limit has the same comparison")
	}
	ended, end := context.WithCancel(t.Context())
	end()
	r.windows(20, 0)
	if c, why := r.Compare(ended, release.Options{Per: "request"}); c != nil || why == "" {
		t.Errorf("a comparison that was stopped has an outcome: %v", c)
	}
	if _, why := r.compare(); why != "" {
		t.Errorf("a comparison that was stopped is remembered: %s", why)
	}
}

// TestStopWithoutDisk: what a process waits for at its end ends with the context.
func TestStopWithoutDisk(t *testing.T) {
	hangs := make(chan struct{})
	r := begin(t, newDir(t), build("v1"), func(c *Config) { c.Build = func() release.Build { <-hangs; return build("v1") } })
	if err := r.Window(charged(t, table(t, small)), window(0.4, 100)); err != nil {
		t.Fatal(err)
	}
	if _, why := r.compare(); !strings.Contains(why, "are being read") {
		t.Error(why)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r.Stop(ctx)
	close(hangs)
	r.await() // before its folder is removed
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
	if err := os.Rename(files(t, dir)[0], filepath.Join(dir, "profguard", "references", nameOf(build("v0")))); err != nil {
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
		if err := r.Window(charged(t, table(t, small)), lost); err != nil {
			t.Fatal(err)
		}
	}
	c, why := r.compare()
	if why != "" || !c.Known || c.Process.Value > 0.001 || c.Process.Value < -0.001 {
		t.Errorf("%+v, %s", c, why)
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
		_, own, err := loaded(dir, build("v1"), time.Now())
		if err != nil || own == nil {
			t.Fatal(own, err)
		}
		return int64(own.Tree.N())
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
		if quick.early {
			t.Errorf("it is written after %d windows", i)
		}
		quick.now = quick.now.Add(-50 * time.Second)
		quick.windows(1, 0)
	}
	if !quick.early {
		t.Fatal("it is not written after the first windows")
	}
}

// TestFault_140_StoppedWhileWriting: what a process has not finished is not read, and the build before is the
// last one that was written whole.
func TestFault_140_StoppedWhileWriting(t *testing.T) {
	dir := newDir(t)
	r := begin(t, dir, build("v1"), nil)
	r.windows(10, 0)
	r.Stop(t.Context())
	whole := filepath.Join(dir, "profguard", "references", nameOf(build("v1")))
	text, err := os.ReadFile(whole)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{nameOf(build("v1")), nameOf(build("v2"))} {
		temp := filepath.Join(filepath.Dir(whole), name+".0123456789abcdef.tmp")
		if err := os.WriteFile(temp, text[:len(text)/2], 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r = begin(t, dir, build("v3"), nil)
	r.windows(10, 30)
	c, why := r.compare()
	if why != "" || c.Before.Build.Version != "v1" || len(c.Functions) == 0 || !c.Functions[0].Named {
		t.Errorf("compared with %+v; %s", c, why)
	}
	r.Stop(t.Context())
}

// TestBaseline: a baseline that is given is compared with, and references are kept beside it.
func TestBaseline(t *testing.T) {
	dir := newDir(t)
	base := steady(t)
	base.Build.Version = "the baseline"
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
