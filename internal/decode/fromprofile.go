package decode

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/google/pprof/profile"
)

// CheckValid reports what is wrong with a profile that somebody may have built by
// hand: what google/pprof's own CheckValid says, and values without a type, which
// it lets pass.
func CheckValid(p *profile.Profile) error {
	switch {
	case p == nil:
		return errors.New("the profile is nil")
	case slices.Contains(p.SampleType, nil):
		return errors.New("a sample type is nil: expected one for each value of a sample")
	}
	return p.CheckValid()
}

// FromProfile makes a Table of a profile that was parsed or built with
// google/pprof, interning its names in s. It checks p with [CheckValid] and does
// not change it; it applies no limits, because p is in memory already. The
// Table is independent of p.
func FromProfile(p *profile.Profile, s *Symbols) (*Table, error) {
	if err := CheckValid(p); err != nil {
		return nil, fmt.Errorf("convert profile: %w: %w", ErrMalformed, err)
	}
	s.begin(2*len(p.Function)+len(p.Mapping), 0)
	c := converter{
		t: &Table{
			DefaultType:   -1,
			Period:        p.Period,
			TimeNanos:     p.TimeNanos,
			DurationNanos: p.DurationNanos,
			Symbols:       s,
			strings:       []span{{}},
		},
		strings:   map[string]int32{"": 0},
		functions: map[*profile.Function]int32{},
		locations: map[*profile.Location]int32{},
		madeUp:    map[string]int32{},
	}
	for i, st := range p.SampleType {
		c.t.Types = append(c.t.Types, ValueType{st.Type, st.Unit})
		if c.t.DefaultType < 0 && st.Type != "" && st.Type == p.DefaultSampleType {
			c.t.DefaultType = i
		}
	}
	if pt := p.PeriodType; pt != nil {
		c.t.PeriodType = ValueType{pt.Type, pt.Unit}
	}
	for _, sample := range p.Sample {
		c.sample(sample)
	}
	// Spans are 32 bits wide. A Table with more is not worth having.
	for _, n := range [...]int{len(c.t.Stacks), len(c.t.Labels), len(c.t.Lines), len(c.t.text)} {
		if n > math.MaxInt32 {
			return nil, fmt.Errorf("convert profile: expected at most %s frames, labels or bytes of label text, found %s: take a profile of a shorter time",
				grouped(math.MaxInt32), grouped(int64(n)))
		}
	}
	return c.t, nil
}

// A converter fills a Table from the pointers of a Profile. Objects are found
// through the samples that use them, so that it makes no difference whether the
// profile also lists them.
type converter struct {
	t         *Table
	strings   map[string]int32
	functions map[*profile.Function]int32
	locations map[*profile.Location]int32
	madeUp    map[string]int32 // by mapping file
}

func (c *converter) sample(s *profile.Sample) {
	t := c.t
	stackLo, labelLo := len(t.Stacks), len(t.Labels)
	for _, l := range s.Location {
		t.Stacks = append(t.Stacks, c.location(l))
	}
	t.Values = append(t.Values, s.Value...)
	for _, k := range slices.Sorted(maps.Keys(s.Label)) {
		for _, v := range s.Label[k] {
			if v != "" { // as in a file, where this is no label
				t.Labels = append(t.Labels, Label{Key: c.string(k), Str: c.string(v)})
			}
		}
	}
	for _, k := range slices.Sorted(maps.Keys(s.NumLabel)) {
		for _, n := range s.NumLabel[k] {
			t.Labels = append(t.Labels, Label{Key: c.string(k), Num: n})
		}
	}
	t.Samples = append(t.Samples, Sample{
		StackLo: int32(stackLo), StackHi: int32(len(t.Stacks)),
		LabelLo: int32(labelLo), LabelHi: int32(len(t.Labels)),
	})
}

func (c *converter) location(l *profile.Location) int32 {
	if i, ok := c.locations[l]; ok {
		return i
	}
	t := c.t
	lo := len(t.Lines)
	for _, line := range l.Line {
		if line.Function == nil { // only in a location that p.Location lacks
			t.Lines = append(t.Lines, c.unsymbolled(l))
			continue
		}
		f := c.function(line.Function)
		name := t.Funcs[f].Name
		if name == 0 {
			name = c.unsymbolled(l).Name
		}
		t.Lines = append(t.Lines, Line{Name: name, Func: f, Line: lineNumber(line.Line)})
	}
	if len(l.Line) == 0 {
		t.Lines = append(t.Lines, c.unsymbolled(l))
	}
	i := int32(len(t.Locations))
	t.Locations = append(t.Locations, Location{int32(lo), int32(len(t.Lines)), l.Address})
	c.locations[l] = i
	return i
}

func (c *converter) function(f *profile.Function) int32 {
	if i, ok := c.functions[f]; ok {
		return i
	}
	i := int32(len(c.t.Funcs))
	c.t.Funcs = append(c.t.Funcs, Func{
		Name: c.t.Symbols.Intern([]byte(f.Name)),
		File: c.t.Symbols.Intern([]byte(f.Filename)),
		Line: lineNumber(f.StartLine),
	})
	c.functions[f] = i
	return i
}

// unsymbolled is the line that stands for whatever is at l.
func (c *converter) unsymbolled(l *profile.Location) Line {
	file := ""
	if l.Mapping != nil {
		file = l.Mapping.File
	}
	i, ok := c.madeUp[file]
	if !ok {
		i = int32(len(c.t.Funcs))
		c.t.Funcs = append(c.t.Funcs, Func{Name: c.t.Symbols.Intern(appendMadeUp(nil, []byte(file)))})
		c.madeUp[file] = i
	}
	return Line{Name: c.t.Funcs[i].Name, Func: i}
}

func (c *converter) string(s string) int32 {
	if i, ok := c.strings[s]; ok {
		return i
	}
	t := c.t
	i := int32(len(t.strings))
	lo := uint32(len(t.text))
	t.text = append(t.text, s...)
	t.strings = append(t.strings, span{lo, uint32(len(t.text))})
	c.strings[s] = i
	return i
}
