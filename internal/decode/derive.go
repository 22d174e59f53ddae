package decode

import (
	"hash/maphash"
	"iter"
	"slices"
	"strconv"
)

// A Stack is one sample of a Table, in parts.
type Stack struct {
	Locations []int32 // leaf first
	Labels    []Label
	Values    []int64
}

// Each yields the samples. Nobody may write to their memory.
func (t *Table) Each() iter.Seq[Stack] {
	return func(yield func(Stack) bool) {
		for i, s := range t.Samples {
			if !yield(Stack{t.Stacks[s.StackLo:s.StackHi], t.Labels[s.LabelLo:s.LabelHi], t.values(i)}) {
				return
			}
		}
	}
}

// Filter returns the samples that keep returns true for, with the locations and labels that it
// leaves them: it may change these, also in the memory that it gets.
func (t *Table) Filter(keep func(*Stack) bool) *Table {
	out := *t
	out.Samples, out.Values = make([]Sample, 0, len(t.Samples)), make([]int64, 0, len(t.Values))
	out.Stacks, out.Labels = make([]int32, 0, len(t.Stacks)), make([]Label, 0, len(t.Labels))
	for s := range t.Each() {
		stack, label := len(out.Stacks), len(out.Labels)
		s.Locations, s.Labels = append(out.Stacks, s.Locations...)[stack:], append(out.Labels, s.Labels...)[label:]
		if keep(&s) {
			out.Stacks, out.Labels = append(out.Stacks, s.Locations...), append(out.Labels, s.Labels...)
			out.Samples = append(out.Samples, Sample{int32(stack), int32(len(out.Stacks)), int32(label), int32(len(out.Labels))})
			out.Values = append(out.Values, s.Values...)
		}
	}
	out.countFrames()
	return &out
}

// WithLabels returns the samples with the labels that keep returns true for. The value of a numeric label comes as its
// digits.
func (t *Table) WithLabels(keep func(key, value string) bool) *Table {
	return t.Filter(func(s *Stack) bool {
		s.Labels = slices.DeleteFunc(s.Labels, func(l Label) bool {
			value := string(t.String(l.Str))
			if l.Str == 0 {
				value = strconv.FormatInt(l.Num, 10)
			}
			return !keep(string(t.String(l.Key)), value)
		})
		return true
	})
}

func (t *Table) countFrames() {
	t.Frames = 0
	for _, s := range t.Samples {
		for _, l := range t.Stacks[s.StackLo:s.StackHi] {
			t.Frames += int64(t.Locations[l].LineHi - t.Locations[l].LineLo)
		}
	}
}

// Totals are the values of each stack, to be subtracted from a later profile of the process. A
// stack is known by a hash of its program counters, which are the same in every profile of a
// process, and its labels: the runtime has samples of their own for each size of objects. The chance
// that two of 200,000 stacks have the same hash is one in a billion.
type Totals struct {
	places map[uint64]int // by the hash, in values
	values []int64
}

var seed = maphash.MakeSeed()

// Sub returns how far the first values of each stack have grown since before, which may be nil, and
// their totals now. Negative growth counts as 0, and stacks that have not grown are left out.
// Samples of one stack are added up, as a [Merger] does: allocations that differ only in their
// runtime frames count as the same.
func (t *Table) Sub(before *Totals, types int) (grown *Table, now *Totals) {
	if before == nil {
		before = new(Totals)
	}
	now = &Totals{places: make(map[uint64]int, len(t.Samples))}
	growth := make([]int64, 0, types*len(t.Samples)) // as long as now.values
	first := make([]Sample, 0, len(t.Samples))       // of each stack
	var key []byte
	for i, s := range t.Samples {
		key = t.appendKey(key[:0], s)
		stack := maphash.Bytes(seed, key)
		at, known := now.places[stack]
		if !known {
			at = len(now.values)
			now.places[stack], first = at, append(first, s)
			now.values = append(now.values, make([]int64, types)...)
			growth = append(growth, make([]int64, types)...)
			if old, known := before.places[stack]; known {
				copy(growth[at:], before.values[old:old+types]) // what is to be subtracted
			}
		}
		for v, n := range t.values(i)[:types] {
			now.values[at+v] = AddSaturating(now.values[at+v], n)
		}
	}
	out := *t
	out.Types, out.Samples, out.Values = t.Types[:types:types], first[:0], growth[:0]
	if out.DefaultType >= types {
		out.DefaultType = -1
	}
	for i, s := range first {
		grown := growth[i*types : (i+1)*types]
		for v, old := range grown {
			grown[v] = max(0, AddSaturating(now.values[i*types+v], -old))
		}
		if !isZero(grown) {
			out.Samples, out.Values = append(out.Samples, s), append(out.Values, grown...)
		}
	}
	out.countFrames()
	return &out, now
}

// appendKey appends what a sample's stack and labels are known by. A location without an address
// is known by its functions.
func (t *Table) appendKey(key []byte, s Sample) []byte {
	for _, l := range t.Stacks[s.StackLo:s.StackHi] {
		at := t.Locations[l]
		key = appendVarint(key, at.Address)
		for _, line := range t.Lines[at.LineLo:at.LineHi] {
			if at.Address == 0 {
				key = appendVarint(appendBytes(key, 0, []byte(t.Symbols.Name(line.Name))), uint64(line.Line))
			}
		}
	}
	for _, l := range t.Labels[s.LabelLo:s.LabelHi] {
		key = appendVarint(appendBytes(appendBytes(key, 0, t.String(l.Key)), 0, t.String(l.Str)), uint64(l.Num))
	}
	return key
}
