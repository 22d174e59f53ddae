package judge

import (
	"github.com/profguard/profguard/internal/charge"
	"github.com/profguard/profguard/internal/decode"
)

// only leaves out the samples of others, and cuts the stacks to what is kept.
func (b *Blocks) only(table *decode.Table) {
	if len(b.Where) == 0 && b.Keep == nil {
		return
	}
	types, kept := len(table.Types), 0
	for i, s := range table.Samples {
		labels := 0
		for _, l := range table.Labels[s.LabelLo:s.LabelHi] {
			if want, ok := b.Where[string(table.String(l.Key))]; ok && want == string(table.String(l.Str)) {
				labels++
			}
		}
		if labels < len(b.Where) {
			continue
		}
		if b.Keep != nil {
			keep := b.Keep(b.stackOf(table, s))
			if keep <= 0 {
				if types > 0 {
					b.dropped = charge.AddSaturating(b.dropped, table.Values[i*types])
				}
				continue
			}
			s.StackHi = cut(table, s, keep)
		}
		table.Samples[kept] = s
		copy(table.Values[kept*types:(kept+1)*types], table.Values[i*types:(i+1)*types])
		kept++
	}
	table.Samples, table.Values = table.Samples[:kept], table.Values[:kept*types]
}

// cut returns the end of a stack of so many functions.
func cut(table *decode.Table, s decode.Sample, keep int) (hi int32) {
	for hi = s.StackLo; hi < s.StackHi && keep > 0; hi++ {
		at := table.Locations[table.Stacks[hi]]
		keep -= int(at.LineHi - at.LineLo)
	}
	return hi
}

// resume takes off what the runtime put on top of a function to interrupt it. On
// a machine that is overloaded most samples of a loop were seen there (64% at a
// load average near 30 on two cores), and a budget on flat shares would blame the runtime
// for what others do to the machine.
func (b *Blocks) resume(table *decode.Table) {
	for i := range table.Samples {
		s := &table.Samples[i]
		for s.StackHi-s.StackLo > 1 && b.interrupts(table, table.Locations[table.Stacks[s.StackLo]]) {
			s.StackLo++
		}
	}
}

func (b *Blocks) interrupts(table *decode.Table, at decode.Location) bool {
	for _, line := range table.Lines[at.LineLo:at.LineHi] {
		if !charge.IsInterrupt(table.Symbols.Name(line.Name)) {
			return false
		}
	}
	return true
}

// stackOf names the functions of a stack, the leaf first.
func (b *Blocks) stackOf(table *decode.Table, s decode.Sample) []string {
	b.stack = b.stack[:0]
	for _, l := range table.Stacks[s.StackLo:s.StackHi] {
		at := table.Locations[l]
		for _, line := range table.Lines[at.LineLo:at.LineHi] {
			b.stack = append(b.stack, table.Symbols.Name(line.Name))
		}
	}
	return b.stack
}

// samplesIn adds up the first value of each sample, which counts them.
func samplesIn(table *decode.Table) (n int64) {
	for i := 0; i < len(table.Values); i += len(table.Types) {
		n = charge.AddSaturating(n, table.Values[i])
	}
	return n
}
