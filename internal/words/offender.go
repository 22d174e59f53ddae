package words

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/profguard/profguard/internal/charge"
	"github.com/profguard/profguard/internal/judge"
	"github.com/profguard/profguard/internal/kinds"
	"github.com/profguard/profguard/internal/names"
	"github.com/profguard/profguard/internal/pattern"
	"github.com/profguard/profguard/internal/unit"
)

// Offenders are some lines for each chain of offenders of a finding, each with a line break in
// front. over is the number of all functions over the limit.
func Offenders(t Terms, list []judge.Offender, over int) (text string) {
	for i, c := range chains(list) {
		text += "\n  " + strconv.Itoa(i+1) + ". " + strings.Join(c.lines(&t), "\n     ")
	}
	if more := over - len(list); more > 0 && len(list) > 0 && t.Class.IsEach() {
		text += "\n  " + unit.Plural(more, "more "+t.Each()) + " over the limit"
		if len(list) < judge.MaxOffenders && t.Label == "" {
			text += ", calling those above or called by them"
		}
	}
	return text
}

// chains groups the offenders: one that calls the first of an earlier chain belongs to that
// chain.
func chains(offenders []judge.Offender) []chain {
	var list []chain
	for i := range offenders {
		o := &offenders[i]
		of := slices.IndexFunc(list, func(c chain) bool {
			return c[0].Within.Function == "" && slices.ContainsFunc(c[0].Callers, func(f judge.Frame) bool { return f.Function == o.Function })
		})
		if of >= 0 {
			list[of] = append(list[of], o)
		} else {
			list = append(list, chain{o})
		}
	}
	return list
}

// A chain is offenders that call each other, the deepest first.
type chain []*judge.Offender

// lines are a line for each offender of the chain, and below these the user's line, the callers
// and the callees.
func (c chain) lines(t *Terms) (lines []string) {
	wide, dim := 0, t.offenderDimension()
	for _, o := range c {
		wide = max(wide, len(t.named(o.Function)))
	}
	for _, o := range c {
		name := t.named(o.Function)
		line := name + strings.Repeat(" ", wide-len(name)) + "  " + share(&o.Frame, t, dim)
		if o.High > o.Low {
			line += " (" + unit.Range(o.Low, o.High, dim) + ")"
		}
		lines = append(lines, line+place(&o.Frame))
	}
	o := c[0]
	part := func(what string, f *judge.Frame) {
		lines = append(lines, "  "+what+f.Function+" ("+strconv.FormatFloat(100*f.Share/o.Share, 'f', 0, 64)+"% of it)"+place(f))
	}
	called := func(how string, f *judge.Frame) { part("called "+how, f) }
	if t.Label != "" {
		if o.Within.Function == "" {
			return append(lines, "  no function accounts for most of it")
		}
		part("mostly in   ", &o.Within)
		o = mostOf(o)
	}
	if f := caller(o); f != nil && f.Function != o.Blame.Function && f.Function != o.Owner.Function && !(o.InModule && f == &o.Callers[0]) { // which the way in begins with
		called("by   ", f)
	}
	switch o.Blame.Function {
	case o.Function:
	case "":
		text := "  no function in your module accounts for most of it"
		if o.StacksTruncated {
			text = "  the call in your module is unknown: the stacks were cut off"
		}
		lines = append(lines, text)
	default:
		called("from ", &o.Blame)
	}
	if o.Owner.Function != "" {
		lines = append(lines, "  nearly all of it in "+o.Owner.Function+place(&o.Owner))
	}
	if len(o.Callers) > 0 {
		lines = append(lines, "  way in      "+links(o.Callers, " < ", o.Share, dim))
	}
	if len(o.Callees) > 0 {
		lines = append(lines, "  goes to     "+links(o.Callees, " > ", o.Share, dim))
	}
	for i := range lines {
		lines[i] = pattern.Visible(lines[i])
	}
	return lines
}

// mostOf is the function that costs most of a value.
func mostOf(o *judge.Offender) *judge.Offender {
	most := *o
	most.Frame, most.Within = o.Within, judge.Frame{}
	return &most
}

// Offender is budget.Offender.String.
func Offender(o *judge.Offender) string {
	if o.Within.Function != "" {
		return o.Function + ", mostly in " + Offender(mostOf(o))
	}
	text := located(&o.Frame, &o.Blame)
	if f := caller(o); f != nil && f.Function != o.Owner.Function && (o.Blame.Function == "" || o.Blame.Function == o.Function) {
		text += ", called by " + located(f, f)
	}
	text += Owned(&o.Owner)
	for i := range o.Callees {
		if callee := o.Callees[i].Function; unversioned(callee) != unversioned(o.Function) {
			return text + ", goes to " + names.Short(callee)
		}
	}
	return text
}

// unversioned is the path of a function's package without a major version at its end. names.Short leaves that
// out, too, so encoding/json.Unmarshal would go to json.Unmarshal, which is that of encoding/json/v2.
func unversioned(function string) string {
	pkg := names.PackageOf(function)
	if last := names.LastNames(pkg); last[1] != last[0] {
		pkg = strings.TrimSuffix(pkg, "/"+last[0])
	}
	return pkg
}

// Owned says whose an offender is, behind a comma; "" if there is nothing to say.
func Owned(owner *judge.Frame) string {
	if owner.Function == "" {
		return ""
	}
	text := ", nearly all of it in " + owner.Function
	if place := owner.Place(); place != "" {
		text += ", " + place
	}
	return text
}

// Exception is a pattern for an offender as it stands behind "except": from its owner, if it has one
// and the rest of its share is at most rest. Others may call a decoder that one function calls too
// often, and their faults are not accepted with it.
func Exception(name string, share float64, owner *judge.Frame, rest float64) string {
	if owner.Function == "" || share-owner.Share > rest {
		return name
	}
	return name + " from " + pattern.Quote(owner.Function)
}

func located(f, blame *judge.Frame) string {
	text := f.Function
	if place := f.Place(); place != "" {
		text += " at " + place
	}
	if blame.Function != "" && blame.Function != f.Function {
		text += ", called from " + located(blame, blame)
	}
	return text
}

// caller is the nearest caller that a user may change, if that has half of the offender: for a
// function of the own module another one of it, and for the standard library, since nobody can
// change a system call, one outside it. It is nil for others.
func caller(o *judge.Offender) *judge.Frame {
	for i := range o.Callers {
		f := &o.Callers[i]
		if f.Share >= o.Share/2 && f.Function != o.Function &&
			(o.InModule && f.InModule || charge.IsStandard(o.Function) && !charge.IsStandard(f.Function)) {
			return f
		}
	}
	return nil
}

// share is a frame's share and value: "48.85%, 35.56s". Where the limit is a number of objects,
// the value may be bytes or objects, and is left out.
func share(f *judge.Frame, t *Terms, dim unit.Dimension) string {
	text := unit.Format(f.Share, dim)
	if dim != unit.Share {
		return text
	}
	of := unit.Time
	switch t.Values.Sampling {
	case kinds.Memory:
		if of = unit.Bytes; t.Test == judge.Limited && t.Dimension == unit.Count {
			return text
		}
	case kinds.Counted:
		of = unit.Count
	}
	return text + ", " + unit.Format(f.Amount, of)
}

// chainShown is how many links of a way a report shows from each end.
const chainShown = 4

// links shows callers or callees, with the weight wherever it differs from the last one that
// was shown: "a > b > c (22.5%)" for callees, "a < b < c" for callers. A function that calls
// itself, also through others, is shown once, with the number of its frames.
func links(frames []judge.Frame, arrow string, from float64, dim unit.Dimension) string {
	times := map[string]int{}
	var once []judge.Frame
	for _, f := range frames {
		if times[f.Function]++; times[f.Function] == 1 {
			once = append(once, f)
		}
	}
	var shown []string
	last := from
	for i, f := range once {
		if hidden := len(once) - 2*chainShown; hidden > 1 && chainShown <= i && i < chainShown+hidden {
			if i == chainShown {
				shown = append(shown, "("+strconv.Itoa(hidden)+" more)")
			}
			continue
		}
		link := names.Short(f.Function)
		if n := times[f.Function]; n > 1 {
			link += " (" + strconv.Itoa(n) + " times)"
		}
		if math.Abs(f.Share-last) > 0.02*last {
			link += " (" + unit.Format(f.Share, dim) + ")"
			last = f.Share
		}
		shown = append(shown, link)
	}
	return strings.Join(shown, arrow)
}

// place is a frame's file and line, behind blanks. Of files in the module cache or in Go
// itself, the last directory is enough.
func place(f *judge.Frame) string {
	if at := Place(f); at != "" {
		return "  " + at
	}
	return ""
}

// Place is a frame's file and line, "" if they are not known.
func Place(f *judge.Frame) string {
	at := f.Place()
	if own := !strings.Contains(f.File, "/src/") || strings.Contains(f.File, "/home/"); own && at != "" && !strings.Contains(f.File, "/pkg/mod/") {
		at = f.File + ":" + strconv.Itoa(f.Line)
	}
	return strings.TrimSuffix(at, ":0")
}

// offenderDimension is the dimension of the shares of offenders.
func (t *Terms) offenderDimension() unit.Dimension {
	if t.Test == judge.Limited && (t.Class.IsEach() || t.Class == judge.Pattern) {
		return t.Dimension
	}
	return unit.Share
}

// round is unit.Short for a limit, without decimals that it does not need.
func round(v float64, dim unit.Dimension) string {
	if dim == unit.Share {
		return strconv.FormatFloat(100*v, 'g', 4, 64) + "%"
	}
	return unit.Short(v, dim)
}
