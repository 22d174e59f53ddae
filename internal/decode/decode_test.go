package decode

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/pprof/profile"

	"github.com/profguard/profguard/internal/process"
)

// TestDecodeValidity pairs what is refused with its clean twin. Each case is
// also put to google/pprof, which must agree.
func TestDecodeValidity(t *testing.T) {
	m := slices.Clip(minimal()) // so that appending copies
	sample := func(b ...byte) []byte { return message(minimal(), 2, b) }
	stack := func(ids ...uint64) []byte { return number(message(nil, 1, packed(ids...)), 2, 1) }
	for _, c := range []struct {
		name string
		data []byte
		want string // part of the error; "" if it is valid
	}{
		{"minimal", m, ""},
		{"gzipped", gzipped(t, m), ""},
		{"no samples", message(message(nil, 1, nil), 6, nil), ""},
		{"no samples, no types", message(nil, 6, nil), ""},
		{"no types", message(message(nil, 6, nil), 2, nil), "no sample types"},
		{"empty", nil, "it is empty"},
		{"empty gzip", gzipped(t, nil), "it is empty"},
		{"no strings", message(nil, 1, nil), "no string table"},
		{"first string not empty", message(nil, 6, []byte("x")), "string 0 is not empty"},
		{"second string empty", message(m, 6, nil), ""},

		{"known location", sample(stack(1, 1, 1)...), ""},
		{"location 0", sample(stack(0)...), "sample 1: malformed profile: its location is not defined"},
		{"unknown location", sample(stack(2)...), "its location is not defined"},
		{"sparse location", message(message(m, 4, numbers(1<<63)), 2, stack(1<<63, 1)), ""},
		{"unknown sparse location", message(message(m, 4, numbers(1<<63)), 2, stack(1<<62)), "its location is not defined"},
		{"unpacked stack", sample(append(append(number(nil, 1, 1), number(nil, 1, 1)...), number(nil, 2, 1)...)...), ""},
		{"no stack", sample(number(nil, 2, 1)...), ""},
		{"no value", sample(number(nil, 1, 1)...), "it has 0 values"},
		{"two values", sample(message(nil, 2, packed(1, 2))...), "more values"},
		{"two values, not packed", sample(append(number(nil, 2, 1), number(nil, 2, 1)...)...), "more values"},
		{"negative value", sample(number(nil, 2, math.MaxUint64)...), ""},
		{"largest value", sample(number(nil, 2, math.MaxInt64)...), ""},

		{"duplicate location", message(m, 4, numbers(1)), "id 1 is defined twice"},
		{"location without id", message(m, 4, nil), "id 0 is reserved"},
		{"location without symbols", message(m, 4, numbers(2)), ""},
		{"location in unknown mapping", message(m, 4, numbers(2, 77)), ""},
		{"line without function", message(m, 4, message(numbers(2), 4, nil)), "its function is not defined"},
		{"line of unknown function", message(m, 4, message(numbers(2), 4, numbers(9))), "not defined"},
		{"line of unknown dense function", message(message(m, 5, numbers(9)), 4, message(numbers(2), 4, numbers(2))), "its function is not defined"},
		{"absurd line", message(m, 4, message(numbers(2), 4, numbers(1, math.MaxUint64/3))), ""},
		{"duplicate function", message(m, 5, numbers(1)), "id 1 is defined twice"},
		{"function without id", message(m, 5, nil), "id 0 is reserved"},
		{"function without name", message(m, 5, numbers(2)), ""},
		{"function name out of range", message(m, 5, numbers(2, 4)), "string 4 of 4"},
		{"negative function name", message(m, 5, numbers(2, math.MaxUint64)), "string -1 of 4"},
		{"system name out of range", message(m, 5, numbers(2, 0, 4)), "string 4"},
		{"file name out of range", message(m, 5, numbers(2, 0, 0, 4)), "string 4"},
		{"function name corrected", message(m, 5, append(numbers(2, 99), number(nil, 2, 3)...)), ""},
		{"mapping", message(m, 3, numbers(1, 0, 0, 0, 3, 2)), ""},
		{"mapping without id", message(m, 3, nil), "id 0 is reserved"},
		{"duplicate mapping", message(message(m, 3, numbers(1)), 3, numbers(1)), "defined twice"},
		{"mapping file out of range", message(m, 3, numbers(1, 0, 0, 0, 4)), "string 4"},
		{"build id out of range", message(m, 3, numbers(1, 0, 0, 0, 0, 4)), "string 4"},
		{"type out of range", message(m, 11, numbers(4)), "string 4"},
		{"default type out of range", number(m, 14, 4), "string 4"},
		{"drop frames out of range", number(m, 7, 4), "string 4"},
		{"comment", message(number(m, 13, 1), 13, packed(1, 2)), ""},
		{"comment out of range", message(m, 13, packed(1, 4)), "string 4"},
		{"label", sample(append(numbers(1, 1), message(nil, 3, numbers(1, 2))...)...), ""},
		{"label without value", sample(append(numbers(1, 1), message(nil, 3, numbers(1))...)...), ""},
		{"label key out of range", sample(append(numbers(1, 1), message(nil, 3, numbers(4))...)...), "string 4"},
		{"label value out of range", sample(append(numbers(1, 1), message(nil, 3, numbers(1, 4))...)...), "string 4"},
		{"label unit out of range", sample(append(numbers(1, 1), message(nil, 3, numbers(1, 0, 1, 4))...)...), "string 4"},
		{"time", number(m, 9, 1), ""},
		{"two profiles", append(number(m, 9, 1), number(m, 9, 1)...), "several profiles"},

		{"unknown field", message(number(m, 99, 1), 98, []byte("x")), ""},
		{"fixed unknown fields", append(m[:len(m):len(m)], 99<<3&0x7f|0x80|1, 6, 1, 2, 3, 4, 5, 6, 7, 8, 99<<3&0x7f|0x80|5, 6, 1, 2, 3, 4), ""},
		{"cut fixed field", append(m[:len(m):len(m)], 99<<3&0x7f|0x80|1, 6, 1), "longer than what is left"},
		{"field zero", append(m[:len(m):len(m)], 0, 0), ""},
		{"samples of the wrong wire type", number(m, 2, 1), "field 2 has wire type 0"},
		{"group", append(m[:len(m):len(m)], 99<<3&0x7f|0x80|3, 6), "unknown wire type"},
		{"varint of 10 bytes", append(append(m[:len(m):len(m)], 12<<3), bytes.Repeat([]byte{0xff}, 9)...), "varint"},
		{"varint of 11 bytes", append(append(append(m[:len(m):len(m)], 12<<3), bytes.Repeat([]byte{0xff}, 10)...), 0), "varint"},
		{"huge varint in a stack", sample(message(nil, 1, append(bytes.Repeat([]byte{0xff}, 10), 0))...), "varint"},
		{"length beyond the end", append(m[:len(m):len(m)], 2<<3|2, 100), "longer than what is left"},
		{"trailing garbage", append(m[:len(m):len(m)], 0xff), "varint"},
		{"trailing garbage after gzip", append(gzipped(t, m), 0), "gunzip"},
		{"bad gzip header", []byte{0x1f, 0x8b, 0, 0, 0, 0, 0, 0, 0, 0, 0}, "gunzip"},
		{"bad second gzip name", append(gzipped(t, m), 0x1f, 0x8b, 8, 8, 0, 0, 0, 0, 0, 0, 'x'), "gunzip"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var d Decoder
			table, err := d.Decode(bytes.NewReader(c.data))
			oracle, oracleErr := profile.ParseData(c.data)
			if (err == nil) != (oracleErr == nil) {
				t.Errorf("Decode says %v, google/pprof %v", err, oracleErr)
			}
			if c.want == "" {
				if err != nil {
					t.Fatal(err)
				}
				if oracleErr == nil {
					if diff := diffOf(viewOfProfile(oracle), viewOfTable(table)); diff != "" {
						t.Errorf("-google/pprof +Decode:\n%s", diff)
					}
				}
				return
			}
			if err == nil || !strings.HasPrefix(err.Error(), "decode profile: ") || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want one with %q", err, c.want)
			}
			if table != nil {
				t.Error("a table as well as an error")
			}
		})
	}
}

// TestFault_37_Truncated cuts a profile at every byte, and changes every bit of it: none may
// pass unless google/pprof lets it, and none may panic.
func TestFault_37_Truncated(t *testing.T) {
	raw := message(minimal(), 3, numbers(1, 2, 3, 4, 3, 2))
	var d Decoder
	for _, data := range [][]byte{raw, gzipped(t, raw)} {
		same := func(what string, at int, data []byte) {
			_, err := d.Bytes(data)
			if _, oracleErr := profile.ParseData(data); (err == nil) != (oracleErr == nil) {
				t.Errorf("%s %d of %d bytes: Decode says %v, google/pprof %v", what, at, len(data), err, oracleErr)
			}
		}
		for n := range data {
			same("cut to", n, data[:n])
			for bit := range 8 {
				b := bytes.Clone(data)
				b[n] ^= 1 << bit
				if reserved(b) {
					continue
				}
				same(fmt.Sprintf("bit %d changed of", bit), n, b)
			}
		}
		if _, err := d.Bytes(data); err != nil {
			t.Errorf("uncut: %v", err)
		}
	}
}

// TestGzipMembers: a file of several members is refused, also where the last one says the size
// of the first.
func TestGzipMembers(t *testing.T) {
	for _, members := range [][][]byte{{minimal(), minimal()}, {minimal()[:9], nil, minimal()[9:]}, {minimal(), {1}}} {
		var file []byte
		for _, part := range members {
			file = append(file, gzipped(t, part)...)
		}
		if _, err := new(Decoder).Bytes(file); err == nil || !strings.Contains(err.Error(), "expected one member") {
			t.Errorf("%d members: %v", len(members), err)
		}
	}
}

func TestFault_40_Legacy(t *testing.T) {
	var goroutines, heap bytes.Buffer
	for w, kind := range map[io.Writer]string{&goroutines: "goroutine", &heap: "heap"} {
		if err := pprof.Lookup(kind).WriteTo(w, 1); err != nil {
			t.Fatal(err)
		}
	}
	for name, data := range map[string][]byte{
		"goroutine":     goroutines.Bytes(),
		"heap":          heap.Bytes(),
		"heap, gzipped": gzipped(t, heap.Bytes()),
		"debug=2":       []byte("goroutine 1 [running]:\nmain.main()\n"),
		"contention":    []byte("--- contention:\ncycles/second=1\n"),
	} {
		if _, err := new(Decoder).Bytes(data); !errors.Is(err, ErrMalformed) || !strings.Contains(err.Error(), "without debug=1") {
			t.Errorf("%s: error %v, want one that says how to get a profile", name, err)
		}
	}
	binary := append([]byte("\x00\x00\x00\x00\x00\x00\x00\x00\x03"), make([]byte, 32)...) // of gperftools
	if _, err := new(Decoder).Bytes(binary); !errors.Is(err, ErrMalformed) {
		t.Errorf("error %v, want ErrMalformed", err)
	}
}

// TestFault_47_ManyStacks: 50,000 stacks of 40 frames are within the default
// limits and cost under 100 MB.
func TestFault_47_ManyStacks(t *testing.T) {
	if testing.Short() {
		t.Skip("two million frames")
	}
	data := gzipped(t, synthetic(50_000, 20_000, 40))
	var before, after runtime.MemStats
	once := readOnce()
	runtime.ReadMemStats(&before)
	start := process.ProcessCPU()
	table, err := new(Decoder).Decode(bytes.NewReader(data))
	took := process.ProcessCPU() - start
	runtime.ReadMemStats(&after)
	if err != nil {
		t.Fatal(err)
	}
	spent := float64(after.TotalAlloc-before.TotalAlloc) / 1e6
	t.Logf("%d bytes, %.1f MB allocated, %v of CPU time; reading 32 MiB takes %v", len(data), spent, took, once)
	if took > 8*once { // half a second
		t.Errorf("%v of CPU time, %.1f times that of reading 32 MiB; want at most 8", took, float64(took)/float64(once))
	}
	if len(table.Samples) != 50_000 || len(table.Stacks) != 2_000_000 || spent > 100 {
		t.Errorf("%d samples, %d frames, %.1f MB; want 50,000, 2,000,000 and at most 100 MB", len(table.Samples), len(table.Stacks), spent)
	}
}

// Decoding allocates nothing, with profiles of each version of Go: what they compress differs.
func TestDecodeAllocatesNothing(t *testing.T) {
	kinds := live(t)
	kinds["sparse"] = gzipped(t, sparse(1000))
	for _, file := range []string{"window-go1.26.pb.gz", "window-go1.27.pb.gz"} {
		kinds[file] = fixtures(t)[file]
	}
	var all [][]byte
	for _, gz := range kinds {
		all = append(all, gz, gunzipped(t, gz))
	}
	var d Decoder
	each := func() {
		for _, data := range all {
			if _, err := d.Bytes(data); err != nil {
				t.Fatal(err)
			}
		}
	}
	each() // get to know the program
	if n := testing.AllocsPerRun(5, each); n != 0 {
		t.Errorf("%v allocations for profiles of a known program, want 0", n)
	}
}

func TestDecodeReaders(t *testing.T) {
	data := gzipped(t, synthetic(300, 2000, 20))
	file := filepath.Join(t.TempDir(), "cpu.pb.gz")
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for name, r := range map[string]io.Reader{
		"bytes":         bytes.NewReader(data),
		"file":          f,
		"one byte":      iotest.OneByteReader(bytes.NewReader(data)),
		"data with EOF": iotest.DataErrReader(bytes.NewReader(data)),
	} {
		table, err := new(Decoder).Decode(r)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if len(table.Samples) != 300 {
			t.Errorf("%s: %d samples, want 300", name, len(table.Samples))
		}
	}
	broken := errors.New("broken")
	if _, err := new(Decoder).Decode(iotest.ErrReader(broken)); !errors.Is(err, broken) {
		t.Errorf("error %v, want the reader's", err)
	}
	if _, err := new(Decoder).Decode(idle{}); !errors.Is(err, io.ErrNoProgress) {
		t.Errorf("error %v, want io.ErrNoProgress", err)
	}
}

// idle reads nothing, and has no error.
type idle struct{}

func (idle) Read([]byte) (int, error) { return 0, nil }

func TestLimits(t *testing.T) {
	data := append(minimal(), bytes.Repeat(message(nil, 2, numbers(1, 7)), maxSamples-1)...)
	if _, err := new(Decoder).Bytes(data); err != nil {
		t.Errorf("at the limit: %v", err)
	}
	_, err := new(Decoder).Bytes(append(data, message(nil, 2, numbers(1, 7))...))
	const want = "decode profile: 200001 samples, the limit is 200000: take a profile of a shorter time"
	if err == nil || err.Error() != want {
		t.Errorf("error %v\nwant  %s", err, want)
	}
	// The same profile must get the same answer whatever was decoded before.
	large := append(minimal(), bytes.Repeat(message(nil, 6, nil), 4_000_000)...)
	var fresh, used Decoder
	if _, err := used.Bytes(gzipped(t, distinct(50_000))); err != nil {
		t.Fatal(err)
	}
	for _, d := range []*Decoder{&fresh, &used} {
		var limit *LimitError
		if _, err := d.Bytes(gzipped(t, large)); !errors.As(err, &limit) || !strings.Contains(limit.What, "memory") {
			t.Errorf("error %v, want one about memory", err)
		}
	}
}

func TestTooLargeBuffersAreGivenBack(t *testing.T) {
	var d Decoder
	small := minimal()
	if _, err := d.Bytes(gzipped(t, synthetic(50_000, 100, 40))); err != nil {
		t.Fatal(err)
	}
	large := cap(d.build.t.Stacks)
	if _, err := d.Bytes(gzipped(t, small)); err != nil {
		t.Fatal(err)
	}
	if n := cap(d.build.t.Stacks); n >= large {
		t.Errorf("room for %d frames is kept for a profile of one", n)
	}
}

func TestProfileErrors(t *testing.T) {
	if _, err := new(Decoder).Profile(nil); err == nil {
		t.Error("nil profile: no error")
	}
	p := &profile.Profile{Sample: []*profile.Sample{{Value: []int64{1}}}}
	if _, err := new(Decoder).Profile(p); !errors.Is(err, ErrMalformed) {
		t.Errorf("no types: error %v, want ErrMalformed", err)
	}
	p.SampleType = []*profile.ValueType{{Type: "samples", Unit: "count"}}
	if _, err := new(Decoder).Profile(p); err != nil {
		t.Errorf("with a type: %v", err)
	}
	p.SampleType[0] = nil // which google/pprof finds valid
	if _, err := new(Decoder).Profile(p); !errors.Is(err, ErrMalformed) || !strings.Contains(err.Error(), "sample type is nil") {
		t.Errorf("a type that is nil: error %v, want ErrMalformed", err)
	}
	p.SampleType[0] = &profile.ValueType{Type: "samples", Unit: "count"}
	f, other := &profile.Function{ID: 1, Name: "main.f"}, &profile.Function{ID: 1, Name: "main.other"}
	p.Function = []*profile.Function{f}
	p.Location = []*profile.Location{{ID: 1, Line: []profile.Line{{Function: f}}}}
	p.Sample[0].Location = []*profile.Location{{ID: 1, Line: []profile.Line{{Function: other}}}} // it would count as main.f
	if _, err := new(Decoder).Profile(p); !errors.Is(err, ErrMalformed) || !strings.Contains(err.Error(), "not in Profile.Location") {
		t.Errorf("a location of another profile: error %v, want ErrMalformed", err)
	}
}
