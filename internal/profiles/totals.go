package profiles

import (
	"encoding/binary"
	"fmt"
	"hash/maphash"

	"github.com/profguard/profguard/internal/decode"
)

// values are the two numbers of a difference: pieces and their size, bytes or
// nanoseconds.
type values [2]int64

// totals are the counts of a profile for each stack, to be subtracted from a later profile.
// The key of a stack is a 64-bit hash of its program counters, which are the same in every
// profile of a process, unlike location ids. The chance that two of 200,000 stacks have the
// same hash is one in a billion.
type totals map[uint64]values

var seed = maphash.MakeSeed()

// parse reads a profile of runtime/pprof, if it is within the decoder's limits.
func parse(gz []byte) (*decode.Table, error) {
	var d decode.Decoder // a new one, because its memory is not worth keeping for the next window
	t, err := d.Bytes(gz)
	if err == nil && len(t.Types) < len(values{}) {
		err = fmt.Errorf("it has %d values, expected %d", len(t.Types), len(values{}))
	}
	if err != nil {
		return nil, fmt.Errorf("read profile of runtime/pprof: %w", err)
	}
	return t, nil
}

// subtract replaces the values of p by their growth since before, and returns their totals.
// Negative growth counts as 0. Samples of one stack are added up, as google/pprof's merge
// does: allocations that differ only in their runtime frames count as the same.
func subtract(p *decode.Table, before totals) totals {
	after := make(totals, len(p.Samples))
	stacks := make([]uint64, len(p.Samples))
	var key []byte
	for i, s := range p.Samples {
		key = appendStack(key[:0], p, s)
		stacks[i] = maphash.Bytes(seed, key)
		sum := after[stacks[i]]
		for v := range sum {
			sum[v] += p.Values[i*len(p.Types)+v]
		}
		after[stacks[i]] = sum
	}
	grown := make([]int64, len(values{})*len(p.Samples))
	for i, stack := range stacks {
		now, old := after[stack], before[stack]
		for v := range now {
			grown[i*len(now)+v] = max(0, now[v]-old[v])
		}
		before[stack] = now // once for all samples of the stack
	}
	p.Types, p.Values = p.Types[:len(values{})], grown
	if p.DefaultType >= len(p.Types) {
		p.DefaultType = -1
	}
	return after
}

// appendStack appends the key of a sample's stack: its program counters and the size of the
// objects, because the runtime has separate samples for each size. These kinds have no
// other labels.
func appendStack(key []byte, p *decode.Table, s decode.Sample) []byte {
	for _, l := range p.Stacks[s.StackLo:s.StackHi] {
		key = binary.LittleEndian.AppendUint64(key, p.Locations[l].Address)
	}
	for _, l := range p.Labels[s.LabelLo:s.LabelHi] {
		key = binary.LittleEndian.AppendUint64(key, uint64(l.Num))
	}
	return key
}
