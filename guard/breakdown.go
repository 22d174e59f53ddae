package guard

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/alert"
	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/judge"
	"github.com/profguard/profguard/internal/kinds"
	"github.com/profguard/profguard/internal/process"
	"github.com/profguard/profguard/internal/profiles"
	"github.com/profguard/profguard/internal/unit"
)

// A figure says how much, and not which function has it. So when one is over its limit, a
// profile breaks it down into parts: when its budget begins to fail, when it fires, as
// often as a dump would be, and when the figure has grown by half since, because another
// part may be the largest by then. Windows that keep their budgets take no such profile.
// The limits of package profiles on size and cost hold for it.
//
// madeOf is that profile's kind, and the words between a share of it and a function.
func madeOf(figure string) (kind, words string) {
	switch figure {
	case "goroutines":
		return kinds.Goroutine, "of them in"
	case "heap", "rss":
		return kinds.Heap, "of the live heap from"
	case "gc":
		return kinds.Allocs, "of what is allocated from"
	}
	return "", ""
}

// breakdowns takes the profiles that break figures down.
type breakdowns struct {
	taker  profiles.Taker       // its own: windows of kinds that budgets ask for go on beside it
	taken  map[string]breakdown // in this window
	rising breakdown            // of goroutines, when their number last rose towards the limit
	cost   time.Duration        // of profiles taken between windows, until it is accounted for
}

// A breakdown is what a profile says of a figure.
type breakdown struct {
	kind      string
	data      []byte // the profile
	at        time.Time
	value     float64 // of the figure, then
	offenders []budget.Offender
	err       error // why there is none
}

// grown is by how much a figure must have grown for a new profile of it.
const grown = 1.5

// explain names in r, if it is a failing one of a figure, what the figure is made of.
// event is what r makes of the alert. It returns the breakdown, for the dump, if it is of
// this window.
func (l *looper) explain(ctx context.Context, e *entry, r *budget.Result, at time.Time, event alert.Event) *breakdown {
	kind, words := madeOf(e.budget.Subject)
	if kind == "" || r.Verdict != budget.Fail || kindOf(e.budget) != kindFigures {
		return nil
	}
	due := e.breakdown.at.IsZero() || at.Sub(e.breakdown.at) >= l.cfg.Keep.every()
	var fresh *breakdown
	if due || event == alert.Fired || r.Share >= grown*e.breakdown.value {
		b := l.breakDown(ctx, kind, at)
		b.value = r.Share
		// Where a profile is refused, because the last was costly, that one stays.
		if b.err == nil || due {
			e.breakdown = b
		}
		if b.err == nil {
			fresh = &b
		}
	}
	known := e.breakdown
	if seen := l.breakdowns.rising; kind == kinds.Goroutine && !seen.at.IsZero() && (known.err != nil || seen.at.After(known.at)) {
		known = seen
		if event == alert.Fired {
			fresh = &known // for the dump, which says the same
		}
	}
	if known.err != nil {
		r.Reason += fmt.Sprintf("; no %s profile was taken: %s", kind, refusal(known.err))
		return nil
	}
	r.Offenders = known.offenders
	if len(r.Offenders) > 0 {
		r.Reason += "; " + known.largest(r.Unit, words, at)
	}
	return fresh
}

// largest names the largest part, with the time of the profile and what the figure was
// then, unless it is of this window.
func (b *breakdown) largest(unit, words string, at time.Time) string {
	if b.at.Equal(at) {
		return partOf(b.offenders[0], words)
	}
	when, value := b.at.Format(time.TimeOnly), amount(b.value, unit)
	if at.Sub(b.at) > 12*time.Hour {
		when = b.at.Format(time.DateTime)
	}
	if b.kind == kinds.Goroutine {
		return fmt.Sprintf("of %s goroutines at %s, %s", value, when, partOf(b.offenders[0], "stand in"))
	}
	return fmt.Sprintf("at %s, when it was at %s, %s", when, value, partOf(b.offenders[0], words))
}

// partOf names an offender in a sentence: "99.68% of them in
// main.(*server).order.func1 at shop/order.go:46".
func partOf(o budget.Offender, words string) string {
	return fmt.Sprintf("%s %s %s", amount(o.Share, "ratio"), words, located(o))
}

// located is an offender with its place, and the call that leads to it.
func located(o budget.Offender) string {
	text := o.Function
	if o.File != "" {
		text += " at " + place(o.Frame)
	}
	if b := o.Blame; b.Function != "" && b.Function != o.Function {
		text += ", called from " + b.Function
		if b.File != "" {
			text += " at " + place(b)
		}
	}
	return text
}

// breakDown takes and judges the profile of what a figure is made of, once a window.
func (l *looper) breakDown(ctx context.Context, kind string, at time.Time) breakdown {
	b, ok := l.breakdowns.taken[kind]
	if !ok {
		b = l.look(ctx, kind, at)
		l.breakdowns.taken[kind] = b
	}
	return b
}

// look takes and judges a profile.
func (l *looper) look(ctx context.Context, kind string, at time.Time) breakdown {
	b := breakdown{kind: kind, at: at}
	var p profiles.Profile
	var t *decode.Table
	if p, b.err = l.breakdowns.taker.Now(ctx, kind); b.err == nil {
		t, b.err = l.table(kind, p.Data)
	}
	if b.err == nil {
		b.offenders, b.err = largestParts(ctx, t, kind, l.module)
	}
	if b.err == nil && l.store != nil {
		b.data = p.Data
	}
	return b
}

// largestParts are the offenders of a limit that is so low that every profile breaks it.
func largestParts(ctx context.Context, t *decode.Table, kind, module string) ([]budget.Offender, error) {
	j, err := judge.New([]judge.Rule{{Class: judge.Process, Kind: kind, Limit: 1, Dimension: unit.Bytes}})
	if err != nil {
		return nil, err
	}
	findings, err := j.Table(ctx, t, judge.Facts{Kind: kind, Module: module})
	if err != nil {
		return nil, err
	}
	return budget.Budget{Subject: "process"}.Result(findings[0]).Offenders, nil
}

// rising takes a profile of goroutines while their number rises towards the limit above
// which no profile of them is taken. A budget such as "goroutines below 50000" fires above
// that limit, so one profile is kept from before: of at least half as many as the limit
// allows. Most of these stand where the later ones will. It is called every second and
// after each window, and costs nothing unless there is a budget on goroutines.
func (l *looper) rising(ctx context.Context, now process.Snapshot) {
	kept, most := &l.breakdowns.rising, int64(l.breakdowns.taker.MostGoroutines())
	onGoroutines := func(e *entry) bool { return e.budget.Subject == "goroutines" && kindOf(e.budget) == kindFigures }
	switch n := now.Goroutines; {
	case n < most/4: // when they rise again, it may be for another reason
		*kept = breakdown{}
	case !kept.at.IsZero() || n < most/2 || n > most || !slices.ContainsFunc(l.inForce().entries, onGoroutines):
	default:
		l.breakdowns.cost += onThread(func() {
			if b := l.look(ctx, kinds.Goroutine, now.At); b.err == nil {
				b.value = float64(n)
				*kept = b
			}
		})
	}
}

// refusal says in a word or two why there is no profile.
func refusal(err error) string {
	var skip *profiles.SkipError
	if errors.As(err, &skip) {
		return strings.ReplaceAll(string(skip.Reason), "_", " ")
	}
	return err.Error()
}

// offenderUnit is what the values of a budget's offenders are in. Those of the
// process and of figures are parts of a profile, whatever the limit is in.
func offenderUnit(b budget.Budget, unit string) string {
	switch b.Subject {
	case "process", "goroutines", "heap", "rss", "gc", "no goroutine":
		return "ratio"
	}
	return unit
}

// amount shows a value in the unit of a budget's result.
func amount(v float64, name string) string { return unit.Format(v, unit.Measured(name)) }

// place is a file with its folder, and a line: "shop/order.go:46", or "" if not known.
func place(f budget.Frame) string {
	if f.File == "" {
		return ""
	}
	return fmt.Sprintf("%s:%d", path.Join(path.Base(path.Dir(f.File)), path.Base(f.File)), f.Line)
}
