package decode

import (
	"encoding/binary"
	"hash/maphash"
	"iter"
	"slices"
)

// Filter returns the samples that keep returns true for. It writes them into the memory of one that
// is not needed any more, which may be t itself, or is nil.
func (t *Table) Filter(into *Table, keep func(Sample) bool) *Table {
	if into == nil {
		into = new(Table)
	}
	samples, values := into.Samples[:0], into.Values[:0]
	for i, s := range t.Samples {
		if keep(s) {
			samples, values = append(samples, s), append(values, t.values(i)...)
		}
	}
	*into = *t
	into.Samples, into.Values = samples, values
	into.countFrames()
	return into
}

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

// Map returns the samples with the locations and labels that f gives to them, also in the memory of
// those that it gets, and without those that it returns false for.
func (t *Table) Map(f func(*Stack) bool) *Table {
	out := *t
	out.Samples, out.Values, out.Stacks, out.Labels = nil, nil, nil, nil
	for s := range t.Each() {
		s.Locations, s.Labels = slices.Clone(s.Locations), slices.Clone(s.Labels)
		if !f(&s) {
			continue
		}
		n := Sample{StackLo: int32(len(out.Stacks)), LabelLo: int32(len(out.Labels))}
		out.Stacks, out.Labels = append(out.Stacks, s.Locations...), append(out.Labels, s.Labels...)
		n.StackHi, n.LabelHi = int32(len(out.Stacks)), int32(len(out.Labels))
		out.Samples, out.Values = append(out.Samples, n), append(out.Values, s.Values...)
	}
	out.countFrames()
	return &out
}

func (t *Table) countFrames() {
	t.Frames = 0
	for _, s := range t.Samples {
		for _, l := range t.Stacks[s.StackLo:s.StackHi] {
			t.Frames += int64(t.Locations[l].LineHi - t.Locations[l].LineLo)
		}
	}
}

// Totals are the values of each stack, to be subtracted from a later profile of the process. They
// take 8 bytes for a stack and 8 for each of its values, and need no other memory. A stack is
// known by a hash of its program counters, which are the same in every profile of a process, and
// its labels: the runtime has samples of their own for each size of objects. The chance that two of
// 200,000 stacks have the same hash is one in a billion.
type Totals struct {
	stacks []uint64 // in order
	values []int64
}

// of are the values of a stack; nil if it has none.
func (t *Totals) of(stack uint64, types int) []int64 {
	if t == nil {
		return nil
	}
	at, known := slices.BinarySearch(t.stacks, stack)
	if !known {
		return nil
	}
	return t.values[at*types : (at+1)*types]
}

var seed = maphash.MakeSeed()

// Sub returns how far the first values of each stack have grown since before, which may be nil, and
// their totals now. Negative growth counts as 0, and stacks that have not grown are left out.
// Samples of one stack are added up, as a [Merger] does: allocations that differ only in their
// runtime frames count as the same.
func (t *Table) Sub(before *Totals, types int) (grown *Table, now *Totals) {
	keys := make([]uint64, len(t.Samples))
	var key []byte
	for i, s := range t.Samples {
		key = t.appendKey(key[:0], s)
		keys[i] = maphash.Bytes(seed, key)
	}
	now = &Totals{stacks: slices.Clone(keys)}
	slices.Sort(now.stacks)
	now.stacks = slices.Compact(now.stacks)
	now.values = make([]int64, len(now.stacks)*types)
	for i, k := range keys {
		for v, sum := range now.of(k, types) {
			now.of(k, types)[v] = AddSaturating(sum, t.values(i)[v])
		}
	}
	out := *t
	out.Types, out.Samples, out.Values = t.Types[:types:types], nil, nil
	if out.DefaultType >= types {
		out.DefaultType = -1
	}
	counted := make([]bool, len(now.stacks))
	growth := make([]int64, types)
	for i, k := range keys {
		at, _ := slices.BinarySearch(now.stacks, k)
		if counted[at] {
			continue
		}
		counted[at] = true
		copy(growth, now.of(k, types))
		for v, old := range before.of(k, types) {
			growth[v] = AddSaturating(growth[v], -old)
		}
		for v, n := range growth {
			growth[v] = max(0, n)
		}
		if !isZero(growth) {
			out.Samples, out.Values = append(out.Samples, t.Samples[i]), append(out.Values, growth...)
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
		key = binary.LittleEndian.AppendUint64(key, at.Address)
		for _, line := range t.Lines[at.LineLo:at.LineHi] {
			if at.Address == 0 {
				key = binary.LittleEndian.AppendUint32(append(append(key, t.Symbols.Name(line.Name)...), 0), uint32(line.Line))
			}
		}
	}
	for _, l := range t.Labels[s.LabelLo:s.LabelHi] {
		key = append(append(append(append(key, t.String(l.Key)...), 0), t.String(l.Str)...), 0)
		key = binary.LittleEndian.AppendUint64(key, uint64(l.Num))
	}
	return key
}
