package decode

import (
	"bytes"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"

	"github.com/profguard/profguard/internal/folded"
)

// bySample is a view in which the order of samples makes no difference, and samples of
// nothing none.
func bySample(v view) view {
	v.Samples = slices.DeleteFunc(v.Samples, func(s viewSample) bool {
		return !slices.ContainsFunc(s.Values, func(v int64) bool { return v != 0 })
	})
	slices.SortFunc(v.Samples, func(a, b viewSample) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	for _, total := range v.Total {
		maps.DeleteFunc(total, func(_ string, fc flatCum) bool { return fc == flatCum{} })
	}
	return v
}

func merged(t *testing.T, files ...[]byte) []byte { return sumOf(t, files...).Encode() }

func sumOf(t *testing.T, files ...[]byte) *Table {
	t.Helper()
	var m Merger
	var d Decoder // whose memory is used again, but not by the sum
	for _, data := range files {
		table, err := d.Bytes(data)
		if err != nil {
			t.Fatal(err)
		}
		if err := m.Add(table); err != nil {
			t.Fatal(err)
		}
	}
	return m.Table()
}

// The sum of profiles is that of google/pprof, as it is and after it was encoded, for google/pprof
// and for the decoder.
func TestMerge(t *testing.T) {
	files := fixtures(t)
	maps.Copy(files, live(t))
	for name, data := range files {
		t.Run(name, func(t *testing.T) {
			p, err := profile.ParseData(data)
			if err != nil {
				t.Fatal(err)
			}
			other := p.Copy()
			other.TimeNanos += 1e9
			other.DurationNanos = 7
			for i, s := range other.Sample {
				switch i % 3 {
				case 0: // of one only
					s.Label = map[string][]string{"only": {"the other"}}
				case 1:
					for v := range s.Value {
						s.Value[v] = 0
					}
				}
			}
			var b bytes.Buffer
			if err := other.Write(&b); err != nil {
				t.Fatal(err)
			}
			sum, err := profile.Merge([]*profile.Profile{p, other})
			if err != nil {
				t.Fatal(err)
			}
			want := bySample(viewOfProfile(sum))
			all := sumOf(t, data, b.Bytes())
			if diff := diffOf(want, bySample(viewOfTable(all))); diff != "" {
				t.Errorf("differs from google/pprof (-want +got):\n%s", diff)
			}
			got := all.Encode()
			read, err := profile.ParseData(got)
			if err != nil {
				t.Fatal(err)
			}
			if err := read.CheckValid(); err != nil {
				t.Error(err)
			}
			if diff := diffOf(want, bySample(viewOfProfile(read))); diff != "" {
				t.Errorf("differs from google/pprof (-want +got):\n%s", diff)
			}
			table, err := new(Decoder).Bytes(got)
			if err != nil {
				t.Fatal(err)
			}
			if diff := diffOf(want, bySample(viewOfTable(table))); diff != "" {
				t.Errorf("read by the decoder it differs from google/pprof (-want +got):\n%s", diff)
			}
		})
	}
}

// TestMergeMoved: a program that is independent of its position starts elsewhere in each process.
func TestMergeMoved(t *testing.T) {
	for name, data := range live(t) {
		first, err := profile.ParseData(data)
		if err != nil {
			t.Fatal(err)
		}
		if len(first.Mapping) == 0 {
			continue
		}
		moved := first.Copy()
		moved.Mapping[0].Start += 1 << 20
		moved.Mapping[0].Limit += 1 << 20
		for _, l := range moved.Location {
			l.Address += 1 << 20
		}
		var b bytes.Buffer
		if err := moved.Write(&b); err != nil {
			t.Fatal(err)
		}
		got, err := profile.ParseData(merged(t, data, b.Bytes()))
		if err != nil {
			t.Fatal(err)
		}
		once, err := profile.ParseData(merged(t, data))
		if err != nil {
			t.Fatal(err)
		}
		if len(got.Location) != len(once.Location) {
			t.Errorf("%s: %d locations, of one profile %d", name, len(got.Location), len(once.Location))
		}
	}
}

// What is written has what its samples need, once, and nothing for pprof to look for.
func TestMergeCompact(t *testing.T) {
	data := live(t)["goroutine"]
	all, err := profile.ParseData(data)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range all.Sample[1:] {
		s.Value[0] = 0
	}
	var b bytes.Buffer
	if err := all.Write(&b); err != nil {
		t.Fatal(err)
	}
	p, err := profile.ParseData(merged(t, b.Bytes(), b.Bytes(), b.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	small := p.Compact()
	if len(p.Sample) != 1 || len(p.Location) != len(small.Location) || len(p.Function) != len(small.Function) || len(p.Mapping) != 1 {
		t.Errorf("%d samples, %d locations, %d functions, %d mappings; want 1, %d, %d, 1",
			len(p.Sample), len(p.Location), len(p.Function), len(p.Mapping), len(small.Location), len(small.Function))
	}
	if m := p.Mapping[0]; m.File != all.Mapping[0].File || m.BuildID != all.Mapping[0].BuildID || !m.HasFunctions || !m.HasFilenames || !m.HasLineNumbers || !m.HasInlineFrames {
		t.Errorf("the program is %+v, want all of its names known and %+v", m, all.Mapping[0])
	}
}

func TestMergeErrors(t *testing.T) {
	profiles := live(t)
	var m Merger
	var d Decoder
	for i, kind := range []string{"heap", "mutex"} {
		table, err := d.Bytes(profiles[kind])
		if err != nil {
			t.Fatal(err)
		}
		if err := m.Add(table); (err != nil) != (i == 1) {
			t.Errorf("%s: %v", kind, err)
		}
	}
}

// Samples of CPU at another rate stand for another time: their sum would weigh one profile more than the other.
func TestMergeRates(t *testing.T) {
	var m Merger
	for _, period := range []int64{1e7, 1e7, 1e6} {
		err := m.Add(&Table{PeriodType: ValueType{"cpu", "nanoseconds"}, Period: period, strings: []span{{}}})
		if (err != nil) != (period == 1e6) {
			t.Errorf("period %d: found %v", period, err)
		}
	}
}

// A sum beyond an int64 stays the largest one: if it wrapped around, what is hot would have less
// than nothing. Ordinary values add up as ever.
func TestFault_85_MergedSums(t *testing.T) {
	for _, tt := range []struct{ hot, want int64 }{{6e18, math.MaxInt64}, {600, 1200}, {-6e18, math.MinInt64}} {
		var m Merger
		var d Decoder
		p := folded.Must("cpu 10s\nmain.main;main.hot 1\nmain.main;main.cold 7\n")
		p.Sample[0].Value[0], p.DurationNanos = tt.hot, 6e18
		for range 2 {
			table, err := d.Profile(p)
			if err != nil {
				t.Fatal(err)
			}
			if err := m.Add(table); err != nil {
				t.Fatal(err)
			}
		}
		table := m.Table()
		if hot, cold := table.Values[0], table.Values[2]; hot != tt.want || cold != 14 || table.DurationNanos != math.MaxInt64 {
			t.Errorf("twice %d is %d, and twice 7 is %d, in %v", tt.hot, hot, cold, time.Duration(table.DurationNanos))
		}
		if n := table.Count(); tt.hot > 0 && n < tt.want {
			t.Errorf("%d samples in all", n)
		}
	}
}
