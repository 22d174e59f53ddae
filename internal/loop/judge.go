package loop

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/bridge"
	"github.com/profguard/profguard/internal/charge"
	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/evidence"
	"github.com/profguard/profguard/internal/foreign"
	"github.com/profguard/profguard/internal/judge"
	"github.com/profguard/profguard/internal/kinds"
	"github.com/profguard/profguard/internal/process"
	"github.com/profguard/profguard/internal/unit"
)

// A Verdict is what a window says about one budget.
type Verdict struct {
	Of         *Budget
	Finding    judge.Finding
	Result     budget.Result // the finding in words
	Start, End time.Time     // of the time that was judged

	fed     time.Duration // the length of the window, if other code has taken it
	silent  bool          // nothing was found out, so the alert does not change
	idle    bool          // its condition does not hold, as figures show; the evidence stays as it is
	profile decode.Source // for a dump, of CPU for a figure
	parts   *parts        // of a figure that fails
}

// Seen is whether a budget has ever had anything to judge.
type Seen struct {
	Judged bool // it has
	Worked bool // a unit of its work has been done, in a window or between two
	// Unlabelled says that they lacked the label that the budget is about.
	Unlabelled bool
	Missed     int // windows in which the program worked and the budget had nothing to judge
}

// IneffectiveWindows is the number of windows without a sample in a budget's "in" and "where", or
// without a unit of its work, after which there is a warning: an hour at the defaults, or less
// while windows come more often. The binary does not tell whether there will be any.
const IneffectiveWindows = 60

// Ineffective reports whether the budget may never have anything to judge.
func (s Seen) Ineffective() bool { return !s.Judged && s.Missed >= IneffectiveWindows }

// A judger turns measurements into verdicts, and verdicts into changes, window after window of one process. What
// it keeps in between is a memory for each budget.
type judger struct {
	every   time.Duration
	started time.Time     // of the guard
	least   time.Duration // between two notices about offenders of one budget
	module  string
	decoder *decode.Decoder
	partsOf func(kind string, taken []Profile) (Profile, error)
	shows   func(label, value string) bool // nil: all values
	set     *Set                           // of the last window
	known   map[*Budget]*memory
}

// bounded is ShowsLabel within a bound: nil if all labels may be told. One that panics or hangs lets none be told, and
// is not asked about a part of a value: it knows whole ones.
func bounded(shows func(key, value string) bool) func(key, value string) bool {
	if shows == nil {
		return nil
	}
	var hangs bool // and is not asked again; only the loop's goroutine asks
	return func(key, value string) bool {
		if hangs || charge.IsPart(value) {
			return false
		}
		var yes atomic.Bool
		err := foreign.Within(callTimeout, func() error { yes.Store(shows(key, value)); return nil })
		hangs = errors.Is(err, foreign.ErrHangs)
		return err == nil && yes.Load()
	}
}

// A memory is what earlier windows say about a budget.
type memory struct {
	Standing
	watch   *judge.Watch // judges it, as the rule with the number at
	at      int
	counted Reading          // the counters when it was last judged by them
	unspent judge.Usage      // what was used before that without work
	parts   []judge.Offender // of a figure that fails: by the last profile of it
	work    Answers          // after the last window, while none of its work has been done
}

// adopt makes a set of budgets the one that is judged. What is known of those that were in the last one stays.
func (j *judger) adopt(s *Set) {
	before := j.known
	j.set, j.known = s, make(map[*Budget]*memory, len(s.Budgets))
	for _, g := range s.groups {
		for i, b := range g.budgets {
			k := before[b]
			if k == nil {
				k = &memory{Standing: b.Unjudged()}
			} else {
				g.watch.Inherit(i, k.watch, k.at)
			}
			k.watch, k.at = g.watch, i
			j.known[b] = k
		}
	}
}

// decide judges a window.
func (j *judger) decide(ctx context.Context, m *Measurement, profiles []Profile) []Change {
	verdicts := j.verdicts(ctx, m, profiles)
	changes := make([]Change, len(verdicts))
	for i := range verdicts {
		changes[i] = j.change(&verdicts[i])
	}
	return changes
}

// A judging is the work on one window.
type judging struct {
	*judger
	ctx   context.Context
	r     *Measurement
	taken []Profile
	parts map[partsKey]*parts // as far as they were asked for
}

// verdicts judges the profiles of a window. Budgets about which it says nothing have none. The
// list is empty if the guard stops meanwhile.
func (j *judger) verdicts(ctx context.Context, r *Measurement, taken []Profile) (list []Verdict) {
	w := &judging{judger: j, ctx: ctx, r: r, taken: taken}
	list = make([]Verdict, 0, len(j.set.Budgets))
	for i := range taken {
		p := &taken[i]
		g := j.set.group(p.Kind)
		t, err := decoded(j.decoder, p, r)
		var findings []judge.Finding
		if err == nil {
			findings, err = g.watch.Table(ctx, t, r.Now.At.Sub(j.started), p.Facts)
		}
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			t, findings = nil, judge.Unjudged(len(g.budgets), err)
		}
		for i, b := range g.budgets {
			if v, ok := w.verdict(b, findings[i], p, t); ok {
				list = append(list, v)
			}
		}
	}
	return list
}

// verdict makes the verdict on a budget of what its profile says, and of what is known besides. t
// is nil if there is no profile. It reports false if there is nothing to say in this window.
func (w *judging) verdict(b *Budget, sampled judge.Finding, p *Profile, t *decode.Table) (v Verdict, ok bool) {
	k, figures := w.known[b], w.r.Facts.Figures
	k.works(b, w.r.Now.Work)
	v = Verdict{Of: b, Finding: sampled, Start: w.r.before.At, End: w.r.Now.At, profile: p.Source}
	if w.r.CPU.Fed {
		v.fed = w.r.CPU.Elapsed
	}
	lost := t == nil
	if idle, ok := b.Rule.When.UnmetBy(figures).(judge.Idle); ok && lost { // the condition needs no profile
		v.Finding, v.idle, lost = judge.Finding{Reason: idle}, true, false
	}
	if lost && p.Kind == kinds.CPU && !w.r.Tried && !b.Needs.Counters || b.Needs.Periodic && !w.r.completes {
		return v, false
	}
	switch {
	case b.Needs.Counters && !w.r.Now.lacks(&b.Rule):
		counted, from, ok := k.count(b, v.Finding, w.r, w.every)
		v.Finding, v.Start, v.idle, lost = w.withParts(b, counted, p.Kind, t), from, false, lost && !ok
	case b.Rule.Subject == "gc": // other values are those at the window's end
		v.Start = w.r.period
	}
	if b.Needs.Profile == "" {
		v.Finding, v.parts = w.madeOf(b, v.Finding)
	}
	if label := b.Rule.Label; label != "" && w.shows != nil {
		v.Finding.Hide(func(value string) bool { return w.shows(label, value) })
	}
	v.Result, v.silent = bridge.Result[budget.Result](b.Of, v.Finding), lost || isWorkUnknown(&v.Finding)
	k.Seen = k.Seen.next(&v.Finding, lost)
	return v, true
}

// isWorkUnknown reports whether a finding says nothing, because a counter of work could not be read.
// The process's own counters may say something nevertheless, over the whole period.
func isWorkUnknown(f *judge.Finding) bool {
	_, unknown := f.Reason.(judge.WorkUnknown)
	return unknown && !f.HasValue()
}

// works notes whether a unit of the budget's work was done since the last window. When one has
// ever been, nobody asks again.
func (k *memory) works(b *Budget, now Answers) {
	if b.Rule.Per == "" || k.Seen.Worked {
		return
	}
	done, _ := between(k.work, now)
	k.work = now
	if done[b.Rule.Per] > 0 { // it was not missed before
		k.Seen.Worked, k.Seen.Missed, k.work = true, 0, nil
	}
}

// next is what has been seen after another window.
func (s Seen) next(f *judge.Finding, lost bool) Seen {
	s.Judged = s.Judged || f.HasValue()
	if lost {
		return s
	}
	_, s.Unlabelled = f.Reason.(judge.NoLabel)
	switch f.Reason.(type) {
	case judge.OutOfScope, judge.NoLabel: // and not another reason, such as idle
		s.Missed++
	case judge.NoWork:
		if !s.Worked {
			s.Missed++
		}
	}
	return s
}

// count judges a budget that the process's counters decide about, over the time since it was last
// judged by them, which is returned, too. It reports whether something was counted.
func (k *memory) count(b *Budget, last judge.Finding, r *Measurement, every time.Duration) (f judge.Finding, since time.Time, ok bool) {
	from := k.counted
	if from.At.IsZero() {
		from = *r.before
	}
	used := from.until(r.Now)
	f, ok, again := b.Rule.Count(last, k.unspent, used, r.Facts.Figures, every)
	switch k.counted = *r.Now; {
	case again && ok:
		k.counted = from
	case again:
		k.unspent = k.unspent.Plus(used)
	case ok:
		k.unspent = judge.Usage{}
	}
	return f, from.At, ok
}

// withParts is a finding by counters with the functions that have most of the profile, if it
// fails. The window itself may have been within the limit, and has no offenders then.
func (w *judging) withParts(b *Budget, f judge.Finding, kind string, t *decode.Table) judge.Finding {
	if f.Verdict == evidence.Fail && len(f.Offenders) == 0 && t != nil {
		f.Offenders = w.partsBy(kind, b.Rule.Dimension, func() (decode.Source, *decode.Table, error) { return decode.Source{}, t, nil }).offenders
	}
	return f
}

// madeOf is a finding on a figure with its parts as the offenders, if it fails. If there is
// no profile, because there are very many goroutines, the parts are those of the last window that had one,
// while the figure fails in each. Those of gc are what was allocated since the last window that failed, so the first
// that fails has none.
func (w *judging) madeOf(b *Budget, f judge.Finding) (judge.Finding, *parts) {
	k, kind := w.known[b], judge.FigureKinds[b.Rule.Subject].Parts
	if kind == "" || f.Verdict != evidence.Fail {
		k.parts = nil
		return f, nil
	}
	p := w.partsBy(kind, unit.Share, func() (p decode.Source, t *decode.Table, err error) {
		of, err := w.partsOf(kind, w.taken)
		if err == nil {
			t, err = decoded(w.decoder, &of, w.r)
		}
		return of.Source, t, err
	})
	if p.err == nil {
		k.parts = p.offenders
	}
	f.Offenders, f.Reason = k.parts, judge.MadeOf{Of: f.Reason, Kind: kind, Err: p.err}
	return f, p
}

// parts are the functions with a large share of a profile.
type parts struct {
	kind      string
	profile   decode.Source // for a dump of its window
	offenders []judge.Offender
	err       error // why there are none
}

// A partsKey says of what there are parts: of a kind of profile, in a dimension.
type partsKey struct {
	kind string
	of   unit.Dimension
}

// partsBy are the parts by a profile, which is taken and judged once a window.
func (w *judging) partsBy(kind string, of unit.Dimension, get func() (decode.Source, *decode.Table, error)) *parts {
	key := partsKey{kind, of}
	if p := w.parts[key]; p != nil {
		return p
	}
	p := &parts{kind: kind}
	source, t, err := get()
	if err == nil {
		p.offenders, err = largestParts(w.ctx, t, kind, w.module, of)
	}
	if p.err = err; err == nil {
		p.profile = source
	}
	if w.parts == nil {
		w.parts = map[partsKey]*parts{}
	}
	w.parts[key] = p
	return p
}

// largestParts are the functions with a large share of a profile.
func largestParts(ctx context.Context, t *decode.Table, kind, module string, of unit.Dimension) ([]judge.Offender, error) {
	j := judge.New([]judge.Rule{judge.Largest(kind, of)})
	findings, err := j.Table(ctx, t, judge.Facts{Kind: kind, Module: module, Modules: process.Modules()})
	if err != nil {
		return nil, err
	}
	return findings[0].Offenders, nil
}
