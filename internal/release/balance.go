package release

import (
	"cmp"
	"fmt"
	"math"
	"path"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/profguard/profguard/internal/evidence"
	"github.com/profguard/profguard/internal/unit"
)

// Lists are the functions that cost more and less, and those whose cost has moved, by how much it is.
func (c *Comparison) Lists() (more, less, moved []Function) {
	for _, f := range c.Functions {
		switch {
		case f.Named:
			more = append(more, f)
		case f.Status == Moved:
			moved = append(moved, f)
		case f.Status == Cheaper && !c.movedFrom(&f):
			less = append(less, f)
		}
	}
	for _, list := range [][]Function{less, moved} {
		sort.SliceStable(list, func(i, j int) bool { return math.Abs(list[i].Points.Value) > math.Abs(list[j].Points.Value) })
	}
	return more, less, moved
}

// Above are the functions that cost more for sure, but perhaps by less than the limit, with what they have in common:
// "more, perhaps by less than 3 points".
func (c *Comparison) Above() (name string, list []Function) {
	for _, f := range c.Functions {
		if f.Above {
			list = append(list, f)
		}
	}
	points := fmt.Sprintf("%.3g points", 100*c.Limit)
	if points == "1 points" {
		points = "1 point"
	}
	return "more, perhaps by less than " + points, list
}

// Nearest is the undecided function that is nearest to have surely grown by more than the limit, nil if there is none.
func (c *Comparison) Nearest() (nearest *Function) {
	for i := range c.Functions {
		if f := &c.Functions[i]; f.Status == Undecided && (nearest == nil || c.nearness(f) > c.nearness(nearest)) {
			nearest = f
		}
	}
	return nearest
}

// Remedy is what keeps a function undecided, or what would decide.
func (c *Comparison) Remedy() string {
	switch {
	case c.Machine != "":
		return c.Machine
	case c.Now.Samples > 2*c.Before.Samples:
		was, _ := c.Names()
		return fmt.Sprintf("more samples of %s will tell", was)
	}
	return "more samples will tell"
}

// nearness is how far above the limit the growth of a function seems to be, in parts of how far it may be less than
// that: at 1 it is surely above. It is below 0 if the growth seems to be below the limit, by that.
func (c *Comparison) nearness(f *Function) float64 {
	above := f.Points.Value - c.Limit
	if above > 0 {
		above /= max(f.Points.Value-f.Points.Low, 1e-9)
	}
	return above
}

// rank is the place of the kind of a function in a list.
func (f *Function) rank() int {
	switch {
	case f.Named:
		return 0
	case f.Above && !f.MayMove:
		return 1
	case f.Above:
		return 2
	case f.Status == Moved || f.Points.High < 0:
		return 4
	case f.Points.Low > 0: // its callees are above
		return 3
	case f.Status == Undecided:
		return 5
	}
	return 6
}

// weight orders the functions of a rank, the largest first.
func (c *Comparison) weight(f *Function) float64 {
	switch f.rank() {
	case 1, 2, 3:
		return f.Points.Low
	case 5:
		return c.nearness(f)
	}
	return math.Abs(f.Points.Value)
}

// movedFrom reports whether what a function costs less has only moved.
func (c *Comparison) movedFrom(f *Function) bool {
	return slices.ContainsFunc(c.Functions, func(to Function) bool {
		return to.Status == Moved && to.From != "" && to.From == cmp.Or(f.Was, f.Name)
	})
}

// Verdict judges "no function grows above" the limit of the options.
func (c *Comparison) Verdict() evidence.Verdict {
	if c.Why != "" {
		return evidence.Inconclusive
	}
	verdict := evidence.Pass
	for _, f := range c.Functions {
		switch {
		case f.Named:
			return evidence.Fail
		case f.Status == Undecided, f.Status == Moved && f.Rest.High >= evidence.Edge(c.Limit):
			verdict = evidence.Inconclusive
		}
	}
	return verdict
}

// ProcessVerdict judges "process grows below" a limit.
func (c *Comparison) ProcessVerdict(limit float64) evidence.Verdict {
	switch {
	case c.Why != "" || !c.Known:
		return evidence.Inconclusive
	case c.Process.Low > limit:
		return evidence.Fail
	case c.Process.High < evidence.Zone*limit:
		return evidence.Pass
	}
	return evidence.Inconclusive
}

// Balance says in a line what the build costs, and where that is: first what surely costs more, then what may.
func (c *Comparison) Balance() string {
	if c.Why != "" {
		was, is := c.Names()
		return fmt.Sprintf("%s against %s: %s", is, was, c.Why)
	}
	var b strings.Builder
	b.WriteString(c.Headline())
	more, less, moved := c.Lists()
	perhaps, above := c.Above()
	for _, list := range []struct {
		name      string
		functions []Function
	}{{"more", more}, {perhaps, above}, {"less", less}, {"moved", moved}} {
		if len(list.functions) == 0 {
			continue
		}
		var texts []string
		for _, f := range list.functions[:min(len(list.functions), mostListed)] {
			texts = append(texts, f.Short())
		}
		if n := len(list.functions) - mostListed; n > 0 {
			texts = append(texts, fmt.Sprintf("and %d more", n))
		}
		fmt.Fprintf(&b, "; %s: %s", list.name, strings.Join(texts, ", "))
	}
	if f := c.Nearest(); len(more)+len(above) == 0 && f != nil && f.Points.Value > c.Limit {
		fmt.Fprintf(&b, "; not sure yet: %s", f.Short())
	}
	return b.String()
}

// mostListed is how many functions of a list are in a line.
const mostListed = 3

// Headline says what the build costs.
func (c *Comparison) Headline() string {
	was, is := c.Names()
	samples := fmt.Sprintf("after %s", unit.Plural(int64(c.Now.Samples), "sample"))
	if !c.Known {
		return fmt.Sprintf("%s is compared with %s by shares, %s (%.0f before)", is, was, samples, c.Before.Samples)
	}
	samples += fmt.Sprintf(" and %.0f units of %q", c.Now.Work, c.Per)
	if c.Per != "" && unit.IsName(c.Per) {
		samples = fmt.Sprintf("after %s and %s", unit.Plural(int64(c.Now.Samples), "sample"), unit.Plural(int64(c.Now.Work), c.Per))
	}
	verb := "costs"
	if c.Process.Low <= 0 && c.Process.High >= 0 {
		verb = "may cost"
	}
	if c.Machine != "" {
		samples += "; " + c.Machine
	}
	if c.Collector.Value > 0 {
		samples += "; the garbage collector: " + c.Collector.PointsText()
	}
	return fmt.Sprintf("%s %s %s CPU per %s than %s (%s), %s", is, verb, amountOf(c.Process.Value), c.Per, was, c.Process.Percent(), samples)
}

// amountOf is "3.1% more".
func amountOf(growth float64) string {
	if growth < 0 {
		return fmt.Sprintf("%.1f%% less", -100*growth)
	}
	return fmt.Sprintf("%.1f%% more", 100*growth)
}

// Percent are the bounds in percent: "+2.4% to +3.9%".
func (g Growth) Percent() string {
	high := fmt.Sprintf("%+.1f%%", 100*g.High)
	if g.High > 10 {
		high = "any amount"
	}
	return fmt.Sprintf("%+.1f%% to %s", 100*g.Low, high)
}

// PointsText is a growth in points, with its bounds: "+24 points (+17 to +31)".
func (g Growth) PointsText() string {
	return fmt.Sprintf("%+.1f points (%+.1f to %+.1f)", 100*g.Value, 100*g.Low, 100*g.High)
}

// Short is the function and its growth, with bounds if that may be below the limit.
func (f *Function) Short() string {
	text := fmt.Sprintf("%s %+.1f points", f.Name, 100*f.Points.Value)
	if f.Above || f.Status == Undecided {
		text = f.Name + " " + f.Points.PointsText() + f.unlessMoved()
	}
	switch {
	case f.Status == Moved && f.From != "":
		text += " from " + f.From
	case f.Status != Moved && f.Moved > 0:
		text += fmt.Sprintf(" (beside %.1f that moved)", 100*f.Moved)
	case f.New:
		text += " (new)"
	case f.Was != "":
		text += fmt.Sprintf(" (was %s)", f.Was)
	}
	return text
}

// unlessMoved is what else may be true of the points.
func (f *Function) unlessMoved() string {
	if !f.MayMove {
		return ""
	}
	return " unless it only moved"
}

// PointsText is the growth of a function with its bounds: "+30.0 points, of which 20.0 moved:
// +10.0 points (+5.0 to +15.0)" where a part of what it costs more has only moved.
func (f *Function) PointsText() string {
	text := f.Points.PointsText()
	if f.Status != Moved && f.Moved > 0 {
		text = fmt.Sprintf("%+.1f points, of which %.1f moved: %s", 100*(f.Points.Value+f.Moved), 100*f.Moved, text)
	}
	return text + f.unlessMoved()
}

// Amount prints what a function costs.
func (c *Comparison) Amount(cost float64) string {
	if c.Per == "" {
		return unit.Format(cost, unit.Share)
	}
	return unit.Format(cost, unit.Time)
}

// At is the line to look at of a function that may have grown, as the end of a sentence: " at shop/search.go:46" or
// ", called from main.serve at shop/serve.go:8"; "" if it is not known. Those that have are offenders, whose
// lines a result shows itself.
func (f *Function) At() string {
	at, from := f.Blame, ""
	if at.File == "" {
		at = f.Line
	}
	if at.File == "" {
		return ""
	}
	if at.Function != f.Name && at.Function != "" {
		from = ", called from " + at.Function
	}
	return fmt.Sprintf("%s at %s:%d", from, path.Join(path.Base(path.Dir(at.File)), path.Base(at.File)), at.Line)
}

// Named is a function, or a value with its label.
func (c *Comparison) Named(name string) string {
	if c.Label == "" {
		return name
	}
	if strings.ContainsAny(name, " ,;:") {
		name = strconv.Quote(name)
	}
	return c.Label + " " + name
}

// Sentence says what a function costs now and did before: "main.valid costs 1.9 ms per request, 0.4 ms
// before: +24 points (+17 to +31)".
func (c *Comparison) Sentence(f *Function) string {
	before, per := c.Amount(f.Before), ""
	if c.Per != "" {
		per = " per " + c.Per
	}
	if f.New {
		before = "nothing"
	}
	return fmt.Sprintf("%s costs %s%s, %s before: %s", c.Named(f.Name), c.Amount(f.Now), per, before, f.PointsText())
}
