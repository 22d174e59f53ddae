package budget

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/profguard/profguard/internal/evidence"
	"github.com/profguard/profguard/internal/judge"
	"github.com/profguard/profguard/internal/unit"
)

// A sayer has the words for what was found about a budget.
type sayer struct {
	budget  *Budget // pointers only, so that none escapes to the heap with a part of it
	dim     unit.Dimension
	finding *judge.Finding
	result  *Result
}

// say is the reason and the notes in one sentence.
func (s sayer) say() string {
	f := s.finding
	text := s.reason(f.Reason)
	if f.Unmatched && f.Verdict != evidence.Pass {
		text = "no function of this profile matches " + s.budget.Subject + ": " + text
	}
	if f.BaselineCut {
		text += "; of samples of the baseline the runtime has cut off the stack"
	}
	if f.Cut > 0 {
		text += "; of " + samples(f.Cut) + " the runtime has cut off the stack, and who called is not known"
	}
	if f.Unordered {
		text += "; without addresses in the profile, no router outside the standard library is known"
	}
	if f.Elsewhere != "" {
		text += "; what does its work is " + f.Elsewhere + ", which this budget does not count: name that one"
	}
	if f.Unmatched && f.Verdict == evidence.Pass {
		text += "; no function of this profile matches " + s.budget.Subject
	}
	if f.Outside != nil {
		text += "; " + s.outside(f.Outside)
	}
	return text
}

// reason says why the verdict is what it is. Every budget has one in every window, and
// most are Measured, which concatenation allocates once for.
func (s sayer) reason(reason judge.Reason) string {
	f := s.finding
	switch reason := reason.(type) {
	case judge.Measured:
		return s.surely()
	case judge.Likely:
		return s.who() + " at " + s.amount(f.Value) + ", likely above " + s.amount(f.Low) + " (" + samples(f.Samples) + "); " +
			reason.Proven + " is surely above " + s.amount(reason.ProvenLow)
	case judge.Counted:
		return s.who() + " at " + s.amount(f.Value) + ", the limit is " + s.budget.Limit.String()
	case judge.CountedNone:
		return "at " + s.amount(0) + ", the limit is " + s.budget.Limit.String()
	case judge.UpTo:
		return s.who() + " at " + s.amount(f.Value) + ", or up to " + s.amount(f.High) + " (" + samples(f.Samples) + ")"
	case judge.TooFew:
		return fmt.Sprintf("%s, %.0f are needed to tell %s from %s; %s at %s", samples(f.Samples), reason.Needed,
			s.budget.Limit, round(reason.Notable, unit.Share), s.who(), s.amount(f.Value))
	case judge.TooClose:
		text := fmt.Sprintf("%s at %s after %s, ", s.who(), s.amount(f.Value), samples(f.Samples))
		if reason.Needed <= 0 {
			return text + fmt.Sprintf("too close to the limit of %s to tell", s.budget.Limit)
		}
		return text + fmt.Sprintf("%.0f would tell it from the limit of %s (passing needs to be below %s)",
			math.Ceil(reason.Needed), s.budget.Limit, round(reason.Zone, s.dim))
	case judge.Occurs:
		return s.occurs(reason)
	case judge.Growth:
		return s.growth(reason)
	case judge.InBlocks:
		return s.inBlocks(reason)
	case judge.AbsentInBlocks:
		return fmt.Sprintf("none of %s: below %s", samples(f.Samples), unit.Format(f.High, unit.Share))
	case judge.Leaked:
		return unit.Plural(f.Hits, "goroutine") + " blocked for ever"
	case judge.OverHours:
		return "whether it grows shows over hours: a running guard tells"
	case judge.Learning:
		return s.learning(reason)
	case *judge.Outside:
		return s.outside(reason)
	}
	return s.unjudged(reason)
}

// unjudged says why nothing could be judged.
func (s sayer) unjudged(reason judge.Reason) string {
	b := s.budget
	switch reason := reason.(type) {
	case judge.Failed:
		return reason.Err.Error()
	case judge.Idle:
		return fmt.Sprintf("idle: judged only when %s, it is at %s", b.When, unit.Format(reason.Value, b.When.Amount.dimension()))
	case judge.ConditionUnknown:
		return fmt.Sprintf("cannot tell whether %s: %s", b.When, cmp.Or(reason.Why, "the window does not say"))
	case judge.NotLinked:
		if b.Rule == "absent" {
			return "not linked: no function of the program matches " + b.Subject
		}
		return "no function linked into the program matches " + b.Subject + ": check the spelling, or drop the budget"
	case judge.FigureUnknown:
		switch {
		case reason.Why != "":
			return "the process's " + reason.Figure + " is not known: " + reason.Why
		case reason.Given:
			return fmt.Sprintf("the window does not say the process's %s: it has %v for it", reason.Figure, reason.Value)
		}
		return "the window does not say the process's " + reason.Figure
	case judge.NotInProfiles:
		return "a profile does not tell the process's memory: it comes from a running guard"
	case judge.OtherKind:
		return "needs a profile of kind " + reason.Needs + ", this one is of kind " + reason.Is
	case judge.NoSamples:
		return "no samples: nothing ran, or nobody was looking"
	case judge.OutOfScope:
		return "no sample within " + scopeText(*b)
	case judge.AllCut:
		return "no sample shows " + b.In
	case judge.WorkUnknown:
		switch {
		case reason.Why != "":
			return reason.Why
		case !reason.Given:
			return fmt.Sprintf("nobody counts %q: add it to Config.Work (Facts.Work)", b.Per)
		case !(reason.Done > 0):
			return fmt.Sprintf("no %s was done in the window", b.Per)
		}
		return fmt.Sprintf("%v of %q is no amount of work", reason.Done, b.Per)
	case judge.DurationUnknown:
		return "the profile does not say how long it took"
	case judge.NoBaseline:
		return "there is no baseline to compare with: give one (Config.Baseline)"
	case judge.OtherBaseline:
		return fmt.Sprintf("the baseline is another sort of profile: %s with period %d, and this is %s with period %d",
			reason.Is.Kind, reason.Is.Period, reason.Profile.Kind, reason.Profile.Period)
	case judge.BaselineEmpty:
		return "the baseline has no samples"
	case judge.BaselineWorkUnknown:
		return fmt.Sprintf("the baseline does not say how many units of %q it did", b.Per)
	}
	panic(fmt.Sprintf("budget: no words for %T", reason))
}

// who is what the numbers are of.
func (s sayer) who() string {
	switch classOf(s.budget.Subject) {
	case judge.Process:
		return "the process"
	case judge.Each:
		switch {
		case len(s.result.Offenders) > 0 && s.result.Offenders[0].Function == s.finding.Who:
			return s.result.Offenders[0].name(*s.budget)
		case s.finding.Who == "":
			return "the worst function"
		}
		return s.finding.Who
	}
	return s.budget.Subject
}

func (s sayer) amount(v float64) string { return unit.Format(v, s.dim) }

// surely is the sentence for a verdict by bounds.
func (s sayer) surely() string {
	f := s.finding
	side, bound := " below ", f.High
	if f.Verdict == evidence.Fail {
		side, bound = " above ", f.Low
	}
	return s.who() + " at " + s.amount(f.Value) + ", surely" + side + s.amount(bound) + " (" + samples(f.Samples) + ")"
}

// occurs is the sentence for "absent".
func (s sayer) occurs(reason judge.Occurs) string {
	f, subject := s.finding, s.budget.Subject
	came := samples(f.Samples)
	if s.budget.isCounted() {
		came = unit.Plural(f.Samples, s.budget.kind().One)
	}
	switch {
	case f.Verdict == evidence.Fail:
		return fmt.Sprintf("%s shows in %d of %s (%s), and may not at all", subject, f.Hits, came, unit.Format(f.Value, unit.Share))
	case f.Verdict == evidence.Pass && s.budget.isCounted():
		return fmt.Sprintf("%s shows in none of %s", subject, came)
	case f.Verdict == evidence.Pass:
		return "none of " + came + ", so its share is below " + unit.Format(f.High, unit.Share)
	}
	return fmt.Sprintf("none of %s, %.0f are needed to say that its share is below %s", came, reason.Needed, round(evidence.AbsentShare, unit.Share))
}

// learning is the sentence for "steady", window after window.
func (s sayer) learning(reason judge.Learning) string {
	subject, now := s.budget.Subject, s.amount(s.finding.Value)
	switch {
	case s.finding.Verdict == evidence.Fail:
		return subject + " keep growing beyond what the load explains: " + now + " now"
	case reason.Share < 1:
		return "learning what is normal, and telling nothing until 48 hours are in: " + unit.Format(reason.Share, unit.Share) + " of them are"
	}
	return subject + " at " + now + ", no growth beyond what the load explains"
}

// inBlocks is the sentence for the end of a test's blocks.
func (s sayer) inBlocks(reason judge.InBlocks) string {
	f, limit := s.finding, s.budget.Limit
	who, at, came := s.who(), s.amount(f.Value), samples(f.Samples)
	switch {
	case f.Verdict == evidence.Fail, f.Verdict == evidence.Pass && reason.Certain && f.Value <= s.result.Limit:
		return s.surely()
	case f.Verdict == evidence.Pass && reason.Certain:
		return fmt.Sprintf("%s at %s, too close to the limit of %s to tell, and surely below %s (%s)", who, at, limit, s.amount(f.High), came)
	case f.Verdict == evidence.Pass && f.High < s.result.Limit: // there was no time for as many blocks as make it certain
		return fmt.Sprintf("%s at %s, likely below %s; one and a half times the limit of %s would have been caught (%s)",
			who, at, s.amount(f.High), limit, came)
	case f.Verdict == evidence.Pass:
		return fmt.Sprintf("%s at %s, too close to the limit of %s to tell; one and a half times the limit would have been caught (%s)", who, at, limit, came)
	case f.Samples == 0:
		return "no CPU sample at all"
	case reason.Needed <= 0:
		return fmt.Sprintf("%s at %s after %s: no number of samples would tell it from the limit of %s", who, at, came, limit)
	}
	return fmt.Sprintf("too few CPU samples: %d came, %.0f are needed to tell it from the limit of %s; %s at %s so far",
		f.Samples, math.Ceil(reason.Needed), limit, who, at)
}

// labelsShown is how many labels a reason lists.
const labelsShown = 6

// outside says what keeps all samples out of the budget's scope.
func (s sayer) outside(o *judge.Outside) string {
	none := "none of " + samples(o.Samples)
	set := "no label"
	switch more := len(o.Set) - labelsShown; {
	case more > 0:
		set = fmt.Sprintf("%s and %d more", strings.Join(o.Set[:labelsShown], ", "), more)
	case len(o.Set) > 0:
		set = strings.Join(o.Set, ", ")
	}
	switch {
	case o.Gate != nil:
		return s.reason(o.Gate) + `: in a test, leave "when" out`
	case o.Value != "":
		return fmt.Sprintf("%s carries the label %s=%s: work set %s", none, o.Key, o.Value, set)
	case o.Key != "":
		return fmt.Sprintf("%s carries the label %s: work set %s", none, o.Key, set)
	case len(s.budget.Where) > 0:
		return none + " is within " + scopeText(*s.budget)
	}
	return none + " is within " + s.budget.In + ": work does not call it, or calls it for next to nothing"
}

// endless is a ratio from which on there is no bound: package evidence cuts off at 1e15.
const endless = 1e14

// growth is the sentence about growth. Of what is new, it has no number.
func (s sayer) growth(reason judge.Growth) string {
	f := s.finding
	amount := func(x float64) string {
		x = math.Round(1e4*x)/1e4 + 0 // none is -0
		if s.dim == unit.Points {
			return fmt.Sprintf("%.2f points", 100*x)
		}
		return unit.Format(x, unit.Share)
	}
	said, counted := s.who()+" grew by "+amount(f.Value), s.budget.isCounted()
	switch {
	case reason.New && f.Verdict == evidence.Inconclusive:
		said = s.who() + " is new, with too few samples to be sure"
	case reason.New:
		said = s.who() + " is new"
	case counted:
	case f.Verdict == evidence.Fail:
		said += ", surely by more than " + amount(f.Low)
	case f.Verdict == evidence.Pass:
		said += ", surely by less than " + amount(f.High)
	case f.High >= endless:
		said += ", too few samples to tell by how much"
	default:
		said += fmt.Sprintf(", which may be %s to %s", amount(f.Low), amount(f.High))
	}
	switch {
	case counted || f.Verdict != evidence.Inconclusive:
	case reason.NeededBefore > 0:
		said += fmt.Sprintf("; the baseline is too small to tell, one of %.0f samples would", math.Ceil(reason.NeededBefore))
	case reason.Needed > 0:
		said += fmt.Sprintf("; %.0f samples would tell", math.Ceil(reason.Needed))
	}
	return fmt.Sprintf("%s (%s against %.0f)", said, samples(f.Samples), reason.Before)
}

// scopeText names the part of a profile that a budget looks at.
func scopeText(b Budget) string {
	var parts []string
	if b.In != "" {
		parts = append(parts, b.In)
	}
	for _, k := range slices.Sorted(maps.Keys(b.Where)) {
		parts = append(parts, k+"="+b.Where[k])
	}
	return strings.Join(parts, " and ")
}
