package judge

import (
	"slices"

	"github.com/profguard/profguard/internal/charge"
	"github.com/profguard/profguard/internal/evidence"
)

// notableWithout is the part of the samples without the label from which a finding tells it.
const notableWithout = 0.1

// Hidden stands for the value of a label that must not leave the process.
const Hidden = "(hidden)"

// Hide replaces the values of a label in a finding about them that may not be shown.
func (f *Finding) Hide(shown func(value string) bool) {
	of := func(name *string) {
		if *name != "" && !shown(*name) {
			*name = Hidden
		}
	}
	of(&f.Who)
	f.Offenders = slices.Clone(f.Offenders)
	for i := range f.Offenders {
		of(&f.Offenders[i].Function)
	}
	switch why := f.Reason.(type) {
	case Likely:
		of(&why.Proven)
		f.Reason = why
	case Released:
		if why.Function != nil {
			function := *why.Function
			of(&function.Name)
			of(&function.Was)
			f.Reason = Released{why.Of, &function}
		}
	}
}

// labelled is the finding on the values of a label. Samples without the label are of no value. Where all
// are, nothing is judged: a budget on a label that nobody sets would be kept for ever.
func (c *charges) labelled(compare func() Finding) Finding {
	if c.sums.Without >= c.sums.Total {
		return Finding{Samples: c.samples(), Reason: NoLabel{}}
	}
	f := c.named(compare())
	if c.sums.Crowded && f.Verdict != evidence.Fail {
		f.Verdict, f.Reason = evidence.Inconclusive, TooManyValues{}
	}
	if part := c.sums.Part(c.sums.Without); part > notableWithout {
		f.Without = part
	}
	return f
}

// within explains a value of a label: by the function that costs most of it, as that of a process is named.
// It is empty if there is no such function.
func (c *charges) within(key int32, value int64) (e charge.Explanation) {
	counter := c.m.counter
	counter.Within(c.detail, c.label, key, func(query int) {
		sums := counter.Sums(query)
		first, limit := int64(largeShare*float64(value)), int64(notableShare*float64(value))
		var over []int32
		for _, f := range counter.Ranked(query, limit) {
			if sums.By(f) > limit {
				over = append(over, f)
			}
		}
		if named := counter.Offenders(query, over, 1, first, limit); len(named) > 0 {
			e = counter.Explain(query, named[0])
			e.Here.Function, e.Here.Value = counter.Name(query, named[0]), sums.By(named[0])
		}
	})
	return e
}
