package words

import (
	"fmt"
	"strings"
	"time"

	"github.com/profguard/profguard/internal/evidence"
	"github.com/profguard/profguard/internal/judge"
	"github.com/profguard/profguard/internal/unit"
)

// checks says what the check of a test finds out.
func checks(p *phrasing, reason judge.Reason) string {
	f := p.finding
	switch reason := reason.(type) {
	case judge.NoTime:
		return "no time was left for it"
	case judge.NoWindow:
		return "no window of the profiler could be used: " + reason.Why
	case judge.NoEvents:
		return "there was none"
	case judge.AtOnce:
		return p.reason(reason.Of) + " (the most at one time among those that work started)"
	case judge.Left:
		return fmt.Sprintf("work left %s running, %v after it returned and its context was canceled", unit.Plural(f.Hits, "goroutine"), reason.Elapsed.Round(time.Second))
	case judge.FewBatches:
		return unit.Plural(f.Samples, "batch") + " of calls ended in time, and 2 are needed"
	case judge.Unsteady:
		return p.reason(reason.Of) + ", and calls are too unsteady to tell"
	case judge.BesideOthers:
		return p.reason(reason.Of) + ", including other goroutines of the process, which go on while work pauses: if they belong to parallel tests, run this test by itself"
	case judge.StillRunning:
		which, what := " of work", "let work wait for them"
		if reason.Others {
			which, what = " without this check's label", "if they work for it, let work wait for them; if they belong to a parallel test, run this test by itself"
		}
		return fmt.Sprintf("after %d calls, %s%s that began with %s %s not ended, and their later work is not measured: %s",
			reason.Calls, unit.Plural(reason.Number, "goroutine"), which, reason.Root, map[bool]string{true: "has", false: "have"}[reason.Number == 1], what)
	case judge.NoUnit:
		in := ""
		if reason.Calls > 0 {
			in = fmt.Sprintf(" in %d calls", reason.Calls)
		}
		return fmt.Sprintf("no %q was counted%s: work must do some in each call, or the counter is wrong", p.Per, in)
	case judge.OutOfReach:
		if _, unlabelled := reason.Of.(judge.NoLabel); unlabelled {
			return p.reason(reason.Of) + " inside work"
		}
		return p.reason(reason.Of) + `; nothing was judged: correct the "in", "where" or "when", or leave it out`
	case judge.LittleCPU:
		return p.reason(reason.Of) + fmt.Sprintf(", in a process at %.2f cores, part of which is Check's own: let work compute more", reason.Cores)
	case judge.SmallWork:
		return fmt.Sprintf("work is too small: %d of %d CPU samples are Check's own loop around it, at %v a call. "+
			"Do it many times in each call: func(ctx context.Context) { for range 1000 { ... } }", reason.Loop, reason.Samples, reason.Call)
	case judge.Unsampled:
		why := "something else holds the profiler's signal; look for another user of SIGPROF in the process"
		if reason.Busy {
			why = "that happens on an overloaded machine; on an idle one, look for another user of SIGPROF in the process"
		}
		return fmt.Sprintf("%s came, but %[3]v of CPU should give about %.0[2]f: %[4]s", unit.Plural(reason.Samples, "sample"), reason.Due, reason.CPU.Round(10*time.Millisecond), why)
	case judge.Asleep:
		return fmt.Sprintf("too few CPU samples: %d in %v and %d calls, and %s. Work sleeps or waits, "+
			"or it does its work on goroutines that were started before the check: start those inside work, or make work compute",
			reason.Samples, reason.Elapsed.Round(100*time.Millisecond), reason.Calls, withoutLabel(reason.Others))
	case judge.MoreGoroutines:
		return fmt.Sprintf("%s. But %d goroutines without this check's label, which began with %s, appeared during %d calls, and work may have left them "+
			"(if they belong to a parallel test, run this test by itself): let work call their code directly (a server's handler), or start the server inside work",
			p.reason(reason.Of), reason.Come, reason.Root, reason.Calls)
	case judge.WithOthers:
		return p.withOthers(reason)
	case judge.LostLabel:
		return fmt.Sprintf("work replaces this check's label: %s of %s do not have it, and %d do. "+
			"Pass ctx to the code that sets labels, as in http.NewRequestWithContext(ctx, ...)", unit.Plural(reason.Samples, "CPU sample"), reason.Function, reason.Kept)
	case judge.Levels:
		return p.levels(reason)
	}
	return ""
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
func (p *phrasing) levels(reason judge.Levels) string {
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
