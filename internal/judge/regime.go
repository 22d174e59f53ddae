package judge

import (
	"time"

	"github.com/profguard/profguard/internal/alert"
	"github.com/profguard/profguard/internal/evidence"
)

// A regime is how a sort of rules is judged. It is chosen when a rule is compiled, and what
// differs between rules is in their regimes: the profile that they need, what one window shows,
// what all windows prove together, how long an alert takes, and how the blocks of a test are judged.
type regime interface {
	needs() Needs
	alert(period, window time.Duration) alert.Rule
	window(*measurement) Finding
	// follow adds a window to the record, and returns the finding on it with what the record
	// proves.
	follow(*record, *measurement, Finding) Finding

	block(*tally, *measurement)                           // adds one
	verdict(t *tally, last bool) evidence.Verdict         // see [Blocks.Verdict]
	closed(t *tally, m *measurement, all Finding) Finding // see [Blocks.Close]; all is the finding on m, the sum
}

// What most regimes have in common: a profile of the rule's kind is needed, one window is proof, and blocks are judged
// by their sum.

func (r *rule) needs() Needs { return Needs{Profile: r.Kind, Periodic: r.isState()} }

func (r *rule) follow(rec *record, _ *measurement, f Finding) Finding { return rec.proven(f) }

func (r *rule) block(*tally, *measurement) {}

func (r *rule) verdict(*tally, bool) evidence.Verdict { return evidence.Inconclusive }

func (r *rule) closed(_ *tally, _ *measurement, all Finding) Finding { return all }

func regimeOf(r *rule) regime {
	switch {
	case r.Class == Leak:
		return leaked{r}
	case r.Test == Steady:
		return steady{figure{r}}
	case r.Class == Figure:
		return figure{r}
	case r.Test == Absent:
		return absent{r}
	case r.ComparesBuilds():
		return released{growth{r}}
	case r.Test == Grows:
		return growth{r}
	case r.EachByWork():
		return byWork{sampled{r}}
	case r.hasCounter():
		return counted{sampled{r}}
	}
	return sampled{r}
}

// Needs is what is needed to judge the rule in a guard.
func (r *Rule) Needs() Needs { return regimeOf(&rule{Rule: *r}).needs() }

// Alert is how long the rule's alert takes to begin and to end, in a guard with such periods
// and windows.
func (r *Rule) Alert(period, window time.Duration) alert.Rule {
	return regimeOf(&rule{Rule: *r}).alert(period, window)
}
