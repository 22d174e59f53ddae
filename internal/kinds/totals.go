package kinds

import (
	"encoding/binary"
	"hash/maphash"
)

// values are the two numbers of a difference: pieces and their size, bytes or
// nanoseconds.
type values [2]int64

// A stack is what is known about one stack of a kind.
type stack struct {
	before, now values
	round       int32 // of the profile that now is from
}

// totals remember what a kind had counted for each stack, so that a later profile
// can be subtracted from. A stack is known by a 64-bit hash of its program
// counters, which are the same in every profile of a process where location ids
// are not: among 200,000 stacks two share one with a chance of one in a billion.
//
// The runtime never forgets a stack, so what is kept here grows only as fast as
// the profile itself, and after the first window hardly anything is added.
type totals struct {
	seed   maphash.Seed
	index  map[uint64]int32
	stacks []stack
	round  int32
	of     []int32 // the stack of each sample of the latest profile
	key    []byte
}

// add takes in the samples of a profile. Samples of one stack are added up, as
// the merge of google/pprof does: allocations that differ in their runtime frames
// only are shown as the same.
func (t *totals) add(s *scan) error {
	if t.index == nil {
		t.seed, t.index = maphash.MakeSeed(), map[uint64]int32{}
	}
	t.round++
	t.of = t.of[:0]
	for _, at := range s.samples {
		v, err := t.sample(s, at)
		if err != nil {
			return err
		}
		h := maphash.Bytes(t.seed, t.key)
		i, ok := t.index[h]
		if !ok {
			i = int32(len(t.stacks))
			t.index[h] = i
			t.stacks = append(t.stacks, stack{})
		}
		st := &t.stacks[i]
		if st.round != t.round {
			st.round, st.now = t.round, values{}
		}
		st.now[0] += v[0]
		st.now[1] += v[1]
		t.of = append(t.of, i)
	}
	return nil
}

// sample reads the first two values of a sample, and makes t.key what tells its
// stack from others.
func (t *totals) sample(s *scan, at span) (v values, err error) {
	t.key = t.key[:0]
	n := 0
	f := fields{rest: s.body(at)}
	for f.next() {
		switch f.num {
		case sampleLocation:
			f.integers(func(id uint64) {
				address, e := s.address(id)
				if e != nil {
					err = e
				}
				t.key = binary.LittleEndian.AppendUint64(t.key, address)
			})
		case sampleValue:
			f.integers(func(x uint64) {
				if n < len(v) {
					v[n] = int64(x)
				}
				n++
			})
		case sampleLabel:
			// The size of the objects, by which the runtime tells allocations at one
			// place apart. These kinds have no other labels.
			l := fields{rest: f.bytes}
			for l.next() {
				if l.num == labelNum {
					t.key = binary.LittleEndian.AppendUint64(t.key, l.varint)
				}
			}
		}
	}
	if f.err != nil {
		err = f.err
	}
	return v, err
}

// take is what the stack of a sample has grown by, and forgets it: the second
// sample of a stack gets nothing.
func (t *totals) take(sample int) (grown values) {
	st := &t.stacks[t.of[sample]]
	for i := range grown {
		grown[i] = max(0, st.now[i]-st.before[i])
	}
	st.before = st.now
	return grown
}

// settle makes the latest profile the one to subtract.
func (t *totals) settle() {
	for _, i := range t.of {
		t.stacks[i].before = t.stacks[i].now
	}
}
