package judge

import (
	"context"
	"time"

	"github.com/profguard/profguard/internal/charge"
	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/evidence"
	"github.com/profguard/profguard/internal/unit"
)

// A Watch judges window after window of one process and combines their evidence: each
// Finding also says what is Proven. The verdict of a window answers "do these samples prove it?",
// Proven answers "do all samples so far prove it?". So Proven finds a small excess
// that no single window shows. It may be looked at after every window: at most one
// false alarm is expected in ten months, and docs/design.md has how many there were.
//
// A window that was lost is not given to a Watch.
// It is not safe for concurrent use.
type Watch struct {
	judge   *Judge
	every   time.Duration
	last    time.Duration // the end of the last window
	records []record
}

const (
	// The chance of a false alarm of a Watch within a month is at most one in ten.
	month  = 30 * 24 * time.Hour
	chance = 0.1
)

// NewWatch returns a watch for a process that has a window in each period of length every.
func NewWatch(rules []Rule, every time.Duration) *Watch {
	w := &Watch{judge: New(rules), every: every, records: make([]record, len(rules))}
	windows := float64(month / every)
	for i, r := range rules {
		tests := 1.0
		if r.Class.IsEach() {
			tests = r.tests()
			if r.Dimension != unit.Share || r.Flat {
				tests = evidence.Tests(1, 0.02)
			}
			if r.EachByWork() { // a value with a small share of the samples may cost more than the limit
				tests = charge.MostValues
			}
		}
		w.records[i].lnA = evidence.LnA(windows, float64(len(rules)), tests, chance)
	}
	return w
}

// Inherit moves the evidence about rule j of another watch, counted from 0, to rule i of w:
// for a new set of budgets that keeps some of the old ones. The two rules must be of the
// same budget.
func (w *Watch) Inherit(i int, from *Watch, j int) {
	to, old := &w.records[i], &from.records[j]
	lnA, its := to.lnA, old.lnA
	*to, *old = *old, record{}
	to.lnA, old.lnA = lnA, its
}

// Ended drops the evidence for an excess of rule i, counted from 0, when its alert has
// ended.
func (w *Watch) Ended(i int) { w.records[i].ended() }

// Table judges the next window. It ended at a time since any fixed instant. The work stops
// when the context ends.
func (w *Watch) Table(ctx context.Context, t *decode.Table, at time.Duration, facts Facts) ([]Finding, error) {
	m, findings, err := w.judge.windows(ctx, t, facts, true)
	if err != nil {
		return nil, err // and nothing has been added to the evidence
	}
	m.at, m.soon = at, w.last > 0 && at-w.last < w.every*3/4
	w.last = at
	for i, f := range findings {
		findings[i] = w.judge.regimes[i].follow(&w.records[i], m, f)
	}
	return findings, nil
}
