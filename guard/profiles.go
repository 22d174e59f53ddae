package guard

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/charge"
	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/judge"
	"github.com/profguard/profguard/internal/kinds"
	"github.com/profguard/profguard/internal/process"
	"github.com/profguard/profguard/internal/profiles"
	"github.com/profguard/profguard/internal/unit"
)

// kindTaker takes the profiles of the kinds other than cpu. Those that are differences
// (allocs, mutex, block) reach from the end of one window to the end of the next, so that
// nothing is lost between windows, and one profile a window is enough.
type kindTaker struct {
	taker   profiles.Taker
	profile func(*profiles.Taker, string) (profiles.Profile, error)
	work    map[string]readings      // by kind: the host's counters when its difference began
	due     map[string]time.Time     // by kind: when its next profile may be taken, as the last one was costly
	taken   map[string]decode.Source // by kind, the states of this window
}

// costlyShare is the most of a core that profiles of a kind with a [profiles.Profile.Cost] may
// take. The garbage and the pauses that come with them, which nobody can count, cost half as much
// again. With a live heap of 500 MiB the collection of a leak profile takes some 0.7 s of CPU, so
// that there is one in two or three minutes; a profile of 10,000 goroutines takes 30 ms, so that
// there is one in six seconds.
const costlyShare = 0.005

// nextAt is when a profile may follow one that took so much CPU time.
func nextAt(cost time.Duration) time.Time {
	return time.Now().Add(time.Duration(float64(cost) / costlyShare))
}

// take takes the profile of a kind, and fills in the facts about it. The error says why there
// is no profile.
func (k *kindTaker) take(kind string, work readings, f *judge.Facts) (decode.Source, error) {
	p, err := k.profile(&k.taker, kind)
	k.due[kind] = nextAt(p.Cost)
	if err == nil && kinds.Of(kind).Taken == kinds.State {
		k.taken[kind] = p.Source
	}
	f.Kind, f.Elapsed, f.Work, f.NoWork, f.Baseline = kind, p.Elapsed, nil, nil, nil // a Baseline is a CPU profile
	if kinds.Of(kind).Taken == kinds.Difference {
		f.Work, f.NoWork = between(k.work[kind], work)
		if !errors.Is(err, profiles.ErrNoCollection) {
			k.work[kind] = work
		}
	}
	if kinds.Of(kind).Sampling == kinds.Contention {
		f.MutexFraction, f.Waited = int(p.Rate), p.Waited
	}
	return p.Source, err
}

// table is a profile of a kind other than cpu, without the samples of profguard itself. A
// profile of goroutines has them all, as their count has.
func (l *looper) table(kind string, p decode.Source) (*decode.Table, error) {
	t, err := p.Table(&l.decoder)
	if err != nil || kinds.Of(kind).Sampling == kinds.Counted {
		return t, err
	}
	return charge.WithoutOwn(t), nil
}

// madeOf is the kind of profile that shows the parts of a figure. That of gc is what was allocated
// since the last window that failed, so the first that fails has none.
var madeOf = map[string]string{"goroutines": kinds.Goroutine, "heap": kinds.Heap, "rss": kinds.Heap, "gc": kinds.Allocs}

// A breakdown is the parts of a figure, by a profile.
type breakdown struct {
	kind      string
	profile   decode.Source // for a dump of its window
	offenders []judge.Offender
	err       error // why there is no profile
}

// explain makes the parts of a figure the offenders of a judgement, if it is of a figure and
// fails. It returns them with their profile. If there is none, because there are very many goroutines, the
// parts are those of the last window that had one, while the figure fails in each.
func (l *looper) explain(ctx context.Context, j *judgement) *breakdown {
	e, f := j.entry, j.finding
	kind := madeOf[e.rule.Subject]
	if kind == "" || j.result.Verdict != budget.Fail {
		e.parts = nil
		return nil
	}
	b := l.breakDown(ctx, kind)
	if b.err == nil {
		e.parts = b.offenders
	}
	f.Offenders, f.Reason = e.parts, judge.MadeOf{Of: f.Reason, Kind: kind, Err: b.err}
	j.result = j.entry.Budget.Result(*f)
	return b
}

// breakDown takes and judges the profile that shows the parts of a figure, once a window.
func (l *looper) breakDown(ctx context.Context, kind string) *breakdown {
	if b := l.breakdowns[kind]; b != nil {
		return b
	}
	b := &breakdown{kind: kind}
	var t *decode.Table
	p, err := l.partsOf(kind)
	if err == nil {
		t, err = l.table(kind, p)
	}
	if err == nil {
		b.offenders, err = largestParts(ctx, t, kind, l.module, unit.Share)
	}
	if b.err = err; err == nil && l.store != nil {
		b.profile = p
	}
	l.breakdowns[kind] = b
	return b
}

// partsOf returns a profile of a kind, that of this window's budgets if there is one.
func (l *looper) partsOf(kind string) (decode.Source, error) {
	if taken, ok := l.kinds.taken[kind]; ok {
		return taken, nil
	}
	if wait := time.Until(l.kinds.due[kind]); wait > 0 {
		return decode.Source{}, fmt.Errorf("the last %s profile took so much CPU time that the next one is taken in %v", kind, wait.Round(time.Second/10))
	}
	p, err := l.parts.Take(kind)
	l.kinds.due[kind] = nextAt(p.Cost)
	return p.Source, err
}

// largestParts are the functions with a large share of a profile.
func largestParts(ctx context.Context, t *decode.Table, kind, module string, of unit.Dimension) ([]judge.Offender, error) {
	j := judge.New([]judge.Rule{judge.Largest(kind, of)})
	findings, err := j.Table(ctx, t, judge.Facts{Kind: kind, Live: true, Module: module, Modules: process.Modules()})
	if err != nil {
		return nil, err
	}
	return findings[0].Offenders, nil
}
