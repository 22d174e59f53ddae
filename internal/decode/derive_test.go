package decode

import (
	"bytes"
	"maps"
	"slices"
	"testing"

	"github.com/google/pprof/profile"

	"github.com/profguard/profguard/internal/folded"
)

// profiles are those of the fixtures and of this process, as google/pprof reads them.
func profiles(t *testing.T) map[string]*profile.Profile {
	t.Helper()
	files := fixtures(t)
	maps.Copy(files, live(t))
	parsed := map[string]*profile.Profile{}
	for name, data := range files {
		p, err := profile.ParseData(data)
		if err != nil {
			t.Fatal(err)
		}
		parsed[name] = p
	}
	return parsed
}

func tableOf(t *testing.T, p *profile.Profile) *Table {
	t.Helper()
	var b bytes.Buffer // in which labels are in order
	if err := p.Write(&b); err != nil {
		t.Fatal(err)
	}
	table, err := new(Decoder).Bytes(b.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	return table
}

func wantSame(t *testing.T, want *profile.Profile, got *Table) {
	t.Helper()
	if diff := diffOf(bySample(viewOfProfile(want)), bySample(viewOfTable(got))); diff != "" {
		t.Errorf("differs from google/pprof (-want +got):\n%s", diff)
	}
	frames := int64(0)
	for _, s := range got.Samples {
		for _, l := range got.Stacks[s.StackLo:s.StackHi] {
			frames += int64(got.Locations[l].LineHi - got.Locations[l].LineLo)
		}
	}
	if got.Frames != frames {
		t.Errorf("%d frames, and it says %d", frames, got.Frames)
	}
}

// What is written is what google/pprof and the decoder read, sample by sample in their order.
// Samples with the same stack are written as one.
func TestEncode(t *testing.T) {
	for name, p := range profiles(t) {
		t.Run(name, func(t *testing.T) {
			p, err := profile.Merge([]*profile.Profile{p})
			if err != nil {
				t.Fatal(err)
			}
			p.Sample = slices.DeleteFunc(p.Sample, func(s *profile.Sample) bool { return isZero(s.Value) })
			data := tableOf(t, p).Encode("made of odd samples", "and others")
			read, err := profile.ParseData(data)
			if err != nil {
				t.Fatal(err)
			}
			if err := read.CheckValid(); err != nil {
				t.Error(err)
			}
			if !slices.Equal(read.Comments, []string{"made of odd samples", "and others"}) {
				t.Errorf("comments %q", read.Comments)
			}
			if diff := diffOf(viewOfProfile(p), viewOfProfile(read)); diff != "" {
				t.Errorf("differs from google/pprof (-want +got):\n%s", diff)
			}
			table, err := new(Decoder).Bytes(data)
			if err != nil {
				t.Fatal(err)
			}
			wantSame(t, p, table)
			if !slices.Equal(table.Comments(), read.Comments) {
				t.Errorf("comments %q", table.Comments())
			}
		})
	}
}

// A difference is that of google/pprof, without the stacks that have not grown.
func TestSub(t *testing.T) {
	for name, before := range profiles(t) {
		t.Run(name, func(t *testing.T) {
			after := before.Copy()
			for i, s := range after.Sample {
				for v := range s.Value {
					s.Value[v] += int64([]int{0, 7, -3}[(i+v)%3])
				}
			}
			if n := len(after.Sample); n > 0 { // a sample of a stack that there is, and one that is new
				again, other := *after.Sample[0], *after.Sample[n-1]
				other.Label = map[string][]string{"only": {"afterwards"}}
				after.Sample = append(after.Sample, &again, &other)
			}
			minus := before.Copy()
			minus.Scale(-1)
			want, err := profile.Merge([]*profile.Profile{after, minus})
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range want.Sample {
				for v, n := range s.Value {
					s.Value[v] = max(0, n)
				}
			}
			want.DurationNanos = after.DurationNanos
			types := len(after.SampleType)
			_, totals := tableOf(t, before).Sub(nil, types)
			grown, now := tableOf(t, after).Sub(totals, types)
			wantSame(t, want, grown)
			if again, _ := tableOf(t, after).Sub(now, types); len(again.Samples) != 0 {
				t.Errorf("%d samples have grown since themselves", len(again.Samples))
			}
			if all, _ := tableOf(t, after).Sub(nil, 1); types > 0 && (len(all.Types) != 1 || all.Count() < 0) {
				t.Errorf("of the first values: %v, %d samples", all.Types, all.Count())
			}
		})
	}
}

// A filter changes no other Table, and what it makes has what its samples need.
func TestFilter(t *testing.T) {
	p := folded.Must("cpu\nmain.main;main.hot;main.leaf 3\nmain.main;main.cold 1\n")
	p.Sample[0].Label = map[string][]string{"of": {"hot"}, "too": {"this"}}
	table := tableOf(t, p)
	before := viewOfTable(table)
	cold := p.Copy()
	cold.Sample = cold.Sample[1:]
	labelled := func(s *Stack) bool { return len(s.Labels) > 0 }
	wantSame(t, cold, table.Filter(func(s *Stack) bool { return !labelled(s) }))

	cut := p.Copy()
	cut.Sample = cut.Sample[:1]
	cut.Sample[0].Location, cut.Sample[0].Label = cut.Sample[0].Location[1:], map[string][]string{"too": {"this"}}
	wantSame(t, cut, table.Filter(func(s *Stack) bool {
		keep := len(s.Labels) > 0
		s.Labels = slices.DeleteFunc(s.Labels, func(l Label) bool { return string(table.String(l.Key)) == "of" })
		s.Locations = s.Locations[1:]
		return keep
	}))
	if diff := diffOf(before, viewOfTable(table)); diff != "" {
		t.Errorf("the table that was filtered is another one now:\n%s", diff)
	}
	hot := p.Copy()
	hot.Sample = hot.Sample[:1]
	only := table.Filter(labelled)
	wantSame(t, hot, only)
	if data := gunzipped(t, only.Encode()); !bytes.Contains(data, []byte("main.hot")) || bytes.Contains(data, []byte("main.cold")) {
		t.Error("what no sample needs is written, too")
	}
}

// A label is kept by its value, which is digits if it is a number.
func TestWithLabels(t *testing.T) {
	p := folded.Must("cpu\nmain.main;main.hot 3\n")
	p.Sample[0].Label = map[string][]string{"of": {"hot"}, "too": {"this"}}
	p.Sample[0].NumLabel = map[string][]int64{"bytes": {64}, "port": {80}}
	table := tableOf(t, p)
	kept := p.Copy()
	kept.Sample[0].Label, kept.Sample[0].NumLabel = map[string][]string{"of": {"hot"}}, map[string][]int64{"bytes": {64}}
	wantSame(t, kept, table.WithLabels(func(key, value string) bool { return key+"="+value == "of=hot" || key+"="+value == "bytes=64" }))
	wantSame(t, p, table.WithLabels(func(string, string) bool { return true }))
}

// What has grown by more than an int64 has grown by the largest one.
func TestFault_85_Differences(t *testing.T) {
	p := folded.Must("cpu\nmain.main;main.hot 1\n")
	p.Sample[0].Value[0] = -6e18
	_, before := tableOf(t, p).Sub(nil, 1)
	p.Sample[0].Value[0] = 6e18
	if grown, _ := tableOf(t, p).Sub(before, 1); grown.Count() != 1<<63-1 {
		t.Errorf("it has grown by %d", grown.Count())
	}
}

// A sum stays as it was when the decoder reads on, has the decoder's names, and is written
// only when its bytes are needed.
func TestMerger(t *testing.T) {
	all := profiles(t)
	var d Decoder
	if _, err := d.Profile(all["heap"]); err != nil {
		t.Fatal(err)
	}
	sum := d.Merger()
	if err := sum.Add(tableOf(t, all["goroutine"])); err != nil {
		t.Fatal(err)
	}
	kept := sum.Table()
	next, err := d.Profile(all["mutex"])
	if err != nil {
		t.Fatal(err)
	}
	wantSame(t, all["goroutine"], kept)
	wantSame(t, all["mutex"], next)
	if kept.Symbols != next.Symbols {
		t.Error("it has names of its own")
	}
	made := Source{Made: kept}
	for _, source := range []Source{made, {Data: made.Bytes()}} {
		table, err := source.Table(new(Decoder))
		if err != nil || source.IsEmpty() || (table == kept) != (source.Made != nil) {
			t.Fatalf("%v, empty %t", err, source.IsEmpty())
		}
		wantSame(t, all["goroutine"], table)
	}
}
