package judge

import (
	"math"
	"slices"
	"time"

	"github.com/profguard/profguard/internal/alert"
	"github.com/profguard/profguard/internal/charge"
	"github.com/profguard/profguard/internal/kinds"
	"github.com/profguard/profguard/internal/unit"
)

// A Class is what a budget is about.
type Class int8

const (
	Pattern      Class = iota // the functions that a pattern matches
	EachFunction              // each function by itself
	EachPackage               // each package
	EachValue                 // each value of a label
	Process                   // the whole profile
	Figure                    // goroutines, heap, rss, gc
	Leak                      // leaked goroutines, which are blocked for ever
)

// units are what samples are charged to for the classes about code.
var units = map[Class]charge.Unit{Pattern: charge.Function, EachFunction: charge.Function, EachPackage: charge.Package}

// IsCode reports whether a budget is about code, and not about a process or the values of a label.
func (c Class) IsCode() bool { _, is := units[c]; return is }

// IsEach reports whether the limit is for each function, package or value of a label by itself.
func (c Class) IsEach() bool { return c == EachValue || c.IsCode() && c != Pattern }

// A Test is the requirement on a budget's subject.
type Test int8

const (
	Limited Test = iota // to keep to the limit
	Absent              // not to occur
	Grows               // not to grow by more than the limit against the baseline
	Steady              // not to grow from call to call of a test
)

// A Rule is a budget without its words. Package budget makes it from a valid budget.
type Rule struct {
	Class   Class
	Test    Test
	Subject string // the pattern, or the name of the figure
	Label   string // of [EachValue]: whose values they are, which are what Except has, too

	Limit     float64        // in base units
	Dimension unit.Dimension // of the limit, or of the measured value if there is no limit

	Flat    bool
	Kind    string // of profile, "cpu" and never ""
	Per     string // unit of work
	Except  []string
	Routes  []Route  // exceptions on one way
	Ending  []Ending // of the exceptions, those that end
	Literal bool     // all functions of a stack are charged, also those on the way in
	In      string
	Where   map[string]string
	When    Condition

	// How long the rule has to fail until its alert fires, if its sentence says so.
	ForWindows int
	ForTime    time.Duration
}

// EachByWork reports whether the limit is for what a unit of work costs of each value of a label, so that each has a
// counter of its own: [Rule.Per] says by which label.
func (r *Rule) EachByWork() bool { return r.Class == EachValue && r.Test == Limited && r.Per != "" }

// Largest is a rule that every profile of a kind breaks, so that its offenders are the functions
// with a large share: of time or bytes, or of objects for [unit.Count].
func Largest(kind string, of unit.Dimension) Rule {
	if of != unit.Count {
		of = unit.Share
	}
	return Rule{Class: Process, Kind: kind, Limit: 0.5, Dimension: of}
}

// Patterns are the patterns of the rule's subject and scope. If one of them matches no
// function, the rule can never fail.
func (r Rule) Patterns() []string {
	texts := []string{r.Subject, r.In}
	if r.Class != Pattern {
		texts = texts[1:]
	}
	return slices.DeleteFunc(texts, func(text string) bool { return text == "" })
}

// Needs are what has to be measured to judge a rule.
type Needs struct {
	Profile  string // the kind, "" for none: the figures of the process are enough
	Periodic bool   // judged once a period: it is counted in full, or by a profile of one moment
	Counters bool   // judged by the process's counters over the period, see [Rule.Count]
	Calls    bool   // compares levels between calls of a test
	Baseline bool   // compared with a baseline
}

// isState reports whether the rule's kind of profile is of one moment.
func (r *Rule) isState() bool { return kinds.Of(r.Kind).Taken == kinds.State }

// alertOf is how long an alert takes: as the sentence says, or three periods. inFull says that the
// value is counted and not sampled.
func (r *Rule) alertOf(period, window time.Duration, inFull bool) (a alert.Rule) {
	switch {
	case r.ForWindows > 0 || r.ForTime > 0:
		a = alert.For(r.ForWindows, r.ForTime, period)
	case inFull:
		return alert.Counted(period)
	default:
		a = alert.Lasting(period, window)
	}
	a.Counted = inFull
	return a
}

// HasParts reports whether the offenders are parts of a whole, of which another may lead in each
// window.
func (r *Rule) HasParts() bool { return r.Class == Process || r.Class == Figure }

// InShares reports whether the offenders are shares of a profile while the value is none.
func (r *Rule) InShares() bool {
	return (r.HasParts() || r.Class == Leak) && r.Dimension != unit.Share
}

// A Route is an exception from one caller: of what a pattern matches, where it is called, also
// through others, by what another one matches.
type Route struct{ Of, From string }

// An Ending is when an exception ends.
type Ending struct {
	Exception string // with its day
	At        time.Time
}

// A Condition compares a figure with a limit in base units. A condition without a Figure
// always holds.
type Condition struct {
	Figure string
	Below  bool
	Limit  float64
}

// UnmetBy is why the condition is not known to hold by figures of the process alone, nil if it is.
func (c Condition) UnmetBy(figures map[string]float64) Reason {
	v, known := figures[FigureOf(c.Figure)]
	return c.unmet(v, known && isFigure(v), "")
}

// isFigure reports whether a figure has a possible value. NaN would be neither above nor
// below any limit.
func isFigure(v float64) bool { return v >= 0 && !math.IsInf(v, 1) }

// unmet is why the condition is not known to hold at a value of its figure. why is the reason
// where that is not known.
func (c Condition) unmet(v float64, known bool, why string) Reason {
	switch {
	case c.Figure == "":
		return nil
	case !known:
		return ConditionUnknown{why}
	case c.Below && v < c.Limit, !c.Below && v > c.Limit:
		return nil
	}
	return Idle{v}
}

// FigureOf is the name of the figure in [Facts] that a subject is about.
func FigureOf(subject string) string {
	if subject == "process" {
		return "cores"
	}
	return subject
}
