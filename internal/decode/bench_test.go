package decode

import (
	"bytes"
	"compress/gzip"
	"flag"
	"fmt"
	"go/importer"
	"go/token"
	"io"
	"os"
	"runtime/pprof"
	"sort"
	"testing"
	"time"

	"github.com/google/pprof/profile"
)

var benchFiles = flag.String("profiles", "", "a profile to benchmark with, instead of one of a program that checks types")

// benchProfile is a CPU profile of type-checking net/http, a real program with
// deep and varied stacks. On a busy machine it may come out small, so it goes
// on until it has a good number of stacks.
func benchProfile(b *testing.B) []byte {
	b.Helper()
	if *benchFiles != "" {
		data, err := os.ReadFile(*benchFiles)
		if err != nil {
			b.Fatal(err)
		}
		return data
	}
	var out bytes.Buffer
	if err := pprof.StartCPUProfile(&out); err != nil {
		b.Skip(err)
	}
	for start := time.Now(); time.Since(start) < 8*time.Second; {
		if _, err := importer.ForCompiler(token.NewFileSet(), "source", nil).Import("net/http"); err != nil {
			break // no sources here: the synthetic profile will do
		}
	}
	pprof.StopCPUProfile()
	if p, err := profile.ParseData(out.Bytes()); err == nil && len(p.Sample) >= 200 {
		return out.Bytes()
	}
	return gzipped(b, synthetic(1000, 1500, 30))
}

// synthetic is a profile in the layout of runtime/pprof with stacks of the
// given depth over so many functions.
func synthetic(stacks, functions, depth int) []byte {
	var p []byte
	p = message(p, 1, numbers(1, 2))
	p = message(p, 1, numbers(3, 4))
	for i := range functions {
		id := uint64(i + 1)
		p = message(p, 4, message(number(numbers(id, 1), 3, 0x400000+16*id), 4, numbers(id, 10)))
		p = message(p, 5, numbers(id, 2*id+3, 2*id+3, 2*id+4, 1))
	}
	for i := range stacks {
		var ids []byte
		for j := range depth {
			ids = append(ids, packed(uint64((i*(j+7)*31+j)%functions+1))...)
		}
		p = message(p, 2, message(message(nil, 1, ids), 2, packed(1, 10_000_000)))
	}
	p = message(p, 3, numbers(1, 0x400000, 0x800000))
	for _, s := range []string{"", "samples", "count", "cpu", "nanoseconds"} {
		p = message(p, 6, []byte(s))
	}
	for i := range functions {
		p = message(p, 6, fmt.Appendf(nil, "example.com/some/module/package%d.(*Type%d).Method%d", i%40, i%300, i))
		p = message(p, 6, fmt.Appendf(nil, "/src/example.com/some/module/package%d/file%d.go", i%40, i))
	}
	return p
}

// tableTotals aggregates a Table as a judge does: arrays by id, and a mark that
// says which sample counted a name last.
type tableTotals struct {
	flat, cum []int64
	seen      []int32
}

func (a *tableTotals) count(t *Table) {
	if n := t.Symbols.Len(); n > len(a.cum) {
		a.flat, a.cum, a.seen = make([]int64, n), make([]int64, n), make([]int32, n)
	}
	clear(a.flat)
	clear(a.cum)
	clear(a.seen)
	types := len(t.Types)
	for i, s := range t.Samples {
		v := t.Values[(i+1)*types-1]
		leaf := true
		for _, l := range t.Stacks[s.StackLo:s.StackHi] {
			loc := t.Locations[l]
			for _, line := range t.Lines[loc.LineLo:loc.LineHi] {
				if leaf {
					a.flat[line.Name] += v
					leaf = false
				}
				if a.seen[line.Name] != int32(i)+1 {
					a.seen[line.Name] = int32(i) + 1
					a.cum[line.Name] += v
				}
			}
		}
	}
}

// profileTotals is the same on google/pprof's profile, in the usual way.
func profileTotals(p *profile.Profile) (flat, cum map[string]int64) {
	flat, cum = map[string]int64{}, map[string]int64{}
	seen := map[string]int{}
	for i, s := range p.Sample {
		v := s.Value[len(s.Value)-1]
		leaf := true
		for _, l := range s.Location {
			for _, line := range l.Line {
				name := line.Function.Name
				if leaf {
					flat[name] += v
					leaf = false
				}
				if seen[name] != i+1 {
					seen[name] = i + 1
					cum[name] += v
				}
			}
		}
	}
	return flat, cum
}

// BenchmarkDecode decodes and aggregates the same profile with a Decoder and
// with google/pprof in turns, so that a busy machine is unfair to both alike,
// and reports how many times as long google/pprof takes (the ratio of the
// medians). ns/op is of one turn of both.
func BenchmarkDecode(b *testing.B) {
	gz := benchProfile(b)
	for name, data := range map[string][]byte{"gz": gz, "raw": gunzipped(b, gz)} {
		b.Run(name, func(b *testing.B) {
			var d Decoder
			var totals tableTotals
			ours := func() {
				t, err := d.Bytes(data)
				if err != nil {
					b.Fatal(err)
				}
				totals.count(t)
			}
			theirs := func() {
				p, err := profile.ParseData(data)
				if err != nil {
					b.Fatal(err)
				}
				profileTotals(p)
			}
			ours()
			theirs()
			var a, z []time.Duration
			for b.Loop() {
				start := time.Now()
				ours()
				middle := time.Now()
				theirs()
				a = append(a, middle.Sub(start))
				z = append(z, time.Since(middle))
			}
			b.ReportMetric(float64(median(z))/float64(median(a)), "times-faster")
			b.ReportMetric(float64(median(a).Microseconds()), "us/decoder")
			b.ReportMetric(float64(median(z).Microseconds()), "us/google-pprof")
			b.ReportMetric(testing.AllocsPerRun(5, ours), "allocs/decoder")
			b.ReportMetric(float64(len(d.build.t.Samples)), "stacks")
		})
	}
}

func median(d []time.Duration) time.Duration {
	sort.Slice(d, func(i, j int) bool { return d[i] < d[j] })
	return d[len(d)/2]
}

// BenchmarkParts shows where the time goes: inflating, scanning, the rest.
func BenchmarkParts(b *testing.B) {
	gz := gzipped(b, synthetic(5000, 3000, 30))
	if *benchFiles != "" {
		gz = benchProfile(b)
	}
	raw := gunzipped(b, gz)
	var d Decoder
	b.Run("inflate", func(b *testing.B) {
		for b.Loop() {
			if _, err := d.inflate(gz); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("inflate with compress/gzip", func(b *testing.B) {
		buf := make([]byte, len(raw)+1)
		for b.Loop() {
			z, err := gzip.NewReader(bytes.NewReader(gz))
			if err == nil {
				_, err = io.ReadFull(z, buf[:len(raw)])
			}
			if err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("scan", func(b *testing.B) {
		for b.Loop() {
			if _, err := scan(raw); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("all but inflate", func(b *testing.B) {
		for b.Loop() {
			if _, err := d.Bytes(raw); err != nil {
				b.Fatal(err)
			}
		}
	})
}
