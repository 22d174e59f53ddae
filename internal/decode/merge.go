package decode

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// A Merger adds profiles of one kind up, as google/pprof's Merge does, but that a sum beyond an
// int64 stays the largest one. The zero Merger is ready to use.
type Merger struct {
	t         Table
	texts     map[string]int32 // the strings of t
	funcs     map[Func]int32
	locations map[string]int32 // by their addresses and lines
	samples   map[string]int32 // by their stacks and labels
	key       []byte
}

// Merger returns one with the names of the decoder's profiles, so that who knows these knows those
// of the sum.
func (d *Decoder) Merger() *Merger {
	t := &d.build.t
	if t.Symbols == nil {
		t.Symbols = new(Symbols)
	}
	if t.Symbols.bytes > keptBytes { // the decoder will take new ones
		return new(Merger)
	}
	return &Merger{t: Table{Symbols: t.Symbols}}
}

// Add adds a profile, but for the samples whose values are all zero. It keeps no reference to it.
// A sum that would exceed the limits of a profile gets a [LimitError]. Other errors say why it cannot be added to
// those before it.
func (m *Merger) Add(t *Table) error {
	sum := &m.t
	if m.samples == nil {
		if sum.Symbols == nil {
			sum.Symbols = new(Symbols)
		}
		*sum = Table{base: t.base, Types: slices.Clone(t.Types), DefaultType: t.DefaultType, PeriodType: t.PeriodType, Period: t.Period, TimeNanos: t.TimeNanos, Symbols: sum.Symbols}
		m.texts, m.funcs, m.locations, m.samples = map[string]int32{}, map[Func]int32{}, map[string]int32{}, map[string]int32{}
		m.text(nil) // the empty string has to be the first
		sum.program, sum.build = m.text(t.String(t.program)), m.text(t.String(t.build))
	}
	if !slices.Equal(t.Types, sum.Types) || t.PeriodType != sum.PeriodType {
		return errors.New("it is of another kind")
	}
	if t.Period != sum.Period && t.PeriodType.Type == "cpu" { // its samples would count for more or less than their CPU
		return fmt.Errorf("a sample of it stands for %v of CPU, and one of theirs for %v: judge it by itself", time.Duration(t.Period), time.Duration(sum.Period))
	}
	sum.Period = max(sum.Period, t.Period)
	sum.TimeNanos = min(sum.TimeNanos, t.TimeNanos)
	sum.DurationNanos = AddSaturating(sum.DurationNanos, t.DurationNanos)
	places := make([]int32, len(t.Locations)) // 1 + the place in the sum; 0 for not looked up yet
	for i, s := range t.Samples {
		values := t.values(i)
		if isZero(values) {
			continue
		}
		at, err := m.sample(t, s, places)
		if err != nil {
			return err
		}
		for v, to := range sum.values(int(at)) {
			sum.values(int(at))[v] = AddSaturating(to, values[v])
		}
	}
	return nil
}

// Table is the sum. It is valid until the next Add, also after the profiles that were added, and
// needs one.
func (m *Merger) Table() *Table { return &m.t }

// sample returns the place of the sum's sample with the stack and labels of s.
func (m *Merger) sample(t *Table, s Sample, places []int32) (int32, error) {
	sum := &m.t
	n := Sample{StackLo: int32(len(sum.Stacks)), LabelLo: int32(len(sum.Labels))}
	frames := sum.Frames
	for _, l := range t.Stacks[s.StackLo:s.StackHi] {
		if places[l] == 0 {
			places[l] = m.location(t, t.Locations[l]) + 1
		}
		sum.Stacks = append(sum.Stacks, places[l]-1)
		frames += int64(t.Locations[l].LineHi - t.Locations[l].LineLo)
	}
	for _, l := range t.Labels[s.LabelLo:s.LabelHi] {
		sum.Labels = append(sum.Labels, Label{m.text(t.String(l.Key)), m.text(t.String(l.Str)), l.Num})
	}
	n.StackHi, n.LabelHi = int32(len(sum.Stacks)), int32(len(sum.Labels))
	key := appendVarint(m.key[:0], uint64(n.StackHi-n.StackLo))
	for _, l := range sum.Stacks[n.StackLo:] {
		key = appendVarint(key, uint64(l))
	}
	for _, l := range sum.Labels[n.LabelLo:] {
		key = appendVarint(appendVarints(key, uint64(l.Key), uint64(l.Str)), uint64(l.Num))
	}
	m.key = key
	at, known := m.samples[string(key)]
	switch {
	case known:
		sum.Stacks, sum.Labels = sum.Stacks[:n.StackLo], sum.Labels[:n.LabelLo]
		return at, nil
	case len(sum.Samples) == maxSamples:
		return 0, &LimitError{"samples", maxSamples + 1, maxSamples}
	case frames > maxFrames:
		return 0, &LimitError{"frames", frames, maxFrames}
	}
	at = int32(len(sum.Samples))
	m.samples[string(key)] = at
	sum.Frames, sum.Samples = frames, append(sum.Samples, n)
	sum.Values = append(sum.Values, make([]int64, len(sum.Types))...)
	return at, nil
}

// location returns the place of the sum's location that is like l.
func (m *Merger) location(t *Table, l Location) int32 {
	sum := &m.t
	address := l.Address
	if address != 0 { // a program that is independent of its position starts elsewhere in each process
		address += sum.base - t.base
	}
	n := Location{LineLo: int32(len(sum.Lines)), Address: address}
	key := appendVarint(m.key[:0], address)
	for _, line := range t.Lines[l.LineLo:l.LineHi] {
		f := Func{Name: line.Name, File: t.Funcs[line.Func].File, Line: t.Funcs[line.Func].Line} // the name may be a made-up one
		if t.Symbols != sum.Symbols {
			f.Name, f.File = sum.Symbols.Intern([]byte(t.Symbols.Name(f.Name))), sum.Symbols.Intern([]byte(t.Symbols.Name(f.File)))
		}
		at, known := m.funcs[f]
		if !known {
			at = int32(len(sum.Funcs))
			m.funcs[f], sum.Funcs = at, append(sum.Funcs, f)
		}
		sum.Lines = append(sum.Lines, Line{Name: f.Name, Func: at, Line: line.Line})
		key = appendVarints(key, uint64(at), uint64(line.Line))
	}
	m.key = key
	at, known := m.locations[string(key)]
	if known {
		sum.Lines = sum.Lines[:n.LineLo]
		return at
	}
	at, n.LineHi = int32(len(sum.Locations)), int32(len(sum.Lines))
	m.locations[string(key)], sum.Locations = at, append(sum.Locations, n)
	return at
}

// text returns the number of a string of the sum.
func (m *Merger) text(s []byte) int32 {
	at, known := m.texts[string(s)]
	if !known {
		at = int32(len(m.texts))
		m.texts[string(s)] = at
		lo := uint32(len(m.t.text))
		m.t.text = append(m.t.text, s...)
		m.t.strings = append(m.t.strings, span{lo, uint32(len(m.t.text))})
	}
	return at
}
