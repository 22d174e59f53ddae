package budget

import (
	"encoding/binary"
	"hash"
	"hash/fnv"
	"maps"
	"slices"

	"github.com/google/pprof/profile"
)

// contentOf is a number that equal profiles have in common, and others by a
// chance of 2^-64. Whoever reads the baseline's file for each window hands in
// another pointer each time, and to begin anew with each would be to never have any
// evidence.
func contentOf(p *profile.Profile) uint64 {
	h := contentHash{sum: fnv.New64a()}
	h.numbers(p.TimeNanos, p.DurationNanos, p.Period)
	for _, t := range p.SampleType {
		h.texts(t.Type, t.Unit)
	}
	for _, s := range p.Sample {
		h.numbers(int64(len(s.Location)), int64(len(s.Label)))
		h.numbers(s.Value...)
		for _, l := range s.Location {
			h.numbers(int64(l.ID))
			if l.ID == 0 {
				h.names(l) // numbered by nobody, as in a profile made by hand
			}
		}
		for _, key := range slices.Sorted(maps.Keys(s.Label)) {
			h.texts(key)
			h.texts(s.Label[key]...)
		}
	}
	for _, l := range p.Location {
		h.numbers(int64(l.ID))
		h.names(l)
	}
	return h.sum.Sum64()
}

// contentHash hashes what a profile is made of. FNV is quick and the same in each
// process; nobody gains by a baseline that is taken for another.
type contentHash struct {
	sum hash.Hash64
	buf [8]byte
}

func (h *contentHash) numbers(numbers ...int64) {
	for _, n := range numbers {
		binary.LittleEndian.PutUint64(h.buf[:], uint64(n))
		h.sum.Write(h.buf[:]) // a hash never returns an error
	}
}

func (h *contentHash) texts(texts ...string) {
	for _, t := range texts {
		h.numbers(int64(len(t)))
		h.sum.Write([]byte(t))
	}
}

func (h *contentHash) names(l *profile.Location) {
	h.numbers(int64(len(l.Line)))
	for _, line := range l.Line {
		if line.Function != nil {
			h.texts(line.Function.Name)
		}
	}
}
