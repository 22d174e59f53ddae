package reference

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/dumps"
	"github.com/profguard/profguard/internal/release"
)

// deepWindow is a window of a program like go-mysql-server: eight sorts of requests, whose stacks are 50 to 64 frames
// deep, of 600 functions in all. Most samples have a stack of their own.
func deepWindow(t testing.TB, r *rand.Rand) *decode.Table {
	var text strings.Builder
	text.WriteString("cpu 10s\n")
	for range 400 {
		text.WriteString("net/http.(*conn).serve@/usr/local/go/src/net/http/server.go:2050")
		request := 90 * r.IntN(8)
		for depth := range 49 + r.IntN(15) {
			n, line := request+depth, 10
			if r.IntN(12) == 0 {
				n, line = n+r.IntN(3), line+r.IntN(3)
			}
			fmt.Fprintf(&text, ";github.com/example/engine/sql/rowexec%d.(*tableRowIterator%d).NextRow@/go/src/example/engine/sql/rowexec%d/rows%d.go:%d", n%60, n, n%60, n%300, line)
		}
		text.WriteString(" 1\n")
	}
	return table(t, text.String())
}

// deep runs windows of such a program.
func (r *running) deep(windows []*decode.Table) {
	r.t.Helper()
	for _, w := range windows {
		r.now = r.now.Add(time.Minute)
		if err := r.Window(r.t.Context(), w, window(9, 1000)); err != nil {
			r.t.Fatal(err)
		}
		r.await()
	}
}

// TestKeeperBounded: what is kept of a build with deep stacks, and of the one before, is at most a megabyte, and
// what is written 200 KB.
func TestKeeperBounded(t *testing.T) {
	dir, random := newDir(t), rand.New(rand.NewPCG(1, 2))
	first := begin(t, dir, build("v1"), nil)
	var windows []*decode.Table
	for range 16 {
		windows = append(windows, deepWindow(t, random))
	}
	first.deep(windows[:6]) // as large as a reference may be
	first.Stop(t.Context())
	if frames := first.sum.Side().Table.Frames; frames < mostFrames*7/10 {
		t.Errorf("the build before has %d frames, of %d", frames, mostFrames)
	}
	first = nil
	before := heap()
	r := begin(t, dir, build("v2"), nil)
	for i := range 8 {
		r.deep(windows[2*i : 2*i+2])
		if c, why := r.Compare(t.Context(), release.Options{Per: "request"}); c == nil && r.sum.Windows() >= leastWindows {
			t.Fatal(why)
		}
		r.rest(t.Context())
		used := heap() - before
		t.Logf("%d windows: %d KB, %d stacks, level %d", 2*(i+1), used>>10, len(r.sum.Side().Table.Samples), r.sum.level)
		if used > 1<<20 {
			t.Errorf("after %d windows %d KB are kept, want at most 1024", 2*(i+1), used>>10)
		}
	}
	runtime.KeepAlive(r)
	runtime.KeepAlive(windows)
	for _, f := range files(t, dir) {
		if b := fileSize(t, f); b > 200<<10 {
			t.Errorf("%s has %d bytes", filepath.Base(f), b)
		}
	}
}

func fileSize(t testing.TB, name string) int64 {
	t.Helper()
	info, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}

// BenchmarkLoad reads what a folder has when a build starts: five references of the largest size.
func BenchmarkLoad(b *testing.B) {
	dir, random := filepath.Join(b.TempDir(), "dumps"), rand.New(rand.NewPCG(1, 2))
	for i := range builds {
		sum := &Sum{Build: build(fmt.Sprint("v", i))}
		for range 6 {
			if err := sum.Add(b.Context(), deepWindow(b, random), window(9, 1000)); err != nil {
				b.Fatal(err)
			}
		}
		folder, err := dumps.OpenReferences(dir)
		if err != nil {
			b.Fatal(err)
		}
		if err := folder.Write(nameOf(sum.Build), Encode(sum.Side(), time.Now()), prefixOf(sum.Build), builds); err != nil {
			b.Fatal(err)
		}
		folder.Close()
	}
	b.ReportAllocs()
	for b.Loop() {
		if before, own, err := load(dir, build("v0"), time.Now()); err != nil || before == nil || own == nil {
			b.Fatal(before, own, err)
		}
	}
}
