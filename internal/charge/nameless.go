package charge

import "github.com/profguard/profguard/internal/decode"

// Some profiles lack names of functions: those of programs without symbols, of perf, eBPF and
// other languages. Whether a function is in such a stack is not known.
//
// A stack is hidden unless each of its frames without a name is called by a function of Go and
// calls none: those are of C, the kernel or the vdso, which programs of Go end in.

// isHidden reports whether any function may be in a stack with a frame without a name, or
// without frames.
func isHidden(frames []decode.ID, parts []part) bool {
	inner := 0 // the first frame, from the leaf, that is of Go
	for inner < len(frames) && parts[frames[inner]]&foreign != 0 {
		inner++
	}
	if inner == len(frames) {
		return true
	}
	for _, f := range frames[inner:] {
		if parts[f]&nameless != 0 {
			return true
		}
	}
	return false
}

// nameless is the part of the samples that a query asks about, or may ask about, which are
// hidden, and the part of those in which nothing can be charged to a function of Go.
func (c *Counter) nameless(query int, total int64) (hidden, foreign float64) {
	t, q, s := c.table, &c.queries[query], &c.stack
	if !c.stacks.lacks {
		return 0, 0
	}
	var hides, others int64
	for i := range t.Samples {
		sh, v := &c.stacks.shapes[i], t.Values[i*len(t.Types)+q.Value]
		if v <= 0 || !sh.hidden && !sh.foreign || q.Where >= 0 && !holds(t, &t.Samples[i], c.Where[q.Where]) {
			continue
		}
		s.frames, s.sample, s.shape = c.stacks.of(i), i, sh
		counts := c.reaches(q)
		switch {
		case sh.hidden:
			if hides = decode.AddSaturating(hides, v); !counts {
				total = decode.AddSaturating(total, v) // what the query asks about may be in it
			}
		case counts:
			others = decode.AddSaturating(others, v)
		}
	}
	if total <= 0 {
		return 0, 0
	}
	return float64(hides) / float64(total), (float64(hides) + float64(others)) / float64(total)
}
