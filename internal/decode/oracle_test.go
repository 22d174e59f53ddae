package decode

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/pprof/profile"
)

// A view is what a profile says, in a form that can be had from a Table and
// from google/pprof's Profile, which is the oracle here.
type view struct {
	Types       []ValueType
	DefaultType int
	PeriodType  ValueType
	Numbers     [3]int64 // period, time, duration
	Samples     []viewSample
	Total       []map[string]flatCum // by type, by function name
}

type viewSample struct {
	Frames []string // "name file:line (start)", leaf first
	Values []int64
	Labels []string
}

type flatCum struct{ Flat, Cum int64 }

// add counts a sample, leaf first, as pprof does: once per function for Cum.
func (v *view) add(names []string, values []int64) {
	for i, x := range values {
		for j, name := range names {
			fc := v.Total[i][name]
			if j == 0 {
				fc.Flat += x
			}
			if !slices.Contains(names[:j], name) {
				fc.Cum += x
			}
			v.Total[i][name] = fc
		}
	}
}

func (v *view) totals(types int) {
	for range types {
		v.Total = append(v.Total, map[string]flatCum{})
	}
}

func viewOfTable(t *Table) view {
	v := view{
		Types:       append([]ValueType(nil), t.Types...),
		DefaultType: t.DefaultType,
		PeriodType:  t.PeriodType,
		Numbers:     [3]int64{t.Period, t.TimeNanos, t.DurationNanos},
	}
	v.totals(len(t.Types))
	for i, s := range t.Samples {
		vs := viewSample{Values: slices.Clone(t.Values[i*len(t.Types) : (i+1)*len(t.Types)])}
		var names []string
		for _, l := range t.Stacks[s.StackLo:s.StackHi] {
			loc := t.Locations[l]
			for _, line := range t.Lines[loc.LineLo:loc.LineHi] {
				f := t.Funcs[line.Func]
				name := t.Symbols.Name(line.Name)
				names = append(names, name)
				vs.Frames = append(vs.Frames, fmt.Sprintf("%s %s:%d (%d)", name, t.Symbols.Name(f.File), line.Line, f.Line))
			}
		}
		for _, l := range t.Labels[s.LabelLo:s.LabelHi] {
			if l.Str != 0 {
				vs.Labels = append(vs.Labels, fmt.Sprintf("str %q %q", t.String(l.Key), t.String(l.Str)))
			} else {
				vs.Labels = append(vs.Labels, fmt.Sprintf("num %q %d", t.String(l.Key), l.Num))
			}
		}
		slices.Sort(vs.Labels)
		v.Samples = append(v.Samples, vs)
		v.add(names, vs.Values)
	}
	return v
}

func viewOfProfile(p *profile.Profile) view {
	v := view{
		DefaultType: -1,
		Numbers:     [3]int64{p.Period, p.TimeNanos, p.DurationNanos},
	}
	if p.PeriodType != nil {
		v.PeriodType = ValueType{p.PeriodType.Type, p.PeriodType.Unit}
	}
	for i, st := range p.SampleType {
		v.Types = append(v.Types, ValueType{st.Type, st.Unit})
		if v.DefaultType < 0 && st.Type != "" && st.Type == p.DefaultSampleType {
			v.DefaultType = i
		}
	}
	v.totals(len(v.Types))
	line32 := func(n int64) int64 {
		if n != int64(int32(n)) {
			return 0
		}
		return n
	}
	for _, s := range p.Sample {
		vs := viewSample{Values: slices.Clone(s.Value)}
		var names []string
		for _, l := range s.Location {
			madeUp := "<unknown>"
			if l.Mapping != nil && l.Mapping.File != "" {
				elements := strings.FieldsFunc(l.Mapping.File, func(r rune) bool { return r == '/' || r == '\\' })
				madeUp = "[" + strings.Join(elements[max(0, len(elements)-1):], "") + "]"
			}
			if len(l.Line) == 0 {
				names = append(names, madeUp)
				vs.Frames = append(vs.Frames, madeUp+" :0 (0)")
			}
			for _, line := range l.Line {
				f := line.Function
				name := f.Name
				if name == "" {
					name = madeUp
				}
				names = append(names, name)
				vs.Frames = append(vs.Frames, fmt.Sprintf("%s %s:%d (%d)", name, f.Filename, line32(line.Line), line32(f.StartLine)))
			}
		}
		for k, xs := range s.Label {
			for _, x := range xs {
				vs.Labels = append(vs.Labels, fmt.Sprintf("str %q %q", k, x))
			}
		}
		for k, xs := range s.NumLabel {
			for _, x := range xs {
				vs.Labels = append(vs.Labels, fmt.Sprintf("num %q %d", k, x))
			}
		}
		slices.Sort(vs.Labels)
		v.Samples = append(v.Samples, vs)
		v.add(names, vs.Values)
	}
	return v
}

// diffOf is how two views differ, or "". Package cmp takes a hundred times as long as a
// plain comparison to find that they do not.
func diffOf(want, got view) string {
	if reflect.DeepEqual(want, got) {
		return ""
	}
	return cmp.Diff(want, got)
}

// sameAsOracle decodes data with d and compares with google/pprof.
func sameAsOracle(t *testing.T, d *Decoder, data []byte) {
	t.Helper()
	p, err := profile.ParseData(data)
	if err != nil {
		t.Fatalf("google/pprof: %v", err)
	}
	want := viewOfProfile(p)
	table, err := d.Decode(bytes.NewReader(data))
	if err != nil {
		t.Fatalf("Decode: %v", err)
	}
	if diff := diffOf(want, viewOfTable(table)); diff != "" {
		t.Errorf("Decode differs from google/pprof (-want +got):\n%s", diff)
	}
	before := p.String()
	table, err = new(Decoder).Profile(p)
	if err != nil {
		t.Fatalf("Profile: %v", err)
	}
	if diff := diffOf(want, viewOfTable(table)); diff != "" {
		t.Errorf("Profile differs from google/pprof (-want +got):\n%s", diff)
	}
	if after := p.String(); after != before {
		t.Errorf("Profile changed the profile:\n%s", cmp.Diff(before, after))
	}
}
