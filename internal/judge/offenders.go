package judge

import (
	"slices"
	"strings"

	"github.com/profguard/profguard/internal/charge"
	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/evidence"
)

const (
	// MaxOffenders is how many a result lists: what a person reads.
	MaxOffenders = 8
	// maxWalked bounds the frames that are walked for the paths through offenders, where
	// one takes about 50 ns. One offender is always explained.
	maxWalked = 12_000_000
	// notableShare is the share from which a function is named when the process
	// as a whole is over its limit.
	notableShare = 0.1
)

// explainOver names those who are over the limit of a rule about each.
func (c *comparison) explainOver(over []int32, f *Finding) {
	limit := int64(0) // whoever has grown per unit of work is named, however little it has
	if c.before == nil || c.isShare() {
		limit = c.values(c.Limit)
	}
	f.Over = len(over)
	c.explain(c.query, over, limit, f)
}

// explain fills in the offenders among the keys of a query that are over a limit.
func (c *comparison) explain(query int, over []int32, limit int64, f *Finding) {
	w := c.w
	if len(over) == 0 || w.walked > maxWalked {
		return
	}
	w.walked += w.t.Frames
	counter := &w.judged.counter
	sums := counter.Sums(query)
	heads := counter.Offenders(query, over, limit, MaxOffenders)
	frame := func(f charge.Frame) Frame {
		return Frame{
			Function: f.Function, File: f.File, Line: f.Line,
			Share: c.part(f.Value), Value: float64(f.Value) * c.value.Scale, Own: f.Own,
		}
	}
	for i, e := range counter.Explain(query, heads) {
		value := sums.By(heads[i])
		e.Here.Function, e.Here.Value = counter.Name(query, heads[i]), value
		bounds := c.bounds(value)
		o := Offender{Frame: frame(e.Here), Low: bounds.Low, High: bounds.High}
		if f.Verdict == evidence.Fail && c.Class == Each && c.before == nil && o.Low <= c.Limit {
			o.Low = c.low(value)
		}
		if e.Own.Function != "" {
			o.Blame = frame(e.Own)
		}
		for _, f := range e.From {
			o.Callers = append(o.Callers, frame(f))
		}
		for _, f := range e.To {
			o.Callees = append(o.Callees, frame(f))
		}
		f.Offenders = append(f.Offenders, o)
	}
}

// explainSubject names what has most of what a rule is about, which is not each.
func (w *window) explainSubject(r *rule, f *Finding) {
	if c, why := w.comparison(r); why == nil {
		c.explainSubject(f)
	}
}

func (c *comparison) explainSubject(f *Finding) {
	if c.subject >= 0 {
		c.explainMatches(f)
	} else {
		c.explainMost(f)
	}
}

// explainMatches names, of the functions that a pattern matched, those with at least
// half of what the heaviest has.
func (c *comparison) explainMatches(f *Finding) {
	j := c.w.judged
	sums := j.counter.Sums(c.detail)
	var over []int32
	var limit int64
	one := []int32{c.subject}
	for key := range j.counter.Ranked(c.detail) {
		if !j.names.Match(decode.ID(key), one) {
			continue
		}
		if len(over) == 0 {
			limit = (sums.By(key) - 1) / 2
		}
		if sums.By(key) <= limit {
			break
		}
		over = append(over, key)
	}
	c.explain(c.detail, over, limit, f)
}

// explainMost names what the process as a whole spends most on.
func (c comparison) explainMost(f *Finding) {
	c.over = 0
	counter := &c.w.judged.counter
	for _, query := range [...]int{c.detail, c.literal} { // literally, where the runtime itself has most of it
		if query < 0 {
			continue
		}
		sums := counter.Sums(query)
		var over []int32
		for key := range counter.Ranked(query) {
			if sums.Share(key) < notableShare {
				break
			}
			over = append(over, key)
		}
		if c.explain(query, over, c.values(notableShare), f); len(f.Offenders) > 0 {
			return
		}
	}
}

// fips holds what does the work of many packages of crypto since Go 1.24, in a
// program built with GOFIPS140 under a version, as in "v1.0.0/sha256".
const fips = "crypto/internal/fips140/"

// elsewhere is, for a rule about a package of crypto that has no hit, the package in
// which its work is done: a limit on the wrong name is always kept. It is "" for any
// other rule.
func (w *window) elsewhere(r *rule) string {
	name, ok := strings.CutPrefix(r.Subject, "crypto") // "/sha256"
	if !ok || r.Class != Pattern || r.query < 0 || w.judged.counter.Sums(r.query).By(r.subject) > 0 {
		return ""
	}
	name = strings.TrimSuffix(name, "/...")
	if strings.LastIndexByte(name, '/') != 0 || strings.ContainsAny(name, ".*") {
		return "" // no path of a package right below crypto
	}
	names := w.judged.names
	does := func(path string) bool { return strings.HasPrefix(path, fips) && strings.HasSuffix(path, name) }
	if !slices.ContainsFunc(w.t.Funcs, func(f decode.Func) bool { return does(names.Package(f.Name)) }) {
		return "" // without counting anything
	}
	// It may work for others only: outside the scope, or in samples that do not count.
	sums := w.judged.counter.Sums(r.detail)
	for _, key := range sums.Keys {
		if path := names.Package(decode.ID(key)); sums.By(key) > 0 && does(path) {
			return path
		}
	}
	return ""
}
