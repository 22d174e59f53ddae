package decode

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"maps"
	"runtime"
	"runtime/pprof"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/pprof/profile"
)

// recurse has itself on its stack, and small functions inlined into it.
//
//go:noinline
func recurse(n int) int {
	if n == 0 {
		x := 1
		for i := range 50_000 {
			x = inlined(x, i)
		}
		return x
	}
	return recurse(n-1) + 1
}

func inlined(x, i int) int { return deeper(x) ^ i }
func deeper(x int) int     { return x*31 + x/7 }

var sink [][]byte

// churn keeps a CPU, the heap and a lock busy, under labels.
func churn(d time.Duration) int {
	var mu sync.Mutex
	var wg sync.WaitGroup
	total := 0
	for _, endpoint := range []string{"/a", "/b"} {
		labels := pprof.Labels("endpoint", endpoint, "empty", "")
		wg.Go(func() {
			pprof.Do(context.Background(), labels, func(context.Context) {
				for start := time.Now(); time.Since(start) < d; {
					x := recurse(20)
					mu.Lock()
					total += x + strings.Count(strings.Repeat("ab", 1000), "b")
					sink = append(sink[:len(sink)%8], make([]byte, 100<<10))
					runtime.Gosched()
					mu.Unlock()
				}
			})
		})
	}
	wg.Wait()
	return total
}

// live returns profiles of this process, of every kind, as runtime/pprof writes
// them. They are taken once for all tests; the map is the caller's.
func live(t testing.TB) map[string][]byte {
	t.Helper()
	lived.Do(func() { lived.profiles = takeLive(t) })
	return maps.Clone(lived.profiles)
}

var lived struct {
	sync.Once
	profiles map[string][]byte
}

func takeLive(t testing.TB) map[string][]byte {
	t.Helper()
	runtime.SetBlockProfileRate(1)
	defer runtime.SetBlockProfileRate(0)
	defer runtime.SetMutexProfileFraction(runtime.SetMutexProfileFraction(1))

	profiles := map[string][]byte{}
	// A busy machine may leave a short profile nearly empty: double until all that
	// churn does has had its turn.
	for d := 100 * time.Millisecond; d < 10*time.Second; d *= 2 {
		var b bytes.Buffer
		if err := pprof.StartCPUProfile(&b); err != nil {
			t.Logf("no CPU profile: %v", err) // go test -cpuprofile
			churn(d)
			break
		}
		churn(d)
		pprof.StopCPUProfile()
		profiles["cpu"] = b.Bytes()
		if p, err := profile.ParseData(b.Bytes()); err == nil && hits(p) >= 30 {
			break
		}
	}
	for _, kind := range []string{"heap", "allocs", "goroutine", "mutex", "block", "threadcreate"} {
		var b bytes.Buffer
		if err := pprof.Lookup(kind).WriteTo(&b, 0); err != nil {
			t.Fatalf("%s: %v", kind, err)
		}
		profiles[kind] = b.Bytes()
	}
	return profiles
}

// hits is how often the profiler looked.
func hits(p *profile.Profile) (n int64) {
	for _, s := range p.Sample {
		n += s.Value[0]
	}
	return n
}

// encodings returns a profile in all the forms in which it may come.
func encodings(t testing.TB, gz []byte) map[string][]byte {
	t.Helper()
	p, err := profile.ParseData(gz)
	if err != nil {
		t.Fatal(err)
	}
	var samplesFirst, samplesFirstRaw bytes.Buffer
	if err := p.Write(&samplesFirst); err != nil {
		t.Fatal(err)
	}
	if err := p.WriteUncompressed(&samplesFirstRaw); err != nil {
		t.Fatal(err)
	}
	raw := gunzipped(t, gz)
	return map[string][]byte{
		"as written":          gz,
		"raw":                 raw,
		"samples first":       samplesFirst.Bytes(),
		"samples first, raw":  samplesFirstRaw.Bytes(),
		"gzipped again":       gzipped(t, raw),
		"gzipped, named file": gzippedNamed(t, raw),
	}
}

func gunzipped(t testing.TB, gz []byte) []byte {
	t.Helper()
	r, err := gzip.NewReader(bytes.NewReader(gz))
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if _, err := b.ReadFrom(r); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func gzipped(t testing.TB, raw []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w, _ := gzip.NewWriterLevel(&b, gzip.BestSpeed)
	writeAll(t, w, raw)
	return b.Bytes()
}

func gzippedNamed(t testing.TB, raw []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	w.Name, w.Comment, w.Extra = "cpu.pb", "a comment", []byte("extra")
	writeAll(t, w, raw)
	return b.Bytes()
}

// writeAll writes raw to a compressor, and closes it.
func writeAll(t testing.TB, w io.WriteCloser, raw []byte) {
	t.Helper()
	if _, err := w.Write(raw); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestDecodeLive(t *testing.T) {
	var d Decoder // one for all: what is left of one profile must not show in the next
	for kind, gz := range live(t) {
		for form, data := range encodings(t, gz) {
			t.Run(kind+"/"+form, func(t *testing.T) { sameAsOracle(t, &d, data) })
		}
	}
}

func TestDecodeLiveShowsWhatItShould(t *testing.T) {
	gz, ok := live(t)["cpu"]
	if !ok {
		t.Skip("somebody else is profiling this process")
	}
	var d Decoder
	table, err := d.Bytes(gz)
	if err != nil {
		t.Fatal(err)
	}
	var inline, recursion, labels bool
	for _, l := range table.Locations {
		inline = inline || l.LineHi-l.LineLo > 1
	}
	for _, s := range table.Samples {
		seen := map[ID]bool{}
		for _, l := range table.Stacks[s.StackLo:s.StackHi] {
			name := table.Lines[table.Locations[l].LineHi-1].Name
			recursion = recursion || seen[name]
			seen[name] = true
		}
		for _, l := range table.Labels[s.LabelLo:s.LabelHi] {
			labels = labels || string(table.String(l.Key)) == "endpoint" && string(table.String(l.Str)) == "/a"
		}
	}
	if !inline || !recursion || !labels {
		t.Errorf("the CPU profile shows inlined frames %v, recursion %v, labels %v; want all, or the other tests prove less than they say",
			inline, recursion, labels)
	}
}

// stdGunzip is the standard library's opinion, the one that google/pprof takes, of a file of
// one member.
func stdGunzip(data []byte) ([]byte, error) {
	source := bytes.NewReader(data)
	r, err := gzip.NewReader(source)
	if err != nil {
		return nil, err
	}
	r.Multistream(false)
	if reserved(data) {
		return nil, gzip.ErrHeader
	}
	content, err := io.ReadAll(r)
	if err == nil && source.Len() > 0 {
		err = errors.New("there is more behind the first member")
	}
	return content, err
}

// reserved reports whether the header of a gzip file has bits that must be zero, as RFC 1952
// says. compress/gzip does not look at them.
func reserved(data []byte) bool { return isGzip(data) && len(data) > 3 && data[3]&0xe0 != 0 }

func asLimit(err error) (*LimitError, bool) {
	var limit *LimitError
	return limit, errors.As(err, &limit)
}
