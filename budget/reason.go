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

// A sayer puts a finding about a budget into words.
type sayer struct {
	budget  *Budget // pointers only, so that none escapes to the heap with a part of it
	dim     unit.Dimension
	finding *judge.Finding
	result  *Result
}

// fill fills in the blanks of a sentence: {who} by its value, for example, and {} by the next
// of args.
func (s sayer) fill(sentence string, args ...string) string {
	var room [240]byte
	text := room[:0]
	for {
		before, rest, found := strings.Cut(sentence, "{")
		text = append(text, before...)
		if !found {
			return string(text)
		}
		blank, after, _ := strings.Cut(rest, "}")
		if blank == "" && len(args) > 0 {
			text, args = append(text, args[0]...), args[1:]
		} else {
			text = append(text, s.blank(blank)...)
		}
		sentence = after
	}
}

// blank is the value of a blank.
func (s sayer) blank(name string) string {
	b, f := s.budget, s.finding
	switch name {
	case "who":
		return s.who()
	case "at":
		return s.amount(f.Value)
	case "low":
		return s.amount(f.Low)
	case "high":
		return s.amount(f.High)
	case "samples":
		return b.samples(f.Samples)
	case "limit":
		return b.Limit.String()
	case "subject":
		return b.Subject
	case "per":
		return strconv.Quote(b.Per)
	case "when":
		return b.When.String()
	case "scope":
		return scopeText(b)
	}
	return "{" + name + "}"
}

// say is the reason and the notes in one sentence.
func (s sayer) say() string {
	f := s.finding
	text := s.reason(f.Reason)
	const unmatched = "no function of this profile matches "
	if f.Unmatched && f.Verdict != evidence.Pass {
		text = unmatched + s.budget.Subject + ": " + text
	}
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
	if f.Unmatched && f.Verdict == evidence.Pass {
		text += "; " + unmatched + s.budget.Subject
	}
	return text
}

// reason says why the verdict is what it is.
func (s sayer) reason(reason judge.Reason) string {
	b := s.budget
	switch reason := reason.(type) {
	case judge.Measured:
		return s.surely()
	case judge.Likely:
		return s.fill("{who} at {at}, likely above {low} ({samples}); {} is surely above {}", reason.Proven, s.amount(reason.ProvenLow))
	case judge.Counted:
		return s.fill("{who} at {at}, the limit is {limit}")
	case judge.UpTo:
		return s.fill("{who} at {at}, or up to {high} ({samples})")
	case judge.TooFew:
		return s.fill("{samples}, {} are needed to tell {limit} from {}; {who} at {at}", whole(reason.Needed), round(reason.Notable, unit.Share))
	case judge.TooClose:
		if reason.Needed <= 0 {
			return s.fill("{who} at {at} after {samples}, too close to the limit of {limit} to tell")
		}
		return s.fill("{who} at {at} after {samples}, {} would tell it from the limit of {limit} (passing needs to be below {})",
			whole(reason.Needed), round(reason.Zone, s.dim))
	case judge.Occurs:
		return s.occurs(reason)
	case judge.Growth:
		return s.growth(reason)
	case judge.InBlocks:
		return s.inBlocks(reason)
	case judge.AbsentInBlocks:
		return s.fill("none of {samples}: below {high}")
	case judge.Leaked:
		return unit.Plural(s.finding.Hits, "goroutine") + " blocked for ever"
	case judge.OverHours:
		return "whether it grows shows over hours: a running guard tells"
	case judge.Learning:
		return s.learning(reason)
	case judge.Failed:
		return reason.Err.Error()
	case judge.Idle:
		return s.fill("idle: judged only when {when}, it is at {}", unit.Format(reason.Value, b.When.Amount.dimension()))
	case judge.ConditionUnknown:
		return s.fill("cannot tell whether {when}: {}", cmp.Or(reason.Why, "the window does not say"))
	case judge.NotLinked:
		if b.Rule == "absent" {
			return s.fill("not linked: no function of the program matches {subject}")
		}
		return s.fill("no function linked into the program matches {subject}: check the spelling, or drop the budget")
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
		return s.fill("no sample within {scope}")
	case judge.WorkUnknown:
		return cmp.Or(reason.Why, s.fill("nobody counts {per}: add it to Config.Work (Facts.Work)"))
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
		return s.fill("the baseline does not say how many units of {per} it did")
	}
	panic(fmt.Sprintf("budget: no words for %T", reason))
}

// who names the function, figure or process that the numbers are about.
func (s sayer) who() string {
	f, r := s.finding, s.result
	switch c := classOf(s.budget.Subject); {
	case c == judge.Process:
		return "the process"
	case c != judge.Each:
		return s.budget.Subject
	case len(r.Offenders) > 0 && r.Offenders[0].Function == f.Who:
		return r.Offenders[0].name(s.budget)
	}
	return cmp.Or(f.Who, "the worst "+strings.TrimPrefix(s.budget.Subject, "no "))
}

func (s sayer) amount(v float64) string { return unit.Format(v, s.dim) }

// surely is the sentence for a verdict by bounds.
func (s sayer) surely() string {
	if s.finding.Verdict == evidence.Fail {
		return s.fill("{who} at {at}, surely above {low} ({samples})")
	}
	return s.fill("{who} at {at}, surely below {high} ({samples})")
}

// occurs is the sentence for "absent".
func (s sayer) occurs(reason judge.Occurs) string {
	f := s.finding
	switch {
	case f.Verdict == evidence.Fail:
		return s.fill("{subject} shows in {} of {samples} ({at}), and may not at all", strconv.FormatInt(f.Hits, 10))
	case f.Verdict == evidence.Pass && s.budget.isCounted():
		return s.fill("{subject} shows in none of {samples}")
	case f.Verdict == evidence.Pass:
		return s.fill("none of {samples}, so its share is below {high}")
	}
	if reason.Needed <= 0 { // in what was cut off
		return s.fill("none of {samples}, or up to {high}")
	}
	return s.fill("none of {samples}, {} are needed to say that its share is below {}", whole(reason.Needed), round(evidence.AbsentShare, unit.Share))
}

// learning is the sentence for "steady", window after window.
func (s sayer) learning(reason judge.Learning) string {
	switch {
	case s.finding.Verdict == evidence.Fail:
		grows := " keeps growing"
		if s.budget.Subject == "goroutines" {
			grows = " keep growing"
		}
		return s.fill("{who}{} beyond what the load explains: {at} now", grows)
	case reason.Share < 1:
		return s.fill("learning what is normal, and telling nothing until 48 hours are in: {} of them are", unit.Format(reason.Share, unit.Share))
	}
	return s.fill("{who} at {at}, no growth beyond what the load explains")
}

// inBlocks is the sentence for the end of a test's blocks.
func (s sayer) inBlocks(reason judge.InBlocks) string {
	f, limit := s.finding, s.result.Limit
	passes, notable := f.Verdict == evidence.Pass, evidence.Notable*limit
	if s.dim == unit.Share {
		notable = min(notable, (1+limit)/2)
	}
	switch {
	case f.Verdict == evidence.Fail, passes && reason.Certain && f.Value <= limit:
		return s.surely()
	case passes && reason.Certain:
		return s.fill("{who} at {at}, too close to the limit of {limit} to tell, and surely below {high} ({samples})")
	case passes && f.High < limit: // there were too few blocks to be certain
		return s.fill("{who} at {at}, likely below {high}; {} would have been caught, the limit is {limit} ({samples})", round(notable, s.dim))
	case passes:
		return s.fill("{who} at {at}, too close to the limit of {limit} to tell; {} would have been caught ({samples})", round(notable, s.dim))
	case f.Samples == 0:
		return "no CPU sample at all"
	case reason.Needed <= 0:
		return s.fill("{who} at {at} after {samples}: no number of samples would tell it from the limit of {limit}")
	}
	return s.fill("too few CPU samples: {} came, {} are needed to tell it from the limit of {limit}; {who} at {at} so far",
		strconv.FormatInt(f.Samples, 10), whole(reason.Needed))
}

// endless is a ratio from which on there is no bound: package evidence cuts off at 1e15.
const endless = 1e14

// growth is the sentence about growth. For a new function it has no number.
func (s sayer) growth(reason judge.Growth) string {
	f := s.finding
	amount := func(x float64) string {
		x = math.Round(1e4*x)/1e4 + 0 // none is -0
		text := unit.Format(x, unit.Share)
		if s.dim == unit.Points {
			text = strings.TrimSuffix(text, "%") + " points"
		}
		return text
	}
	said, open := "{who} grew by "+amount(f.Value), f.Verdict == evidence.Inconclusive
	switch {
	case reason.New && open:
		said = "{who} is new, with too few samples to be sure"
	case reason.New:
		said = "{who} is new"
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
	return s.fill(said+" ({samples} against {})", unit.Format(math.Round(reason.Before), unit.Count))
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
