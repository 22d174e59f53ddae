package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/evidence"
	"github.com/profguard/profguard/internal/kinds"
	"github.com/profguard/profguard/internal/pattern"
	"github.com/profguard/profguard/internal/unit"
)

// headrooms are the parts of a limit that the present profile may use, so that the next
// one is within it too. They are tried in this order: with few samples it takes more room.
var headrooms = []float64{0.75, 0.6, 0.45}

// highest is the limit, in percent, beyond which one on a share says little.
const highest = 50

// mostExcepts is how many functions are accepted before the limit is raised.
const mostExcepts = 2

const (
	// leastSamples is a second of CPU time. With fewer, functions are over a limit by chance.
	leastSamples = 100
	// enoughSamples tell the lowest limit, 20%, from half as much again.
	enoughSamples = 500
)

// suggest writes budgets that a profile keeps.
func suggest(ctx context.Context, args []string, std streams) (int, error) {
	s := source{streams: std}
	var facts budget.Facts
	f := newFlags("suggest")
	s.profileFlags(f, &facts)
	args, err := parseFlags(f, args, std.out)
	if err != nil {
		return exitMisuse, err
	}
	data, err := s.read(ctx, args)
	if err != nil {
		return exitMisuse, err
	}
	table, err := decoded(decode.Limits{}, "suggest", data)
	if err != nil {
		return exitMisuse, err
	}
	w := writer{data: data, facts: facts, table: table}
	if w.facts.Kind == "" {
		w.facts.Kind = kindOf(table)
	}
	if err := w.suggest(about(args, w.facts.Kind, facts.Module, data, table)); err != nil {
		return exitMisuse, err
	}
	_, err = std.out.Write(w.out.Bytes())
	return exitKept, err
}

// kindOf is the kind of a profile by its values, or "". Heap and allocs have the same
// ones, and name their own; mutex and block look the same.
func kindOf(t *decode.Table) string {
	if t.DefaultType >= 0 && t.Types[t.DefaultType].Type == "alloc_space" {
		return "allocs"
	}
	for _, k := range kinds.All {
		name := cmp.Or(k.Amount, k.Count)
		if slices.ContainsFunc(t.Types, func(v decode.ValueType) bool { return v.Type == name || v.Type == name+"s" }) {
			return k.Name
		}
	}
	return ""
}

// A writer writes suggestions.
type writer struct {
	data  []byte
	table *decode.Table
	facts budget.Facts
	when  string // the condition of budgets on shares
	out   bytes.Buffer
}

// limitsOf are the limits that are tried, in this order, for a budget on each function by
// itself.
func limitsOf(k kinds.Kind) (amounts []float64, unit string) {
	switch k.Sampling {
	case kinds.Timed:
		return []float64{20, 25, 30, 40, 50}, "% cumulative"
	case kinds.Memory:
		return []float64{20, 30, 40, 50, 60}, "% cumulative of " + k.Name
	case kinds.Contention:
		return []float64{0.1, 0.2, 0.5, 1, 2, 5}, " cores of " + k.Name
	}
	return []float64{30, 40, 50, 60}, "% cumulative of " + k.Name
}

func (w *writer) suggest(about string) error {
	if !slices.Contains(kinds.Names(), w.facts.Kind) {
		return fmt.Errorf("expected a profile of one of %s: -kind says which it is", strings.Join(kinds.Names(), ", "))
	}
	if w.facts.Kind == kinds.CPU {
		n := w.table.Count()
		if n < leastSamples {
			return fmt.Errorf("%s: too few to suggest anything; %s", about, w.wanted())
		}
		fmt.Fprintf(&w.out, "# %s.\n", about)
		if n < enoughSamples {
			fmt.Fprintf(&w.out, "# That is little to go by; %s.\n", w.wanted())
		}
		fmt.Fprint(&w.out, "# Shares of an idle process say nothing, hence \"when\".\n\n")
		if gate := math.Min(0.1, math.Floor(50*coresOf(w.table))/100); gate > 0 { // half of it
			w.when = fmt.Sprintf(" when process above %v cores", gate)
		}
	} else {
		fmt.Fprintf(&w.out, "# %s.\n\n", about)
	}
	if err := w.functions(limitsOf(kinds.Of(w.facts.Kind))); err != nil {
		return err
	}
	if w.facts.Kind != kinds.CPU {
		return nil
	}
	for _, c := range []struct {
		pattern string
		least   float64
		why     string
	}{
		{"regexp.compile", 5, "expressions are compiled once, not in each request"},
		{`/^fmt\.(Fp|P|Sp)rint(f|ln)?$/`, 10, "prints for debugging, and formatting in loops"},
		{"gc", 25, "garbage that need not be made"},
	} {
		if err := w.common(c.pattern, c.least, c.why); err != nil {
			return err
		}
	}
	return nil
}

// wanted says how busy a program must be for enough samples.
func (w *writer) wanted() string {
	cores := func(seconds float64) string {
		return unit.Format(enoughSamples*periodOf(w.table).Seconds()/seconds, unit.Cores)
	}
	return fmt.Sprintf("profile it while it works: %d samples are %s for -seconds 10, or %s for -seconds 60", enoughSamples, cores(10), cores(60))
}

// judge holds the profile against one sentence.
func (w *writer) judge(sentence string) (budget.Result, error) {
	set, err := budget.Parse(sentence)
	if err != nil {
		return budget.Result{}, err
	}
	results, err := set.JudgeReader(bytes.NewReader(w.data), w.facts)
	if err != nil {
		return budget.Result{}, err
	}
	return results[0], nil
}

// An attempt is a limit on each function, with what must be accepted for it.
type attempt struct {
	sentence string
	excepted []string // "main.search had 46%"
	above    string   // which they are
	worst    string   // of the others
	result   budget.Result
}

// functions suggests a limit for each function: the lowest that needs few exceptions, or
// the one that needs the fewest.
func (w *writer) functions(amounts []float64, unit string) error {
	best, err := w.best(amounts, unit)
	if err != nil {
		return err
	}
	if len(best.excepted) == 0 {
		fmt.Fprintf(&w.out, "# The largest function had %s.\n", best.worst)
	} else {
		each := ""
		if len(best.excepted) > 1 {
			each = " (each without those before it)"
		}
		fmt.Fprintf(&w.out, "# Accepted, being above %s and so near the limit or over it: %s%s.\n# The largest of the others had %s.\n",
			best.above, strings.Join(best.excepted, ", "), each, best.worst)
	}
	w.line(best.sentence, best.result)
	return nil
}

func (w *writer) best(amounts []float64, unit string) (best *attempt, err error) {
	for _, amount := range amounts {
		for _, headroom := range headrooms {
			a, err := w.attempt(amount, headroom, unit)
			if err != nil {
				return nil, err
			}
			if best == nil || a.better(best) {
				best = a
			}
			if lasts(best.result) && len(best.excepted) <= mostExcepts {
				return best, nil
			}
		}
	}
	return best, nil
}

// lasts is whether the next profile will pass too, if it is like this one: there is room
// for a bound that is twice as far from the share. With few samples that takes a higher
// limit.
func lasts(r budget.Result) bool {
	return r.Verdict == budget.Pass && 2*r.High-r.Share < evidence.Zone*r.Limit
}

// better is whether a is worth its higher limit.
func (a *attempt) better(b *attempt) bool {
	if a, b := lasts(a.result), lasts(b.result); a != b {
		return a
	}
	return len(b.excepted) > mostExcepts && len(a.excepted) < len(b.excepted)
}

func (w *writer) attempt(amount, headroom float64, unit string) (*attempt, error) {
	a := &attempt{}
	var names []string
	sentence := func(amount float64) string {
		except := ""
		if len(names) > 0 {
			except = " except " + strings.Join(names, ", ")
		}
		return fmt.Sprintf("no function above %v%s%s", math.Round(amount*1e6)/1e6, unit, except)
	}
	for {
		r, err := w.judge(sentence(amount * headroom))
		if err != nil {
			return nil, err
		}
		if len(r.Offenders) == 0 || len(names) == 10 {
			break
		}
		o := r.Offenders[0]
		name := pattern.Quote(o.Function)
		if slices.Contains(names, name) {
			break
		}
		names = append(names, name)
		a.excepted = append(a.excepted, fmt.Sprintf("%s with %s", o.Function, w.measured(o.Share, r.Unit)))
	}
	a.sentence = sentence(amount) + w.when
	var err error
	a.result, err = w.judge(a.sentence)
	a.worst = w.measured(a.result.Share, a.result.Unit)
	a.above = w.measured(a.result.Limit*headroom, a.result.Unit)
	return a, err
}

// measured is a share or an amount as people write it.
func (w *writer) measured(share float64, name string) string {
	if name == "ratio" {
		return fmt.Sprintf("%.1f%%", 100*share)
	}
	return unit.Format(share, unit.Measured(name))
}

// common suggests a limit on what is often wrong: twice what was measured, and at
// least so many percent.
func (w *writer) common(subject string, least float64, why string) error {
	r, err := w.judge(fmt.Sprintf("%s below %v%%", subject, least))
	if err != nil {
		return err
	}
	limit := max(least, 5*math.Ceil(100*r.Share*2/5))
	if 100*r.Share > max(least, 10) { // sound programs have less
		fmt.Fprintf(&w.out, "\n# Look at %s, which had %s, before you accept anything: %s.\n", subject, w.measured(r.Share, r.Unit), why)
		return nil
	}
	sentence := ""
	for ; sentence == "" || !lasts(r) && limit < highest; limit += 5 {
		sentence = fmt.Sprintf("%s below %v%%%s", subject, limit, w.when)
		if r, err = w.judge(sentence); err != nil {
			return err
		}
	}
	fmt.Fprintf(&w.out, "\n# This profile had %s: %s.\n", w.measured(r.Share, r.Unit), why)
	w.line(sentence, r)
	return nil
}

// line writes a budget, and whether the profile has enough samples for it.
func (w *writer) line(sentence string, r budget.Result) {
	if r.Verdict != budget.Pass {
		fmt.Fprintf(&w.out, "# Not decided yet: %s.\n", r.Reason)
	}
	fmt.Fprintln(&w.out, sentence)
}
