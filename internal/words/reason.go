package words

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/profguard/profguard/internal/charge"
	"github.com/profguard/profguard/internal/evidence"
	"github.com/profguard/profguard/internal/judge"
	"github.com/profguard/profguard/internal/kinds"
	"github.com/profguard/profguard/internal/unit"
)

// nothing says why nothing was judged.
func nothing(p *phrasing, reason judge.Reason) string {
	switch reason := reason.(type) {
	case judge.Failed:
		return reason.Err.Error()
	case judge.Idle:
		return "idle: judged only when " + p.when() + ", now at " + unit.Format(reason.Value, p.Terms.When.Dimension())
	case judge.ConditionUnknown:
		return "cannot tell whether " + p.when() + ": " + cmp.Or(reason.Why, "the window does not say")
	case judge.FigureUnknown:
		if reason.Why != "" {
			return "the process's " + reason.Name + " is not known: " + reason.Why
		}
		return "the window does not say the process's " + reason.Name
	case judge.NotLinked:
		if p.Test == judge.Absent {
			return "not linked: no function of the program matches " + p.subject()
		}
		return "no function linked into the program matches " + p.subject() + ": check the spelling, or drop the budget"
	case judge.OtherKind:
		return "needs a profile of kind " + reason.Wanted + ", this one is of kind " + reason.Is
	case judge.NoSamples:
		return "the profile has no samples"
	case judge.NoNames:
		return nameless(reason.Share, "profile")
	case judge.NoPackages:
		return unit.Format(reason.Share, unit.Share) + " of the samples have no Go function, so nothing is charged for them: name what to limit, or say \"except none\""
	case judge.NoLabel:
		return "no sample has the label " + p.Label + ": set it with " + Setter(p.Label)
	case judge.TooManyValues:
		return fmt.Sprintf("%s has more than %d values, too many to judge: use labels with at most a few hundred values, such as tenants, not request IDs", p.Label, charge.MostValues)
	case judge.OutOfScope:
		return "no sample within " + p.scope()
	case judge.WorkUnknown:
		if p.EachByWork() && reason.Why == "" {
			return "no work is counted for any " + p.Label + ": the registry needs a counter " + strconv.Quote(p.Per)
		}
		return cmp.Or(reason.Why, "nobody counts "+strconv.Quote(p.Per)+": add it to Config.Work (Facts.Work)")
	case judge.NoWork:
		return "no " + p.Per + " was counted in the window"
	case judge.OwnWorkUnknown:
		return p.who() + " has no " + p.Per + ": it has no series of its own, or one that began during the window"
	case judge.DurationUnknown:
		return "the profile does not say how long it took"
	case judge.NoRelease:
		return reason.Why
	case judge.NoBaseline:
		return "there is nothing to compare with: set a Baseline, or a DumpDir, where each build leaves its reference"
	case judge.OtherBaseline:
		return fmt.Sprintf("the baseline is another kind of profile: %s with period %d, not %s with period %d",
			reason.Is.Kind, reason.Is.Period, reason.Profile.Kind, reason.Profile.Period)
	case judge.BaselineEmpty:
		if scope := p.scope(); scope != "" {
			return "the baseline has no sample within " + scope
		}
		return "the baseline has no samples"
	case judge.BaselineNoNames:
		return nameless(reason.Share, "baseline")
	case judge.BaselineNoLabel:
		return "no sample of the baseline has the label " + p.Label
	case judge.BaselineWorkUnknown:
		return "the baseline does not say how many units of " + strconv.Quote(p.Per) + " it did"
	}
	return ""
}

// Setter is the call that sets a label.
func Setter(label string) string {
	if label == "endpoint" {
		return "label.Handler(mux)"
	}
	return "label.Do(ctx, " + strconv.Quote(label) + ", value, f)"
}

// numbers says what the numbers of one judgement show.
func numbers(p *phrasing, reason judge.Reason) string {
	f := p.finding
	switch reason := reason.(type) {
	case judge.Counted:
		return p.at() + ", the limit is " + p.limit()
	case judge.Measured:
		return p.surely()
	case judge.Likely:
		return p.at() + ", likely above " + p.bound(f.Low) + " (" + p.samples() + "); " + p.named(reason.Proven) + " is surely above " + p.amount(reason.ProvenLow)
	case judge.UpTo:
		return p.at() + ", or up to " + p.bound(f.High) + " (" + p.samples() + ")"
	case judge.Unseen:
		return p.at() + " by " + p.samples() + ", but the runtime has counted waits for locks of " + unit.Format(reason.Waited.Seconds(), unit.Time) + " or more"
	case judge.TooFew:
		return p.samples() + ", " + whole(reason.Needed) + " are needed to tell " + p.limit() + " from " + round(reason.Notable, unit.Share) + "; " + p.at()
	case judge.TooClose:
		if reason.Needed <= 0 {
			return p.at() + " after " + p.samples() + ", too close to the limit of " + p.limit() + " to tell"
		}
		return p.at() + " after " + p.samples() + ", " + whole(reason.Needed) + " would tell it from the limit of " + p.limit() +
			" (to pass, it has to be below " + round(reason.Zone, p.Dimension) + ")"
	case judge.Occurs:
		return p.occurs(reason)
	case judge.Leaked:
		return unit.Plural(f.Hits, "goroutine") + " blocked for ever"
	case judge.Growth:
		return p.growth(reason)
	case judge.Released:
		return p.released(reason)
	case judge.InBlocks:
		return p.inBlocks(reason)
	case judge.AbsentInBlocks:
		return "none of " + p.samples() + ": below " + p.amount(f.High)
	}
	return ""
}

// windows says what a guard finds out, which sees one window after the other.
func windows(p *phrasing, reason judge.Reason) string {
	switch reason := reason.(type) {
	case judge.BetweenCalls:
		return "only a test, which makes the calls, can judge \"steady\": give a guard a limit, as in \"goroutines below 5000\""
	case judge.CountedOver:
		return p.countedOver(reason)
	case judge.MadeOf:
		return p.reason(reason.Of) + p.madeOf(reason)
	}
	return ""
}

// nameless says of which part of a profile the functions are not known.
func nameless(share float64, of string) string {
	return unit.Format(share, unit.Share) + " of the samples of the " + of + " have no function names, so their functions are unknown: " +
		"take the profile from a program with symbols, or with a profiler that finds them"
}

// surely is the sentence for a verdict by bounds.
func (p *phrasing) surely() string {
	if p.finding.Verdict == evidence.Fail {
		return p.at() + ", surely above " + p.bound(p.finding.Low) + " (" + p.samples() + ")"
	}
	return p.at() + ", surely below " + p.bound(p.finding.High) + " (" + p.samples() + ")"
}

// occurs is the sentence for "absent".
func (p *phrasing) occurs(reason judge.Occurs) string {
	f, none := p.finding, "none of "+p.samples()
	switch {
	case f.Verdict == evidence.Fail:
		return p.subject() + " shows in " + strconv.FormatInt(f.Hits, 10) + " of " + p.samples() + " (" + p.amount(f.Value) + "), and must be absent"
	case f.Verdict == evidence.Pass && p.isCounted():
		return p.subject() + " shows in " + none
	case f.Verdict == evidence.Pass:
		return none + ", so its share is below " + p.amount(f.High)
	case reason.Needed <= 0: // in what was cut off
		return none + ", or up to " + p.amount(f.High)
	}
	return none + ", " + whole(reason.Needed) + " are needed to say that its share is below " + round(evidence.AbsentShare, unit.Share)
}

// inBlocks is the sentence for the end of a test's blocks.
func (p *phrasing) inBlocks(reason judge.InBlocks) string {
	f, limit := p.finding, p.Rule.Limit
	notable := evidence.Notable * limit
	if p.Dimension == unit.Share {
		notable = evidence.NotableShare(limit)
	}
	caught := round(notable, p.Dimension) + " would have been caught, the limit is " + p.limit() + " (" + p.samples() + ")"
	switch passes := f.Verdict == evidence.Pass; {
	case f.Verdict == evidence.Fail, passes && reason.Certain && f.Value <= limit:
		return p.surely()
	case passes && f.High < limit: // there were too few blocks to be certain
		return p.at() + ", likely below " + p.bound(f.High) + "; " + caught
	case passes:
		return p.at() + ", too close to the limit to tell; " + caught
	case f.Samples == 0:
		return "no CPU sample at all"
	case reason.Needed <= 0:
		return p.at() + " after " + p.samples() + ": no number of samples would tell it from the limit of " + p.limit()
	}
	return "too few CPU samples: " + strconv.FormatInt(f.Samples, 10) + " came, " + whole(reason.Needed) +
		" are needed to tell it from the limit of " + p.limit() + "; " + p.at() + " so far"
}

// endless is a ratio from which on there is no bound: package evidence cuts off at 1e15.
const endless = 1e14

// released is the sentence about a build and the one before.
func (p *phrasing) released(reason judge.Released) string {
	c := reason.Of
	before, now := c.Names()
	builds := now + " against " + before
	switch f := reason.Function; {
	case f == nil && p.Class == judge.Process:
		return c.Headline()
	case f == nil:
		return "no " + p.Each() + " has a notable share; " + builds
	case p.finding.Verdict == evidence.Inconclusive:
		return c.Sentence(f) + f.At() + "; " + c.Remedy() + "; " + builds
	default:
		return c.Sentence(f) + "; " + builds
	}
}

// growth is the sentence about growth. For a new function it has no number.
func (p *phrasing) growth(reason judge.Growth) string {
	f := p.finding
	amount := func(x float64) string { return p.amount(math.Round(1e4*x)/1e4 + 0) } // none is -0
	said, open := p.who()+" grew by "+amount(f.Value), f.Verdict == evidence.Inconclusive
	switch {
	case reason.Added && open:
		said = p.who() + " is new, with too few samples to be sure"
	case reason.Added:
		said = p.who() + " is new"
	case p.isCounted():
	case f.Verdict == evidence.Fail:
		said += ", surely by more than " + amount(f.Low)
	case f.Verdict == evidence.Pass:
		said += ", surely by less than " + amount(f.High)
	case f.High >= endless:
		said += ", too few samples to tell by how much"
	default:
		said += ", which may be " + amount(f.Low) + " to " + amount(f.High)
	}
	switch {
	case p.isCounted() || !open || f.Cut > 0:
	case reason.SmallBaseline:
		said += "; the baseline is too small to tell"
	default:
		said += "; more samples would tell"
	}
	return said + " (" + p.samples() + " against " + unit.Format(math.Round(reason.Before), unit.Count) + ")"
}

// whole formats a number of samples that are needed.
func whole(v float64) string { return strconv.FormatFloat(math.Ceil(v), 'f', 0, 64) }

// countedOver is the sentence for a value that a guard has counted over some time.
func (p *phrasing) countedOver(reason judge.CountedOver) string {
	what, period := "CPU", reason.Elapsed.Round(time.Second).String()
	if p.Kind == kinds.Allocs {
		what = "allocations"
	}
	if p.Per != "" {
		period = fmt.Sprintf("%.0f of %q in %s", reason.Work, p.Per, period)
	}
	said := p.at() + ", by its " + what + " counted over " + period
	if reason.Little {
		said += ", too little work to tell"
	}
	return said + "; the limit is " + p.limit()
}

// madeOf names the largest part of a figure.
func (p *phrasing) madeOf(reason judge.MadeOf) string {
	none := len(p.finding.Offenders) == 0
	switch {
	case none && reason.Err != nil:
		return "; the functions behind it are unknown: " + reason.Err.Error()
	case none:
		return ""
	}
	o := &p.finding.Offenders[0]
	part := " is " + located(&o.Frame, &o.Blame) + Owned(&o.Owner)
	if reason.Err != nil {
		part = " of an earlier window was " + located(&o.Frame, &o.Blame) + Owned(&o.Owner) + " (now there is none: " + reason.Err.Error() + ")"
	}
	return "; " + unit.Format(o.Share, unit.Share) + " of the " + reason.Kind + " profile" + part
}

// Reason says in one line why the verdict is what it is.
func Reason(t Terms, f *judge.Finding) string { return (&phrasing{t, f, ofWindows}).text() }

var ofWindows = []vocabulary{numbers, nothing, windows}
