package budget

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/profguard/profguard/internal/evidence"
	"github.com/profguard/profguard/internal/judge"
	"github.com/profguard/profguard/internal/unit"
)

// A phrasing puts a finding about a budget into words.
type phrasing struct {
	budget  *Budget // pointers only, so that none escapes to the heap with a part of it
	dim     unit.Dimension
	finding *judge.Finding
}

// sentence is the reason and the notes in one sentence.
func (s phrasing) sentence() string {
	f := s.finding
	text := s.reason(f.Reason)
	if f.Cut > 0 {
		text += "; of " + s.budget.samples(f.Cut)
		if _, ok := f.Reason.(judge.Growth); ok {
			text += ", those of the baseline included,"
		}
		text += " the runtime has cut off the stack, and who called is not known"
	}
	if f.Unordered {
		text += "; without addresses in the profile, no router outside the standard library is known"
	}
	if f.Unmatched {
		text += "; no function of this profile matches " + s.budget.Subject
	}
	return text
}

// reason says why the verdict is what it is.
func (s phrasing) reason(reason judge.Reason) string {
	b, f := s.budget, s.finding
	switch reason := reason.(type) {
	case judge.Measured:
		return s.surely()
	case judge.Likely:
		return s.who() + " at " + s.value() + ", likely above " + s.amount(f.Low) + " (" + s.samples() + "); " + reason.Proven + " is surely above " + s.amount(reason.ProvenLow)
	case judge.Counted:
		return s.who() + " at " + s.value() + ", the limit is " + s.limit()
	case judge.UpTo:
		return s.who() + " at " + s.value() + ", or up to " + s.amount(f.High) + " (" + s.samples() + ")"
	case judge.TooFew:
		return s.samples() + ", " + whole(reason.Needed) + " are needed to tell " + s.limit() + " from " + round(reason.Notable, unit.Share) + "; " + s.who() + " at " + s.value()
	case judge.TooClose:
		if reason.Needed <= 0 {
			return s.who() + " at " + s.value() + " after " + s.samples() + ", too close to the limit of " + s.limit() + " to tell"
		}
		return s.who() + " at " + s.value() + " after " + s.samples() + ", " + whole(reason.Needed) + " would tell it from the limit of " + s.limit() +
			" (passing needs to be below " + round(reason.Zone, s.dim) + ")"
	case judge.Occurs:
		return s.occurs(reason)
	case judge.Growth:
		return s.growth(reason)
	case judge.InBlocks:
		return s.inBlocks(reason)
	case judge.AbsentInBlocks:
		return "none of " + s.samples() + ": below " + s.amount(f.High)
	case judge.Leaked:
		return unit.Plural(f.Hits, "goroutine") + " blocked for ever"
	case judge.OverHours:
		return "whether it grows shows over hours: a running guard tells"
	case judge.Learning:
		return s.learning(reason)
	case judge.Failed:
		return reason.Err.Error()
	case judge.Idle:
		return "idle: judged only when " + b.When.String() + ", it is at " + unit.Format(reason.Value, b.When.Amount.dimension())
	case judge.ConditionUnknown:
		return "cannot tell whether " + b.When.String() + ": " + cmp.Or(reason.Why, "the window does not say")
	case judge.NotLinked:
		if b.Rule == "absent" {
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
	case judge.BaselineWorkUnknown:
		return "the baseline does not say how many units of " + strconv.Quote(b.Per) + " it did"
	}
	panic(fmt.Sprintf("budget: no words for %T", reason))
}

// who names the function, figure or process that the numbers are about.
func (s phrasing) who() string {
	switch c := classOf(s.budget.Subject); {
	case c == judge.Process:
		return "the process"
	case c != judge.Each:
		return s.budget.Subject
	}
	return cmp.Or(s.finding.Who, "the worst "+strings.TrimPrefix(s.budget.Subject, "no "))
}

func (s phrasing) value() string { return s.amount(s.finding.Value) }

func (s phrasing) amount(v float64) string { return unit.Format(v, s.dim) }

func (s phrasing) samples() string { return s.budget.samples(s.finding.Samples) }

func (s phrasing) limit() string { return s.budget.Limit.String() }

// surely is the sentence for a verdict by bounds.
func (s phrasing) surely() string {
	if s.finding.Verdict == evidence.Fail {
		return s.who() + " at " + s.value() + ", surely above " + s.amount(s.finding.Low) + " (" + s.samples() + ")"
	}
	return s.who() + " at " + s.value() + ", surely below " + s.amount(s.finding.High) + " (" + s.samples() + ")"
}

// occurs is the sentence for "absent".
func (s phrasing) occurs(reason judge.Occurs) string {
	f, none := s.finding, "none of "+s.samples()
	switch {
	case f.Verdict == evidence.Fail:
		return s.budget.Subject + " shows in " + strconv.FormatInt(f.Hits, 10) + " of " + s.samples() + " (" + s.amount(f.Value) + "), and may not at all"
	case f.Verdict == evidence.Pass && s.budget.isCounted():
		return s.budget.Subject + " shows in " + none
	case f.Verdict == evidence.Pass:
		return none + ", so its share is below " + s.amount(f.High)
	case reason.Needed <= 0: // in what was cut off
		return none + ", or up to " + s.amount(f.High)
	}
	return none + ", " + whole(reason.Needed) + " are needed to say that its share is below " + round(evidence.AbsentShare, unit.Share)
}

// learning is the sentence for "steady", window after window.
func (s phrasing) learning(reason judge.Learning) string {
	switch {
	case s.finding.Verdict == evidence.Fail:
		return s.who() + " at " + s.value() + ", growth beyond what the load explains"
	case reason.Share < 1:
		return "learning what is normal, and telling nothing until 48 hours are in: " + unit.Format(reason.Share, unit.Share) + " of them are"
	}
	return s.who() + " at " + s.value() + ", no growth beyond what the load explains"
}

// inBlocks is the sentence for the end of a test's blocks.
func (s phrasing) inBlocks(reason judge.InBlocks) string {
	f, limit := s.finding, s.budget.Limit.base()
	notable := evidence.Notable * limit
	if s.dim == unit.Share {
		notable = evidence.NotableShare(limit)
	}
	caught := round(notable, s.dim) + " would have been caught, the limit is " + s.limit() + " (" + s.samples() + ")"
	switch passes := f.Verdict == evidence.Pass; {
	case f.Verdict == evidence.Fail, passes && reason.Certain && f.Value <= limit:
		return s.surely()
	case passes && f.High < limit: // there were too few blocks to be certain
		return s.who() + " at " + s.value() + ", likely below " + s.amount(f.High) + "; " + caught
	case passes:
		return s.who() + " at " + s.value() + ", too close to the limit to tell; " + caught
	case f.Samples == 0:
		return "no CPU sample at all"
	case reason.Needed <= 0:
		return s.who() + " at " + s.value() + " after " + s.samples() + ": no number of samples would tell it from the limit of " + s.limit()
	}
	return "too few CPU samples: " + strconv.FormatInt(f.Samples, 10) + " came, " + whole(reason.Needed) +
		" are needed to tell it from the limit of " + s.limit() + "; " + s.who() + " at " + s.value() + " so far"
}

// endless is a ratio from which on there is no bound: package evidence cuts off at 1e15.
const endless = 1e14

// growth is the sentence about growth. For a new function it has no number.
func (s phrasing) growth(reason judge.Growth) string {
	f := s.finding
	amount := func(x float64) string {
		x = math.Round(1e4*x)/1e4 + 0 // none is -0
		if s.dim == unit.Points {
			return unit.InPoints(x)
		}
		return unit.Format(x, unit.Share)
	}
	said, open := s.who()+" grew by "+amount(f.Value), f.Verdict == evidence.Inconclusive
	switch {
	case reason.New && open:
		said = s.who() + " is new, with too few samples to be sure"
	case reason.New:
		said = s.who() + " is new"
	case s.budget.isCounted():
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
	case s.budget.isCounted() || !open || f.Cut > 0:
	case reason.SmallBaseline:
		said += "; the baseline is too small to tell"
	default:
		said += "; more samples would tell"
	}
	return said + " (" + s.samples() + " against " + unit.Format(math.Round(reason.Before), unit.Count) + ")"
}

// whole formats a number of samples that are needed.
func whole(v float64) string { return strconv.FormatFloat(math.Ceil(v), 'f', 0, 64) }

// samples is a number of samples, in words.
func (b *Budget) samples(n int64) string {
	if b.isCounted() {
		return unit.Plural(n, b.kind().One)
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
