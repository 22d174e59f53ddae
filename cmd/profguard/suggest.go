package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"math"
	"path"
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

// suggest writes budgets that a profile keeps, but for its faults.
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
	for _, f := range w.faults { // who writes into a file does not see what it says
		fmt.Fprintf(std.err, "profguard suggest: LOOK: %s had %s, its limit is %v%%: %s. Mend that: no budget here accepts it\n", f.pattern, f.had, f.least, f.why)
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

	faults []common // what is wrong in this profile
}

// A common is what is often wrong: a pattern, with the least limit on it, in percent.
type common struct {
	pattern string
	least   float64
	why     string

	share float64 // of this profile
	had   string  // the same, as people write it
}

var commons = []common{
	{pattern: "regexp.compile", least: 5, why: "expressions are compiled once, not in each request"},
	{pattern: `/^fmt\.(Fp|P|Sp)rint(f|ln)?$/`, least: 10, why: "prints for debugging, and formatting in loops"},
	{pattern: "gc", least: 25, why: "garbage that need not be made"},
}

// isFault reports whether a profile has more of it than sound programs do.
func (c common) isFault() bool { return 100*c.share > max(c.least, 10) }

// has reports whether most of an offender is the fault: it is called by it, or calls it.
func (c common) has(o budget.Offender) bool {
	p, err := pattern.Parse(c.pattern)
	if err != nil {
		return false
	}
	return slices.ContainsFunc(slices.Concat([]budget.Frame{o.Frame}, o.Callers, o.Callees), func(f budget.Frame) bool {
		return f.Share >= o.Share/2 && p.Match(f.Function)
	})
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
	amounts, in := limitsOf(kinds.Of(w.facts.Kind))
	if w.facts.Kind != kinds.CPU {
		return w.functions(amounts, in)
	}
	measured := slices.Clone(commons)
	for i := range measured {
		c := &measured[i]
		r, err := w.judge(fmt.Sprintf("%s below %v%%", c.pattern, c.least))
		if err != nil {
			return err
		}
		if c.share, c.had = r.Share, w.measured(r.Share, r.Unit); c.isFault() {
			w.faults = append(w.faults, *c)
		}
	}
	if err := w.functions(amounts, in); err != nil {
		return err
	}
	for _, c := range measured {
		if err := w.common(c); err != nil {
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

// judge compares the profile with one sentence.
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
	excepted []string      // "main.search with 46%"
	above    string        // which they are
	worst    string        // of the others
	result   budget.Result // without the faults of the profile
	whole    budget.Result // with them
}

// functions suggests a limit for each function: the lowest that needs few exceptions, or
// the one that needs the fewest.
func (w *writer) functions(amounts []float64, unit string) error {
	best, err := w.best(amounts, unit)
	if err != nil {
		return err
	}
	others := "The largest function had "
	if len(best.excepted) > 0 {
		fmt.Fprintf(&w.out, "# LOOK: what is above %s, near the limit or over it, is accepted behind \"except\". Take out\n"+
			"# what is not the program's purpose:\n", best.above)
		for _, e := range best.excepted {
			fmt.Fprintf(&w.out, "#   %s\n", e)
		}
		others = "The largest of the others had "
	}
	fmt.Fprintf(&w.out, "# %s%s.\n", others, best.worst)
	r := best.whole
	if r.Verdict == budget.Fail && len(r.Offenders) > 0 {
		o := r.Offenders[0]
		fmt.Fprintf(&w.out, "# BROKEN by this profile: %s.\n# Mend that. If it has to be so, this line accepts it:\n#   %s\n", w.where(o, r.Unit), best.accepting(o))
	}
	w.line(best.sentence, r)
	return nil
}

// accepting is the sentence that accepts one more function.
func (a *attempt) accepting(o budget.Offender) string {
	b := a.whole.Budget
	b.Except = append(slices.Clone(b.Except), pattern.Quote(o.Function))
	return b.String()
}

// where is an offender with what it has, and the line in the own module that it is for.
func (w *writer) where(o budget.Offender, unit string) string {
	text := fmt.Sprintf("%s with %s", o.Function, w.measured(o.Share, unit))
	at := o.Frame
	if o.Blame.Function != "" && o.Blame.Function != o.Function {
		text += ", called from " + o.Blame.Function
		at = o.Blame
	}
	if at.File != "" {
		text += fmt.Sprintf(" (%s/%s:%d)", path.Base(path.Dir(at.File)), path.Base(at.File), at.Line)
	}
	return text
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
	// What is wrong is left out while the limit is looked for, and is not accepted.
	var faults, names []string
	for _, f := range w.faults {
		if f.pattern != "gc" { // which is no function
			faults = append(faults, f.pattern)
		}
	}
	sentence := func(amount float64, names ...string) string {
		except := ""
		if len(names) > 0 {
			except = " except " + strings.Join(names, ", ")
		}
		return fmt.Sprintf("no function above %v%s%s", math.Round(amount*1e6)/1e6, unit, except)
	}
	for {
		r, err := w.judge(sentence(amount*headroom, slices.Concat(faults, names)...))
		if err != nil {
			return nil, err
		}
		if len(r.Offenders) == 0 || len(names)+len(faults) > 10 {
			break
		}
		o := r.Offenders[0]
		name := pattern.Quote(o.Function)
		if slices.Contains(names, name) || slices.Contains(faults, name) {
			break
		}
		if slices.ContainsFunc(w.faults, func(f common) bool { return f.has(o) }) {
			faults = append(faults, name)
			continue
		}
		names = append(names, name)
		a.excepted = append(a.excepted, w.where(o, r.Unit))
	}
	a.sentence = sentence(amount, names...) + w.when
	var err error
	if a.result, err = w.judge(sentence(amount, slices.Concat(faults, names)...) + w.when); err != nil {
		return nil, err
	}
	a.whole, err = w.judge(a.sentence)
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
func (w *writer) common(c common) error {
	var r budget.Result
	limit, sentence := max(c.least, 5*math.Ceil(100*c.share*2/5)), ""
	if c.isFault() {
		limit = c.least
	}
	for ; sentence == "" || !lasts(r) && limit < highest && !c.isFault(); limit += 5 {
		sentence = fmt.Sprintf("%s below %v%%%s", c.pattern, limit, w.when)
		var err error
		if r, err = w.judge(sentence); err != nil {
			return err
		}
	}
	if c.isFault() {
		fmt.Fprintf(&w.out, "\n# BROKEN by this profile, which had %s: %s. Mend that, or raise the limit.\n%s\n", c.had, c.why, sentence)
		return nil
	}
	fmt.Fprintf(&w.out, "\n# This profile had %s: %s.\n", w.measured(r.Share, r.Unit), c.why)
	w.line(sentence, r)
	return nil
}

// line writes a budget, and whether the profile has enough samples for it.
func (w *writer) line(sentence string, r budget.Result) {
	if r.Verdict == budget.Inconclusive {
		fmt.Fprintf(&w.out, "# Not decided yet: %s.\n", r.Reason)
	}
	fmt.Fprintln(&w.out, sentence)
}
