package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/pattern"
)

// headroom is what part of a limit the present profile may use, so that the next one
// is within it too.
const headroom = 0.75

// mostExcepts is how many functions are accepted before the limit is raised.
const mostExcepts = 2

// leastSamples is a second of CPU time. With fewer, functions are over a limit by chance.
const leastSamples = 100

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
	w := writer{data: data, facts: facts}
	if w.facts.Kind == "" {
		w.facts.Kind = kindOf(table.Types)
	}
	if err := w.suggest(); err != nil {
		return exitMisuse, err
	}
	_, err = std.out.Write(w.out.Bytes())
	return exitKept, err
}

// kindOf is the kind of a profile with these values, or "".
func kindOf(types []decode.ValueType) string {
	kinds := map[string]string{"cpu": "cpu", "inuse_space": "heap", "goroutine": "goroutine", "goroutines": "goroutine", "delay": "mutex"}
	for _, t := range types {
		if kind, ok := kinds[t.Type]; ok {
			return kind
		}
	}
	return ""
}

// A writer writes suggestions.
type writer struct {
	data  []byte
	facts budget.Facts
	when  string // the condition of budgets on shares
	out   bytes.Buffer
}

// limits are tried in this order, for a budget on each function by itself.
var limits = map[string]struct {
	amounts []float64
	unit    string
}{
	"cpu":       {[]float64{20, 25, 30, 40, 50}, "% cumulative"},
	"heap":      {[]float64{20, 30, 40, 50, 60}, "% cumulative of heap"},
	"allocs":    {[]float64{20, 30, 40, 50, 60}, "% cumulative of allocs"},
	"goroutine": {[]float64{30, 40, 50, 60}, "% cumulative of goroutine"},
	"mutex":     {[]float64{0.1, 0.2, 0.5, 1, 2, 5}, " cores of mutex"},
	"block":     {[]float64{0.1, 0.2, 0.5, 1, 2, 5}, " cores of block"},
}

func (w *writer) suggest() error {
	l, ok := limits[w.facts.Kind]
	if !ok {
		return errors.New("expected a profile of cpu, heap, allocs, goroutine, mutex or block: -kind says which it is")
	}
	if w.facts.Kind == "cpu" {
		r, err := w.judge("process below 1000000 cores")
		if err != nil {
			return err
		}
		if r.Samples < leastSamples {
			return fmt.Errorf("%d samples tell nothing, %d are needed: profile the service while it works, or for longer (-seconds 30)", r.Samples, leastSamples)
		}
		fmt.Fprintf(&w.out, "# From %d samples, at %.2g cores. Shares of an idle process say nothing, hence \"when\".\n\n", r.Samples, r.Share)
		if gate := math.Min(0.1, math.Floor(50*r.Share)/100); gate > 0 { // half of it
			w.when = fmt.Sprintf(" when process above %v cores", gate)
		}
	}
	if err := w.functions(l.amounts, l.unit); err != nil {
		return err
	}
	if w.facts.Kind != "cpu" {
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
	worst    string   // of the others
	result   budget.Result
}

// functions suggests a limit for each function: the lowest that needs few exceptions, or
// the one that needs the fewest.
func (w *writer) functions(amounts []float64, unit string) error {
	var best *attempt
	for _, amount := range amounts {
		a, err := w.attempt(amount, unit)
		if err != nil {
			return err
		}
		if best == nil || a.better(best) {
			best = a
		}
	}
	fmt.Fprintf(&w.out, "# The largest function had %s", best.worst)
	if len(best.excepted) > 0 {
		fmt.Fprintf(&w.out, "; accepted as they are: %s", strings.Join(best.excepted, ", "))
	}
	fmt.Fprint(&w.out, ".\n")
	w.line(best.sentence, best.result)
	return nil
}

// better is whether a is worth its higher limit.
func (a *attempt) better(b *attempt) bool {
	if aPass, bPass := a.result.Verdict == budget.Pass, b.result.Verdict == budget.Pass; aPass != bPass {
		return aPass
	}
	return len(b.excepted) > mostExcepts && len(a.excepted) < len(b.excepted)
}

func (w *writer) attempt(amount float64, unit string) (*attempt, error) {
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
		a.worst = r.Reason
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
	return a, err
}

// measured is a share or an amount as people write it.
func (w *writer) measured(share float64, unit string) string {
	if unit == "ratio" {
		return fmt.Sprintf("%.1f%%", 100*share)
	}
	return fmt.Sprintf("%.2g %s", share, unit)
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
	sentence := fmt.Sprintf("%s below %v%%%s", subject, limit, w.when)
	if r, err = w.judge(sentence); err != nil {
		return err
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
