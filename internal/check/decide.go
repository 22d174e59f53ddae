package check

import (
	"slices"

	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/evidence"
	"github.com/profguard/profguard/internal/judge"
	"github.com/profguard/profguard/internal/kinds"
	"github.com/profguard/profguard/internal/words"
)

// An outcome is what was found about a budget, with the cause of an inconclusive finding.
type outcome struct {
	judge.Finding
	cause cause
	kind  string // of the profile that it was judged by, "" without one
}

// undecided is the outcome without its verdict, and why it has none.
func (o outcome) undecided(why cause, reason judge.Reason) outcome {
	o.Verdict, o.cause, o.Reason, o.Notes = evidence.Inconclusive, why, reason, judge.Notes{}
	return o
}

// A cause says why a budget is inconclusive.
type cause int

const (
	noTime  cause = iota // it was not decided in the time given
	mistake              // more time would not decide it, on any machine: the test fails
	unknown              // the work may be that of another test: this test is skipped
)

// decide makes the outcomes of all facts, once.
func (r *run) decide() []outcome {
	found := map[int]outcome{}
	r.byCounters(found)
	r.bySamples(found)
	r.byDifferences(found)
	r.byLevels(found)
	r.byWhatIsLeft(found)
	outcomes := slices.Repeat([]outcome{{Finding: judge.Finding{Reason: words.NoTime{}}}}, len(r.set))
	for i, o := range found {
		outcomes[i] = r.doubted(i, o)
	}
	return outcomes
}

// doubted is an outcome with what goroutines may have done that nobody has seen: with it, no budget is kept.
func (r *run) doubted(i int, o outcome) outcome {
	rule := r.rules[i]
	switch running, why := r.running(i); {
	case o.Verdict == evidence.Fail:
	case running != nil && !r.isUnlinked(rule.Subject):
		return o.undecided(why, *running)
	case r.come != nil && o.Verdict == evidence.Pass && r.ofGoroutines(i):
		come := *r.come
		come.Of = o.Reason
		o.Verdict, o.cause, o.Reason = evidence.Inconclusive, unknown, come
	}
	return o
}

// running are the goroutines that run on after the last call, if what they do then matters to a budget that is judged
// by profiles: those of work, and to amounts per call others, too, and those that wait.
func (r *run) running(i int) (*words.StillRunning, cause) {
	perCall := r.rules[i].Per != ""
	switch {
	case r.ways[i] != gained && r.ways[i] != sampled:
	case r.rest.left != nil && (r.rest.cause == mistake || perCall):
		return r.rest.left, r.rest.cause
	case perCall && r.waits != nil:
		return r.waits, mistake
	}
	return nil, noTime
}

// byCounters decides what the batches have decided.
func (r *run) byCounters(found map[int]outcome) {
	if r.counting == nil {
		return
	}
	for _, i := range r.of(counted) {
		o := r.counting.outcome(r.rules[i])
		if users := r.counting.users[i]; users.table != nil {
			o = r.withOffenders(i, o, users)
		}
		found[i] = o
	}
}

// bySamples decides by the CPU samples of work, with the label and without.
func (r *run) bySamples(found map[int]outcome) {
	c := r.cpu
	switch {
	case c == nil:
		return
	case c.own == nil:
		for _, i := range c.of {
			found[i] = outcome{Finding: judge.Finding{Reason: words.NoWindow{Why: c.lost}}}
		}
		return
	}
	r.judged[kinds.CPU] = c.own
	var with []judge.Finding
	if c.both != nil && !r.Update { // nobody compares with what is being written
		with = judged(part(r.rules, c.of), c.both, c.facts)
	}
	few := len(c.busiest(enough)) == 0
	for n, i := range c.of {
		o := c.outcome(r, n)
		if with != nil && differs(r.rules[i], o.Finding, with[n], few) {
			o = c.beside(o, with[n])
		}
		found[i] = o
	}
}

// byDifferences decides by the other profiles of what happened while work ran.
func (r *run) byDifferences(found map[int]outcome) {
	if r.others != nil {
		for i, o := range r.others.found {
			found[i] = o
		}
	}
}

// byLevels decides what must not grow from call to call.
func (r *run) byLevels(found map[int]outcome) {
	for i, l := range r.levels {
		o := outcome{Finding: r.levelsOf(i)}
		if o.Verdict == evidence.Fail && len(l.grown.table.Samples) > 0 { // or else there are no offenders
			o = r.withOffenders(i, o, l.grown)
		}
		found[i] = o
	}
}

// byWhatIsLeft decides by the goroutines, figures and memory in the end.
func (r *run) byWhatIsLeft(found map[int]outcome) {
	for _, p := range r.endings {
		r.judged[p.facts.Kind] = p.table
		for n, f := range judged(part(r.rules, p.of), p.table, p.facts) {
			i, o := p.of[n], outcome{Finding: f, kind: p.facts.Kind}
			switch {
			case r.ways[i] == left && o.Verdict != evidence.Inconclusive:
				o.Reason = words.Left{Elapsed: r.hadToEnd}
			case r.ways[i] == most:
				o.Reason = words.AtOnce{Of: o.Reason}
			case r.ways[i] == figure && r.rules[i].Subject == "gc":
				o = r.ofGC(o, p.facts.Figures["cores"])
			}
			found[i] = o
		}
	}
}

// gcLeast is the number of cores that a process must use, while it does not wait for them,
// for its gc to be that of work.
const gcLeast = 0.2

// ofGC doubts a failure of gc in a process that hardly does anything: Check's own garbage is a large part there. The
// time in which the process waited for a core does not count as idle.
func (r *run) ofGC(o outcome, cores float64) outcome {
	cores /= 1 - min(0.9, r.waitedShare())
	switch {
	case o.Verdict != evidence.Fail || cores >= gcLeast:
		return o
	case r.busy():
		return o.undecided(noTime, words.LittleCPU{Of: o.Reason, Cores: cores})
	}
	return o.undecided(mistake, words.LittleCPU{Of: o.Reason, Cores: cores})
}

// An evidenceOf is a profile, and the facts about it.
type evidenceOf struct {
	table *decode.Table
	facts judge.Facts
}

// withOffenders is an outcome whose offenders are the largest functions of a profile.
func (r *run) withOffenders(i int, o outcome, p evidenceOf) outcome {
	r.judged[p.facts.Kind] = p.table
	largest := judge.Largest(p.facts.Kind, r.rules[i].Dimension)
	o.Offenders, o.kind = judged([]judge.Rule{largest}, p.table, p.facts)[0].Offenders, p.facts.Kind
	return o
}
