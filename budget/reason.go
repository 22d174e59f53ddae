package budget

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/profguard/profguard/internal/evidence"
	"github.com/profguard/profguard/internal/judge"
	"github.com/profguard/profguard/internal/kinds"
	"github.com/profguard/profguard/internal/unit"
)

// A phrasing puts a finding about a budget into words.
type phrasing struct {
	budget  *Budget // pointers only, so that none escapes to the heap with a part of it
	dim     unit.Dimension
	finding *judge.Finding
	more    func(phrasing, judge.Reason) string // says further reasons, nil for none
}

// text is the reason and the notes, in one line.
func (p *phrasing) text() string {
	f := p.finding
	text := p.reason(f.Reason)
	if f.Cut > 0 {
		text += "; of " + p.budget.samples(f.Cut)
		if _, ok := f.Reason.(judge.Growth); ok {
			text += ", those of the baseline included,"
		}
		text += " the runtime has cut off the stack, and who called is not known"
	}
	if f.Unordered {
		text += "; without addresses in the profile, no router outside the standard library is known"
	}
	if f.Unmatched {
		text += "; no function of this profile matches " + p.budget.Subject
	}
	return text
}

// reason says why the verdict is what it is.
func (p *phrasing) reason(reason judge.Reason) string {
	b, f := p.budget, p.finding
	switch reason := reason.(type) {
	case judge.Measured:
		return p.surely()
	case judge.Likely:
		return p.at() + ", likely above " + p.amount(f.Low) + " (" + p.samples() + "); " + reason.Proven + " is surely above " + p.amount(reason.ProvenLow)
	case judge.Counted:
		return p.at() + ", the limit is " + p.limit()
	case judge.UpTo:
		return p.at() + ", or up to " + p.amount(f.High) + " (" + p.samples() + ")"
	case judge.Unseen:
		return p.at() + " by " + p.samples() + ", but by the runtime's count goroutines have waited for locks for " + unit.Format(reason.Waited.Seconds(), unit.Time) + " or more"
	case judge.TooFew:
		return p.samples() + ", " + whole(reason.Needed) + " are needed to tell " + p.limit() + " from " + round(reason.Notable, unit.Share) + "; " + p.at()
	case judge.TooClose:
		if reason.Needed <= 0 {
			return p.at() + " after " + p.samples() + ", too close to the limit of " + p.limit() + " to tell"
		}
		return p.at() + " after " + p.samples() + ", " + whole(reason.Needed) + " would tell it from the limit of " + p.limit() +
			" (passing needs to be below " + round(reason.Zone, p.dim) + ")"
	case judge.Occurs:
		return p.occurs(reason)
	case judge.Growth:
		return p.growth(reason)
	case judge.InBlocks:
		return p.inBlocks(reason)
	case judge.AbsentInBlocks:
		return "none of " + p.samples() + ": below " + p.amount(f.High)
	case judge.Leaked:
		return unit.Plural(f.Hits, "goroutine") + " blocked for ever"
	case judge.OverHours:
		return "whether it grows shows over hours: a running guard judges that"
	case judge.Learning:
		return p.learning(reason)
	case judge.Failed:
		return reason.Err.Error()
	case judge.Idle:
		return "idle: judged only when " + b.When.String() + ", it is at " + unit.Format(reason.Value, b.When.Amount.dimension())
	case judge.ConditionUnknown:
		return "cannot tell whether " + b.When.String() + ": " + cmp.Or(reason.Why, "the window does not say")
	case judge.NotLinked:
		if b.Rule == RuleAbsent {
			return "not linked: no function of the program matches " + b.Subject
		}
		return "no function linked into the program matches " + b.Subject + ": check the spelling, or drop the budget"
	case judge.FigureUnknown:
		if reason.Why != "" {
			return "the process's " + reason.Figure + " is not known: " + reason.Why
		}
		return "the window does not say the process's " + reason.Figure
	case judge.OtherKind:
		return "needs a profile of kind " + reason.Needs + ", this one is of kind " + reason.Is
	case judge.NoSamples:
		return "the profile has no samples"
	case judge.NoNames:
		return nameless(reason.Share, "profile")
	case judge.NoPackages:
		return unit.Format(reason.Share, unit.Share) + " of the samples have no function with a name of Go, so none is charged: name what to limit, or say \"except none\""
	case judge.OutOfScope:
		return "no sample within " + scopeText(b)
	case judge.WorkUnknown:
		return cmp.Or(reason.Why, "nobody counts "+strconv.Quote(b.Per)+": add it to Config.Work (Facts.Work)")
	case judge.NoWork:
		return "no " + b.Per + " was done in the window"
	case judge.DurationUnknown:
		return "the profile does not say how long it took"
	case judge.NoBaseline:
		return "there is no baseline to compare with: give one (Config.Baseline)"
	case judge.OtherBaseline:
		return fmt.Sprintf("the baseline is another sort of profile: %s with period %d, and this is %s with period %d",
			reason.Is.Kind, reason.Is.Period, reason.Profile.Kind, reason.Profile.Period)
	case judge.BaselineEmpty:
		if scope := scopeText(b); scope != "" {
			return "the baseline has no sample within " + scope
		}
		return "the baseline has no samples"
	case judge.BaselineNoNames:
		return nameless(reason.Share, "baseline")
	case judge.BaselineWorkUnknown:
		return "the baseline does not say how many units of " + strconv.Quote(b.Per) + " it did"
	case judge.CountedOver:
		return p.countedOver(reason)
	case judge.MadeOf:
		return p.reason(reason.Of) + p.madeOf(reason)
	case judge.Together:
		return "all windows together prove it; the last is at " + p.value() + " (" + p.samples() + ")"
	}
	if p.more != nil {
		return p.more(*p, reason)
	}
	panic(fmt.Sprintf("budget: no words for %T", reason))
}

// ofCheck says the reasons of the check of a test.
func ofCheck(p phrasing, reason judge.Reason) string {
	b, f := p.budget, p.finding
	switch reason := reason.(type) {
	case judge.NoTime:
		return "no time was left for it"
	case judge.NoWindow:
		return "no window of the profiler could be used: " + reason.Why
	case judge.NoEvents:
		return "there was none"
	case judge.AtOnce:
		return p.reason(reason.Of) + " (of those that work started, the most at one time)"
	case judge.Left:
		return fmt.Sprintf("work left %s running, %v after it returned and its context was canceled", unit.Plural(f.Hits, "goroutine"), reason.Elapsed.Round(time.Second))
	case judge.FewBatches:
		return unit.Plural(f.Samples, "batch") + " of calls came in time, and 2 are needed"
	case judge.Unsteady:
		return p.reason(reason.Of) + ", and calls are too unsteady to tell"
	case judge.BesideOthers:
		return p.reason(reason.Of) + ", with what other goroutines of the process use, which do not rest while work pauses: if they belong to tests in parallel, run this test by itself"
	case judge.StillRunning:
		which, what := " of work", "let work wait for them"
		if reason.Others {
			which, what = " without this check's label", "if they work for it, let work wait for them; if they belong to a test in parallel, run this test by itself"
		}
		return fmt.Sprintf("after %d calls, %s%s not ended that began with %s, and what they do later is not measured: %s",
			reason.Calls, unit.Plural(reason.Number, "goroutine"), which+map[bool]string{true: " has", false: " have"}[reason.Number == 1], reason.Root, what)
	case judge.NoUnit:
		in := ""
		if reason.Calls > 0 {
			in = fmt.Sprintf(" in %d calls", reason.Calls)
		}
		return fmt.Sprintf("no %q was done%s: work must do some in each call, or the counter is wrong", b.Per, in)
	case judge.OutOfReach:
		return p.reason(reason.Of) + `; nothing was judged: correct the "in", "where" or "when", or leave it out`
	case judge.LittleCPU:
		return p.reason(reason.Of) + fmt.Sprintf(", of a process at %.2f cores, some of which is Check's own: let work compute", reason.Cores)
	case judge.SmallWork:
		return fmt.Sprintf("work is too small: %d of %d CPU samples are Check's own loop around it, at %v a call. "+
			"Do it many times in each call: func(ctx context.Context) { for range 1000 { ... } }", reason.Loop, reason.Samples, reason.Call)
	case judge.Unsampled:
		why := "something else holds the profiler's signal; look for another user of SIGPROF in the process"
		if reason.Busy {
			why = "a machine with far more to run than processors does that by itself; if it does so when idle, look for another user of SIGPROF in the process"
		}
		return fmt.Sprintf("%s came, and %[3]v of CPU should have about %.0[2]f: %[4]s", unit.Plural(reason.Samples, "sample"), reason.Due, reason.CPU.Round(10*time.Millisecond), why)
	case judge.Asleep:
		return fmt.Sprintf("too few CPU samples: %d in %v and %d calls, and %s. Work sleeps or waits, "+
			"or it does its work on goroutines that were started before the check: start those inside work, or make work compute",
			reason.Samples, reason.Elapsed.Round(100*time.Millisecond), reason.Calls, withoutLabel(reason.Others))
	case judge.MoreGoroutines:
		return fmt.Sprintf("%s. But %d goroutines without this check's label, which began with %s, have come with %d calls, and it is not known whether work leaves them "+
			"(if they belong to a test in parallel, run this test by itself): let work call what they call (a server's handler), or start the server inside work",
			p.reason(reason.Of), reason.Come, reason.Root, reason.Calls)
	case judge.WithOthers:
		return p.withOthers(reason)
	case judge.LostLabel:
		return fmt.Sprintf("work replaces this check's label: %s of %s do not have it, and %d do. "+
			"Pass ctx to what sets labels, as to the request: http.NewRequestWithContext(ctx, ...)", unit.Plural(reason.Samples, "CPU sample"), reason.Function, reason.Kept)
	case judge.Levels:
		return p.levels(reason)
	}
	panic(fmt.Sprintf("budget: no words for %T", reason))
}

// nameless says of which part of a profile the functions are not known.
func nameless(share float64, of string) string {
	return unit.Format(share, unit.Share) + " of the samples of the " + of + " lack names of functions, so what is in them is not known: " +
		"take it from a program with its symbols, or with a profiler that finds them"
}

// who names the function, figure or process that the numbers are about.
func (p *phrasing) who() string {
	switch c := classOf(p.budget.Subject); {
	case c == judge.Process:
		return "the process"
	case c != judge.Each:
		return p.budget.Subject
	}
	return cmp.Or(p.finding.Who, "the worst "+strings.TrimPrefix(p.budget.Subject, "no "))
}

func (p *phrasing) at() string { return p.who() + " at " + p.value() }

func (p *phrasing) value() string { return unit.Format(p.finding.Value, p.dim) }

// amount is a bound, beside the value.
func (p *phrasing) amount(v float64) string { return unit.Short(v, p.dim) }

func (p *phrasing) samples() string { return p.budget.samples(p.finding.Samples) }

// limit is the limit as the sentence has it, but in the unit of the measured value.
func (p *phrasing) limit() string {
	if p.dim == unit.Waited {
		return unit.Short(p.budget.Limit.base(), p.dim)
	}
	return p.budget.Limit.String()
}

// surely is the sentence for a verdict by bounds.
func (p *phrasing) surely() string {
	if p.finding.Verdict == evidence.Fail {
		return p.at() + ", surely above " + p.amount(p.finding.Low) + " (" + p.samples() + ")"
	}
	return p.at() + ", surely below " + p.amount(p.finding.High) + " (" + p.samples() + ")"
}

// occurs is the sentence for "absent".
func (p *phrasing) occurs(reason judge.Occurs) string {
	f, none := p.finding, "none of "+p.samples()
	switch {
	case f.Verdict == evidence.Fail:
		return p.budget.Subject + " shows in " + strconv.FormatInt(f.Hits, 10) + " of " + p.samples() + " (" + p.amount(f.Value) + "), and must not at all"
	case f.Verdict == evidence.Pass && p.budget.isCounted():
		return p.budget.Subject + " shows in " + none
	case f.Verdict == evidence.Pass:
		return none + ", so its share is below " + p.amount(f.High)
	case reason.Needed <= 0: // in what was cut off
		return none + ", or up to " + p.amount(f.High)
	}
	return none + ", " + whole(reason.Needed) + " are needed to say that its share is below " + round(evidence.AbsentShare, unit.Share)
}

// learning is the sentence for "steady", window after window.
func (p *phrasing) learning(reason judge.Learning) string {
	switch {
	case p.finding.Verdict == evidence.Fail:
		return p.at() + ", growth beyond what the load explains"
	case reason.Share < 1:
		return "learning what is normal for 48 hours: " + unit.Format(reason.Share, unit.Share) + " of them are over"
	}
	return p.at() + ", no growth beyond what the load explains"
}

// inBlocks is the sentence for the end of a test's blocks.
func (p *phrasing) inBlocks(reason judge.InBlocks) string {
	f, limit := p.finding, p.budget.Limit.base()
	notable := evidence.Notable * limit
	if p.dim == unit.Share {
		notable = evidence.NotableShare(limit)
	}
	caught := round(notable, p.dim) + " would have been caught, the limit is " + p.limit() + " (" + p.samples() + ")"
	switch passes := f.Verdict == evidence.Pass; {
	case f.Verdict == evidence.Fail, passes && reason.Certain && f.Value <= limit:
		return p.surely()
	case passes && f.High < limit: // there were too few blocks to be certain
		return p.at() + ", likely below " + p.amount(f.High) + "; " + caught
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

// growth is the sentence about growth. For a new function it has no number.
func (p *phrasing) growth(reason judge.Growth) string {
	f := p.finding
	amount := func(x float64) string { return p.amount(math.Round(1e4*x)/1e4 + 0) } // none is -0
	said, open := p.who()+" grew by "+amount(f.Value), f.Verdict == evidence.Inconclusive
	switch {
	case reason.New && open:
		said = p.who() + " is new, with too few samples to be sure"
	case reason.New:
		said = p.who() + " is new"
	case p.budget.isCounted():
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
	case p.budget.isCounted() || !open || f.Cut > 0:
	case reason.SmallBaseline:
		said += "; the baseline is too small to tell"
	default:
		said += "; more samples would tell"
	}
	return said + " (" + p.samples() + " against " + unit.Format(math.Round(reason.Before), unit.Count) + ")"
}

// whole formats a number of samples that are needed.
func whole(v float64) string { return strconv.FormatFloat(math.Ceil(v), 'f', 0, 64) }

func (b *Budget) samples(n int64) string {
	if b.isCounted() {
		return unit.Plural(n, "goroutine")
	}
	return unit.Plural(n, "sample")
}

// scopeText names the part of a profile that a budget looks at.
func scopeText(b *Budget) string {
	var parts []string
	if b.In != "" {
		parts = append(parts, b.In)
	}
	for _, k := range slices.Sorted(maps.Keys(b.Where)) {
		parts = append(parts, k+"="+b.Where[k])
	}
	return strings.Join(parts, " and ")
}

// countedOver is the sentence for a value that a guard has counted over some time.
func (p *phrasing) countedOver(reason judge.CountedOver) string {
	what, period := "CPU", reason.Elapsed.Round(time.Second).String()
	if p.budget.Kind == kinds.Allocs {
		what = "allocations"
	}
	if p.budget.Per != "" {
		period = fmt.Sprintf("%.0f of %q in %s", reason.Work, p.budget.Per, period)
	}
	said := p.at() + ", by its " + what + " counted over " + period
	if reason.Little {
		said += ", too little work to tell so close to the limit"
	}
	return said + "; the limit is " + p.limit()
}

// madeOf names the largest part of a figure.
func (p *phrasing) madeOf(reason judge.MadeOf) string {
	none := len(p.finding.Offenders) == 0
	switch {
	case none && reason.Err != nil:
		return "; what it is made of is not known: " + reason.Err.Error()
	case none:
		return ""
	}
	o := &p.finding.Offenders[0]
	part := " is " + located(&o.Frame, &o.Blame)
	if reason.Err != nil {
		part = " of an earlier window was " + located(&o.Frame, &o.Blame) + " (now there is none: " + reason.Err.Error() + ")"
	}
	return "; " + unit.Format(o.Share, unit.Share) + " of the " + reason.Kind + " profile" + part
}

// withoutLabel says how many samples other goroutines have, and how these began.
func withoutLabel(others judge.Others) string {
	text := unit.Plural(others.Samples, "sample") + " of goroutines without this check's label"
	if others.Samples > 0 {
		text += " that began with " + strings.Join(others.Roots, ", ")
	}
	return text
}

// withOthers is the sentence for a verdict that other goroutines would change.
func (p *phrasing) withOthers(reason judge.WithOthers) string {
	with, without := *p, *p
	with.finding, without.finding = reason.With, reason.Without
	if reason.Without.Verdict == evidence.Fail {
		return fmt.Sprintf("%s; with %s, %s: if they work for this check, as a server that was started before it, call its handler in work, or start it there",
			without.text(), withoutLabel(reason.Others), with.at())
	}
	said := fmt.Sprintf("%s, with %s, of which it is not known whether they work for this check. If they do, let work call what they call (a server's handler), "+
		"or start them inside work, for many requests a call. If they belong to a test in parallel, run this test by itself", with.text(), withoutLabel(reason.Others))
	if reason.Without.Verdict == evidence.Pass {
		said += ". Without them it is: " + without.text()
	}
	return said
}

// levels is the sentence for "steady", call after call.
func (p *phrasing) levels(reason judge.Levels) string {
	f, calls := p.finding, reason.Calls
	if reason.Needed > 0 {
		return fmt.Sprintf("%d measurements, each after %d calls; %d are needed", f.Samples, calls, reason.Needed)
	}
	said := fmt.Sprintf("%s at %s, and after %d more calls at %s", p.who(), p.amount(reason.First), (f.Samples-1)*calls, p.value())
	switch limit := p.budget.Limit.base(); {
	case limit > 0 && reason.Least > limit:
		return said + fmt.Sprintf(": never below %s, the limit is %s", p.amount(reason.Least), p.limit())
	case f.Verdict == evidence.Fail:
		return said + fmt.Sprintf(": growth by %s with every %d calls", p.amount(reason.Rise), calls)
	}
	return said + ": no steady rise"
}
