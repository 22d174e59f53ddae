package release

import (
	"context"
	"hash/maphash"

	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/names"
)

// mostEnding is how often stacks that end too early are made whole again: how one is charged depends on the
// others, too.
const mostEnding = 3

// Ended is a table whose stacks end in the innermost function that they are charged to. What they have below that
// is what most of them differ in: of recorded services a fifth is left, and much less of what comes later.
// A stack that would be charged to other functions then stays whole, and so does one that the runtime has cut off.
func Ended(ctx context.Context, s *Side) (*decode.Table, error) {
	whole, err := count(ctx, s, nil)
	if err != nil {
		return nil, err
	}
	was, keep := whole.ends()
	t := s.Table
	for range mostEnding {
		sample := -1
		t = s.Table.Filter(func(stack *decode.Stack) bool {
			sample++
			stack.Locations = stack.Locations[len(stack.Locations)-keep[sample]:]
			return true
		})
		ended, err := count(ctx, &Side{Table: t, Module: s.Module, Modules: s.Modules}, nil)
		if err != nil {
			return nil, err
		}
		is, _ := ended.ends()
		same := true
		for i, all := range s.Table.Samples {
			if is[i] != was[i] {
				keep[i], same = int(all.StackHi-all.StackLo), false
			}
		}
		if same {
			break
		}
	}
	return t, nil
}

// ends are, by sample, what stands for the functions that it is charged to, and how many locations lead from the
// root to the innermost of them: one if there is none.
func (c *counted) ends() (charged []uint64, keep []int) {
	t := c.Table
	folded := make(map[decode.ID]string, len(t.Funcs))
	for _, f := range t.Funcs {
		folded[f.Name] = names.Fold(t.Symbols.Name(f.Name))
	}
	charged, keep = make([]uint64, len(t.Samples)), make([]int, len(t.Samples))
	for i, s := range t.Samples {
		keep[i] = min(1, int(s.StackHi-s.StackLo))
	}
	var h maphash.Hash
	h.SetSeed(seed)
	to := map[string]bool{}
	c.counter.Each(c.query, func(_ int64, sample int, keys []int32, cut bool) {
		clear(to)
		h.Reset()
		for _, key := range keys {
			if key >= 0 {
				name := c.counter.Name(c.query, key)
				to[name] = true
				h.WriteString(name)
				h.WriteByte(0)
			}
		}
		charged[sample] = h.Sum64()
		stack := t.Stacks[t.Samples[sample].StackLo:t.Samples[sample].StackHi]
		if cut {
			keep[sample] = len(stack)
			return
		}
		for i, l := range stack {
			for _, line := range t.Lines[t.Locations[l].LineLo:t.Locations[l].LineHi] {
				if to[folded[line.Name]] {
					keep[sample] = len(stack) - i
					return
				}
			}
		}
	})
	return charged, keep
}

var seed = maphash.MakeSeed()

// aligned are two sides with stacks that were made less in the same way: what only one of them has lost would be
// a difference.
func aligned(ctx context.Context, a, b *Side) (*Side, *Side, error) {
	x, y := *a, *b
	for _, s := range []struct{ of, other *Side }{{&x, b}, {&y, a}} {
		if s.other.Ended && !s.of.Ended {
			t, err := Ended(ctx, s.of)
			if err != nil {
				return nil, nil, err
			}
			s.of.Table, s.of.Ended = t, true
		}
		if d := s.other.Depth; d > 0 && (s.of.Depth == 0 || d < s.of.Depth) {
			s.of.Table, s.of.Depth = s.of.Table.Shallow(d), d
		}
	}
	return &x, &y, nil
}
