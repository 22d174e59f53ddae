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
	"github.com/profguard/profguard/internal/folded"
	"github.com/profguard/profguard/internal/release"
)

// busy are windows of a service with ten handlers and ever new stacks. Own functions call each other at so many levels,
// and each one calls every one of the next level. dear are hits of a further function of each handler.
func busy(t testing.TB, seed uint64, levels, each, dear int) (windows []*decode.Table) {
	r, d := rand.New(rand.NewPCG(seed, 1)), new(decode.Decoder)
	for range 16 {
		var b strings.Builder
		b.WriteString("cpu 10s\n")
		way := func() {
			fmt.Fprintf(&b, "net/http.(*conn).serve;net/http.serverHandler.ServeHTTP;net/http.HandlerFunc.ServeHTTP;main.handle%d@h.go:%d", r.IntN(10), r.IntN(20))
		}
		for range 400 {
			way()
			for level := range levels {
				fmt.Fprintf(&b, ";main.step%d%c@s.go:%d", r.IntN(each), 'a'+level, r.IntN(1000))
			}
			fmt.Fprintf(&b, ";%s@encode.go:1;encoding/json.step%d@e.go:%d;runtime.mallocgc@malloc.go:7 1\n", doors[r.IntN(len(doors))], r.IntN(20), r.IntN(100))
		}
		for range dear {
			way()
			fmt.Fprintf(&b, ";main.audit@a.go:8;regexp.MustCompile;regexp/syntax.step%d 1\n", r.IntN(50))
		}
		table, err := d.Profile(folded.Must(b.String()))
		if err != nil {
			t.Fatal(err)
		}
		sum := d.Merger() // which keeps it when the decoder has the next one
		if err := sum.Add(table); err != nil {
			t.Fatal(err)
		}
		windows = append(windows, sum.Table())
	}
	return windows
}

var doors = []string{"encoding/json.Marshal", "encoding/json.Unmarshal", "sort.Slice", "fmt.Fprintf", "strings.ToLower", "compress/gzip.(*Writer).Write", "crypto/sha256.Sum256"}

// TestKeeperBounded: of a service with ever new stacks, this build and the one before take at most a megabyte after
// hours, and a reference 200 KB. What has changed is found, and what has not is no news. Where functions are
// called on so many ways that trees are folded, what a build of hours has lost of them is not taken for growth of one of
// minutes.
func TestKeeperBounded(t *testing.T) {
	if testing.Short() {
		t.Skip("measures memory, which the race detector multiplies")
	}
	for _, tt := range []struct {
		name         string
		levels, each int
		folded       bool
	}{{"ten handlers", 2, 5, false}, {"folded", 4, 50, true}} {
		t.Run(tt.name, func(t *testing.T) {
			dir := newDir(t)
			run := func(version string, windows []*decode.Table, n, dear int) *running {
				r := begin(t, dir, build(version), func(c *Config) { c.Module = "main" })
				for i := range n {
					r.now = r.now.Add(time.Minute)
					if err := r.Window(charged(t, windows[i%len(windows)]), window(4+float64(dear)/100, 100)); err != nil {
						t.Fatal(err)
					}
					r.await()
				}
				return r
			}
			run("v1", busy(t, 1, tt.levels, tt.each, 0), 100, 0).Stop(t.Context())
			for _, now := range []struct{ windows, dear int }{{100, 0}, {10, 0}, {100, 60}, {10, 60}} {
				if tt.folded && now.windows < 100 && now.dear > 0 {
					continue // what grew may be hidden
				}
				windows := busy(t, 2, tt.levels, tt.each, now.dear)
				before := heap()
				r := run("v2", windows, now.windows, now.dear)
				r.rest(t.Context())
				used := heap() - before
				runtime.KeepAlive(windows)
				t.Logf("%+v: %d KB, %d nodes, %d before", now, used>>10, len(r.side.Tree.Nodes()), len(r.before.Tree.Nodes()))
				if used > 1<<20 {
					t.Errorf("%+v: %d KB are kept, want at most 1024", now, used>>10)
				}
				for _, per := range []string{"request", ""} {
					c, why := r.Compare(t.Context(), release.Options{Per: per})
					if why != "" || c.Why != "" {
						t.Fatalf("%+v, per %q: %s%s", now, per, why, c.Why)
					}
					more, _, moved := c.Lists()
					switch {
					case now.dear == 0 && (len(more) > 0 || len(moved) > 0 && !tt.folded):
						t.Errorf("%+v, per %q: news of equal builds: %s", now, per, c.Balance())
					case now.dear > 0 && (len(more) == 0 || more[0].Name != "regexp.MustCompile" && more[0].Name != "main.audit" || more[0].Blame.Line != 8):
						t.Errorf("%+v, per %q: %+v; %s", now, per, more, c.Balance())
					}
				}
				for _, f := range files(t, dir) {
					info, err := os.Stat(f)
					if err != nil {
						t.Fatal(err)
					}
					if t.Logf("%d bytes", info.Size()); info.Size() > 200<<10 {
						t.Errorf("%s has %d bytes", f, info.Size())
					}
					if strings.Contains(f, "v2") { // the next one is compared with the same one
						os.Remove(f)
					}
				}
			}
		})
	}
}

func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// BenchmarkLoad reads what a folder has when a build starts: five references of the largest size.
func BenchmarkLoad(b *testing.B) {
	dir := filepath.Join(b.TempDir(), "dumps")
	for i := range builds {
		side := &release.Side{Build: build(fmt.Sprint("v", i))}
		for _, window := range busy(b, uint64(i), 4, 300, 0) {
			add(b, side, window, release.Piece{CPU: 4, Elapsed: 10, Work: map[string]float64{"request": 100}})
		}
		folder, err := dumps.OpenReferences(dir)
		if err != nil {
			b.Fatal(err)
		}
		if err := folder.Write(nameOf(side.Build), Encode(side, time.Now()), prefixOf(side.Build), builds); err != nil {
			b.Fatal(err)
		}
		folder.Close()
	}
	b.ReportAllocs()
	for b.Loop() {
		if before, own, err := loaded(dir, build("v0"), time.Now()); err != nil || before == nil || own == nil {
			b.Fatal(before, own, err)
		}
	}
}
