package decode

import (
	"encoding/binary"
	"slices"
	"sort"
)

// A Packed is a table in little memory: of each stack it has what differs from the one before, from the
// root, in an order in which neighbours are alike. That is a tenth of the stacks of a program that are 50
// frames deep.
type Packed struct {
	table  Table // without Stacks, in exact memory
	stacks []byte
	frames int // in all stacks, without inlined ones
}

// Pack packs a table. It shares the Symbols, and no other memory.
func (t *Table) Pack() *Packed {
	order := make([]int, len(t.Samples))
	for i := range order {
		order[i] = i
	}
	stack := func(i int) []int32 { return t.Stacks[t.Samples[i].StackLo:t.Samples[i].StackHi] }
	sort.Slice(order, func(a, b int) bool { // smaller than an instance of slices.SortFunc
		x, y := stack(order[a]), stack(order[b])
		shared := sharedRoot(x, y)
		if shared == len(x) || shared == len(y) {
			return len(x) < len(y)
		}
		return x[len(x)-shared-1] < y[len(y)-shared-1]
	})
	p := &Packed{table: *t}
	p.table.Stacks = nil
	p.table.Types, p.table.Locations, p.table.Lines, p.table.Funcs = slices.Clone(t.Types), slices.Clone(t.Locations), slices.Clone(t.Lines), slices.Clone(t.Funcs)
	p.table.text, p.table.strings, p.table.comments = slices.Clone(t.text), slices.Clone(t.strings), slices.Clone(t.comments)
	p.table.Samples, p.table.Values = make([]Sample, 0, len(t.Samples)), make([]int64, 0, len(t.Values))
	p.table.Labels = make([]Label, 0, len(t.Labels))
	var last []int32
	for _, i := range order {
		s, n := stack(i), Sample{StackLo: int32(p.frames), LabelLo: int32(len(p.table.Labels))}
		shared := sharedRoot(last, s)
		p.stacks = binary.AppendUvarint(binary.AppendUvarint(p.stacks, uint64(shared)), uint64(len(s)-shared))
		for _, l := range s[:len(s)-shared] {
			p.stacks = binary.AppendUvarint(p.stacks, uint64(l))
		}
		p.frames += len(s)
		p.table.Labels = append(p.table.Labels, t.Labels[t.Samples[i].LabelLo:t.Samples[i].LabelHi]...)
		n.StackHi, n.LabelHi = int32(p.frames), int32(len(p.table.Labels))
		p.table.Samples, p.table.Values = append(p.table.Samples, n), append(p.table.Values, t.values(i)...)
		last = s
	}
	p.stacks = slices.Clone(p.stacks)
	return p
}

// sharedRoot is how many locations two stacks share at their roots.
func sharedRoot(a, b []int32) (n int) {
	for n < len(a) && n < len(b) && a[len(a)-n-1] == b[len(b)-n-1] {
		n++
	}
	return n
}

// Table is the table that was packed, with its samples in another order. It shares what is not stacks.
func (p *Packed) Table() *Table {
	t := p.table
	t.Stacks = make([]int32, 0, p.frames)
	rest, last := p.stacks, []int32(nil)
	next := func() int {
		v, n := binary.Uvarint(rest)
		rest = rest[n:]
		return int(v)
	}
	for range t.Samples {
		lo := len(t.Stacks)
		shared, own := next(), next()
		for range own {
			t.Stacks = append(t.Stacks, int32(next()))
		}
		t.Stacks = append(t.Stacks, last[len(last)-shared:]...)
		last = t.Stacks[lo:]
	}
	return &t
}

// Count is that of the table.
func (p *Packed) Count() int64 {
	if p == nil {
		return 0
	}
	return p.table.Count()
}
