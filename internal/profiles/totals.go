package profiles

import (
	"encoding/binary"
	"fmt"
	"hash/maphash"
	"time"

	"github.com/google/pprof/profile"

	"github.com/profguard/profguard/internal/decode"
)

const (
	// maxRaw is how much of one profile is read, inflated; the decoder reads no more
	// either.
	maxRaw = 32 << 20
	// maxStacks is how many stacks of one profile are subtracted; also the decoder's.
	maxStacks = 200_000
)

// values are the two numbers of a difference: pieces and their size, bytes or
// nanoseconds.
type values [2]int64

// totals are what a kind had counted for each stack, so that they can be subtracted
// from a later profile. A stack is known by a 64-bit hash of its program counters,
// which are the same in every profile of a process where location ids are not: among
// 200,000 stacks two share one with a chance of one in a billion.
type totals struct {
	seed   maphash.Seed
	stacks map[uint64]values
	period int64
}

// parse reads a profile of runtime/pprof, if it is not too large. A gzip file ends
// with its inflated size, and the runtime writes one member.
func parse(k Kind, gz []byte) (*profile.Profile, error) {
	const header, trailer = 10, 8
	if len(gz) < header+trailer || gz[0] != 0x1f || gz[1] != 0x8b {
		return nil, fmt.Errorf("read profile of runtime/pprof: %d bytes are no gzip file", len(gz))
	}
	if size := binary.LittleEndian.Uint32(gz[len(gz)-4:]); size > maxRaw {
		return nil, skip(k, TooLarge, "it has %d MiB inflated, and at most %d are read", size>>20, maxRaw>>20)
	}
	p, err := decode.Parse(gz)
	switch {
	case err != nil:
		return nil, fmt.Errorf("read profile of runtime/pprof: %w", err)
	case len(p.Sample) > maxStacks:
		return nil, skip(k, TooLarge, "it has %d stacks, and at most %d are subtracted", len(p.Sample), maxStacks)
	case len(p.SampleType) < len(values{}):
		return nil, fmt.Errorf("read profile of runtime/pprof: it has %d values, expected %d", len(p.SampleType), len(values{}))
	}
	return p, nil
}

// subtract leaves in p what its stacks have grown by since the call before, and
// remembers what they have now. What would be negative is 0. Samples of one stack are
// added up, as the merge of google/pprof does: allocations that differ in their
// runtime frames only are shown as the same.
func (t *totals) subtract(p *profile.Profile) {
	if t.stacks == nil {
		t.seed = maphash.MakeSeed()
	}
	before := t.stacks
	t.stacks, t.period = make(map[uint64]values, len(p.Sample)), p.Period
	stacks := make([]uint64, len(p.Sample))
	var key []byte
	for i, s := range p.Sample {
		key = appendStack(key[:0], s)
		stacks[i] = maphash.Bytes(t.seed, key)
		sum := t.stacks[stacks[i]]
		for v := range sum {
			sum[v] += s.Value[v]
		}
		t.stacks[stacks[i]] = sum
	}
	kept := p.Sample[:0]
	done := make(map[uint64]bool)
	for i, s := range p.Sample {
		now, old := t.stacks[stacks[i]], before[stacks[i]]
		if done[stacks[i]] || now[0] <= old[0] && now[1] <= old[1] {
			continue
		}
		done[stacks[i]] = true
		s.Value = []int64{max(0, now[0]-old[0]), max(0, now[1]-old[1])}
		kept = append(kept, s)
	}
	p.Sample, p.SampleType = kept, p.SampleType[:len(values{})]
}

// appendStack appends what tells a sample's stack from others: its program counters
// and the size of the objects, by which the runtime tells allocations at one place
// apart. These kinds have no other labels.
func appendStack(key []byte, s *profile.Sample) []byte {
	for _, l := range s.Location {
		key = binary.LittleEndian.AppendUint64(key, l.Address)
	}
	for _, size := range s.NumLabel["bytes"] {
		key = binary.LittleEndian.AppendUint64(key, uint64(size))
	}
	return key
}

// write writes what a window has grown by. Most stacks have not grown, so what only
// they need is left out, and the result is small to compress, to decode and to keep.
func write(k Kind, p *profile.Profile, start time.Time, elapsed time.Duration, to *buffer) error {
	p = p.Compact()
	p.TimeNanos, p.DurationNanos = start.UnixNano(), int64(elapsed)
	to.reset(maxGzip)
	if err := p.Write(to); err != nil {
		return fmt.Errorf("write the difference of two profiles: %w", err)
	}
	if to.over {
		return skip(k, TooLarge, "what it has grown by is larger than %d MiB compressed", maxGzip>>20)
	}
	return nil
}
