package words

import (
	"fmt"
	"strings"
	"time"

	"github.com/profguard/profguard/internal/evidence"
	"github.com/profguard/profguard/internal/judge"
	"github.com/profguard/profguard/internal/unit"
)

// Others are samples of goroutines without the label of the check, and the functions that
// these goroutines began with.
type Others struct {
	Samples int64
	Roots   []string
}

// Reasons of the check of a test.
type (
	NoTime       struct{}                        // the check ended before
	NoWindow     struct{ Why string }            // no window of the profiler could be used, the last because of this
	NoEvents     struct{}                        // all events are recorded, and there was none
	AtOnce       struct{ Of judge.Reason }       // the goroutines of work, when they were most
	Left         struct{ Elapsed time.Duration } // Hits goroutines of work, so long after it has ended
	FewBatches   struct{}                        // Samples batches of calls came in time, and two are needed
	Unsteady     struct{ Of judge.Reason }       // batches of calls differ too much
	BesideOthers struct{ Of judge.Reason }       // other code of the process does not rest while work pauses
	NoUnit       struct{ Calls int64 }           // none of the unit of work was done in so many calls; 0 is unknown
	OutOfReach   struct{ Of judge.Reason }       // nothing was judged by the second call, so more time is of no use
	LittleCPU    struct {
		Of    judge.Reason
		Cores float64
	} // a figure of a process that uses so little CPU that the check has a part in it
	SmallWork struct {
		Loop, Samples int64
		Call          time.Duration
	} // of so many samples the loop around work has Loop, as a call is so short
	// Unsampled: fewer samples came than so much CPU should have, on a machine that may be busy.
	Unsampled struct {
		Samples int64
		Due     float64
		CPU     time.Duration
		Busy    bool
	}
	// Asleep: work hardly uses CPU by itself. Others are goroutines that may work for it.
	Asleep struct {
		Samples int64
		Elapsed time.Duration
		Calls   int64
		Others  Others
	}
	// WithOthers: the verdict was Without, and would be With if the samples of other
	// goroutines counted. A failure stays one.
	WithOthers struct {
		Others        Others
		With, Without *judge.Finding
	}
	// LostLabel: work has replaced the check's label, so that so many samples of Function, its
	// own, do not have it, and so many (Kept) do.
	LostLabel struct {
		Samples, Kept int64
		Function      string
	}
	// StillRunning: so many goroutines, most of which began with Root, have not ended after the
	// last of the calls. What they do later was not measured. Others says that they have no
	// label, so that it is not known whether they work for the check.
	StillRunning struct {
		Number, Calls int64
		Root          string
		Others        bool
	}
	// MoreGoroutines: so many goroutines without the check's label, which began with Root, have
	// come with the calls. They may be left by work.
	MoreGoroutines struct {
		Of          judge.Reason
		Come, Calls int64
		Root        string
	}
	// Levels: a figure between calls, measured Samples times, each after so many Calls. It was
	// First, and rises by Rise each time, 0 if that may be chance. Needed is the number of
	// measurements that are needed where there are fewer.
	Levels struct {
		First, Rise float64
		Calls       int64
		Needed      int
	}
)

// checks says what the check of a test finds out.
func checks(p *phrasing, reason judge.Reason) string {
	f := p.finding
	switch reason := reason.(type) {
	case NoTime:
		return "no time was left for it"
	case NoWindow:
		return "no window of the profiler could be used: " + reason.Why
	case NoEvents:
		return "there was none"
	case AtOnce:
		return p.reason(reason.Of) + " (the most at one time among those that work started)"
	case Left:
		return fmt.Sprintf("work left %s running, %v after it returned and its context was canceled", unit.Plural(f.Hits, "goroutine"), reason.Elapsed.Round(time.Second))
	case FewBatches:
		return unit.Plural(f.Samples, "batch") + " of calls ended in time, and 2 are needed"
	case Unsteady:
		return p.reason(reason.Of) + ", and calls are too unsteady to tell"
	case BesideOthers:
		return p.reason(reason.Of) + ", including other goroutines of the process, which go on while work pauses: if they belong to parallel tests, run this test by itself"
	case StillRunning:
		which, what := " of work", "let work wait for them"
		if reason.Others {
			which, what = " without this check's label", "if they work for it, let work wait for them; if they belong to a parallel test, run this test by itself"
		}
		return fmt.Sprintf("after %d calls, %s%s that began with %s %s not ended, and their later work is not measured: %s",
			reason.Calls, unit.Plural(reason.Number, "goroutine"), which, reason.Root, map[bool]string{true: "has", false: "have"}[reason.Number == 1], what)
	case NoUnit:
		in := ""
		if reason.Calls > 0 {
			in = fmt.Sprintf(" in %d calls", reason.Calls)
		}
		return fmt.Sprintf("no %q was counted%s: work must do some in each call, or the counter is wrong", p.Per, in)
	case OutOfReach:
		if _, unlabelled := reason.Of.(judge.NoLabel); unlabelled {
			return p.reason(reason.Of) + " inside work"
		}
		return p.reason(reason.Of) + `; nothing was judged: correct the "in", "where" or "when", or leave it out`
	case LittleCPU:
		return p.reason(reason.Of) + fmt.Sprintf(", in a process at %.2f cores, part of which is Check's own: let work compute more", reason.Cores)
	case SmallWork:
		return fmt.Sprintf("work is too small: %d of %d CPU samples are Check's own loop around it, at %v a call. "+
			"Do it many times in each call: func(ctx context.Context) { for range 1000 { ... } }", reason.Loop, reason.Samples, reason.Call)
	case Unsampled:
		why := "something else holds the profiler's signal; look for another user of SIGPROF in the process"
		if reason.Busy {
			why = "that happens on an overloaded machine; on an idle one, look for another user of SIGPROF in the process"
		}
		return fmt.Sprintf("%s came, but %[3]v of CPU should give about %.0[2]f: %[4]s", unit.Plural(reason.Samples, "sample"), reason.Due, reason.CPU.Round(10*time.Millisecond), why)
	case Asleep:
		return fmt.Sprintf("too few CPU samples: %d in %v and %d calls, and %s. Work sleeps or waits, "+
			"or it does its work on goroutines that were started before the check: start those inside work, or make work compute",
			reason.Samples, reason.Elapsed.Round(100*time.Millisecond), reason.Calls, withoutLabel(reason.Others))
	case MoreGoroutines:
		return fmt.Sprintf("%s. But %d goroutines without this check's label, which began with %s, appeared during %d calls, and work may have left them "+
			"(if they belong to a parallel test, run this test by itself): let work call their code directly (a server's handler), or start the server inside work",
			p.reason(reason.Of), reason.Come, reason.Root, reason.Calls)
	case WithOthers:
		return p.withOthers(reason)
	case LostLabel:
		return fmt.Sprintf("work replaces this check's label: %s of %s do not have it, and %d do. "+
			"Pass ctx to the code that sets labels, as in http.NewRequestWithContext(ctx, ...)", unit.Plural(reason.Samples, "CPU sample"), reason.Function, reason.Kept)
	case Levels:
		return p.levels(reason)
	}
	return ""
}

// withoutLabel says how many samples other goroutines have, and how these began.
func withoutLabel(others Others) string {
	text := unit.Plural(others.Samples, "sample") + " of goroutines without this check's label"
	if others.Samples > 0 {
		text += " that began with " + strings.Join(others.Roots, ", ")
	}
	return text
}

// withOthers is the sentence for a verdict that other goroutines would change.
func (p *phrasing) withOthers(reason WithOthers) string {
	with, without := *p, *p
	with.finding, without.finding = reason.With, reason.Without
	if reason.Without.Verdict == evidence.Fail {
		return fmt.Sprintf("%s; with %s, %s: if they work for this check, call their code directly in work (a server's handler), or start them there",
			without.text(), withoutLabel(reason.Others), with.at())
	}
	said := fmt.Sprintf("%s, with %s. Check cannot tell whether these work for it. If they do, let work call their code directly (a server's handler), "+
		"or start them inside work, for many requests a call. If they belong to a parallel test, run this test by itself", with.text(), withoutLabel(reason.Others))
	if reason.Without.Verdict == evidence.Pass {
		said += ". Without them it is: " + without.text()
	}
	return said
}

// levels is the sentence for "steady", call after call.
func (p *phrasing) levels(reason Levels) string {
	f, calls := p.finding, reason.Calls
	if reason.Needed > 0 {
		return fmt.Sprintf("%d measurements, each after %d calls; %d are needed", f.Samples, calls, reason.Needed)
	}
	said := fmt.Sprintf("%s at %s, and after %d more calls at %s", p.who(), p.amount(reason.First), (f.Samples-1)*calls, p.value())
	if f.Verdict == evidence.Fail {
		return said + fmt.Sprintf(": growth by %s with every %d calls", p.amount(reason.Rise), calls)
	}
	return said + ": no steady rise"
}

// OfCheck is Reason for the findings of a check. Programs without a check do not link its words.
func OfCheck(t Terms, f *judge.Finding) string { return (&phrasing{t, f, ofChecks}).text() }

var ofChecks = []vocabulary{numbers, nothing, windows, checks}
