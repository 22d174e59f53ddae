package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/bridge"
	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/evidence"
	"github.com/profguard/profguard/internal/judge"
	"github.com/profguard/profguard/internal/kinds"
	"github.com/profguard/profguard/internal/pattern"
	"github.com/profguard/profguard/internal/release"
	"github.com/profguard/profguard/internal/service"
	"github.com/profguard/profguard/internal/unit"
	"github.com/profguard/profguard/internal/words"
)

const (
	// leastSamples is two seconds of CPU. With fewer, limits are too high to find a fault, since
	// functions may be above lower ones by chance.
	leastSamples = 200
	// enoughSamples is ten seconds of CPU, which most limits need to be low.
	enoughSamples = 1000
	// headroom is the part of a limit that this profile may use.
	headroom = 0.75
	// small is the part of a limit up to which a function is not accepted, but a higher limit tried.
	small = 0.25
	// mostExcepts is how many functions are accepted before a higher limit is tried.
	mostExcepts = 4
)

// suggest writes budgets that a profile keeps, but for its faults.
func suggest(ctx context.Context, args []string, std streams) (int, error) {
	s := source{streams: std}
	w := writer{input: &input{}, code: worktreeAt(".")}
	f := newFlags("suggest")
	f.StringVar(&s.client.Metrics, "metrics", "", "the `address` of the service's Prometheus metrics, for units of work (default: its /metrics)")
	s.profileFlags(f, &w.Facts)
	args, err := parseFlags(f, args, std.out)
	if err != nil {
		return exitMisuse, err
	}
	if err := w.profile(ctx, &s, args); err != nil {
		return exitMisuse, err
	}
	about := w.describe().String()
	if w.Facts.Kind == kinds.CPU && w.Table.Count() < leastSamples {
		return exitUndecided, fmt.Errorf("%s: too few for suggestions, which take %d: profile it while it works, or give several profiles, which are added up", about, leastSamples)
	}
	fmt.Fprintf(&w.out, "# %s.\n", about)
	w.suggest()
	if w.failed != nil {
		return exitMisuse, w.failed
	}
	for _, text := range w.look { // for users who write the output into a file
		fmt.Fprintf(std.err, "profguard suggest: LOOK: %s\n", text)
	}
	_, err = w.out.WriteTo(std.out)
	return exitKept, err
}

// read reads the profile, which of a service lasts as long as it has to.
func (w *writer) read(ctx context.Context, s *source, args []string) (err error) {
	facts := w.Facts // of the flags
	if w.input, err = s.read(ctx, args); err != nil {
		return err
	}
	w.Facts, w.Facts.Kind = facts, cmp.Or(facts.Kind, w.Kind, kindOf(w.Table))
	if !slices.Contains(kinds.Names(), w.Facts.Kind) {
		return fmt.Errorf("expected a profile of one of %s: -kind says which it is", strings.Join(kinds.Names(), ", "))
	}
	if w.Facts.Kind == kinds.CPU && len(args) == 1 && strings.Contains(args[0], "://") {
		return w.lengthen(ctx, s, args)
	}
	return nil
}

// longest is how many seconds a service is profiled at most.
const longest = 300

// soon is how many seconds enough samples may take. If they take longer, the least number does.
const soon = 60

// lengthen profiles a service until there are enough samples, or until it is clear that there
// will not be enough.
func (w *writer) lengthen(ctx context.Context, s *source, args []string) error {
	for {
		count, took := float64(w.Table.Count()), float64(w.Table.DurationNanos)*1e-9
		want := float64(enoughSamples)
		if took*want/max(count, 1) > soon {
			want = leastSamples
		}
		missing := math.Ceil(1.2 * took * (want - count) / max(count, 1))
		if missing <= 0 || took <= 0 {
			return nil
		}
		if took+missing > longest {
			fmt.Fprintf(s.err, "%.0f of %.0f samples: the rest would take %v at this rate, and the limit is %v\n", count, want, time.Duration(missing)*time.Second, longest*time.Second)
			return nil
		}
		s.seconds = int(max(missing, 5))
		fmt.Fprintf(s.err, "%.0f of %.0f samples: ", count, want)
		more, err := s.read(ctx, args)
		if err != nil {
			return err
		}
		var sum decode.Merger
		for _, t := range []*decode.Table{w.Table, more.Table} {
			if err := sum.Add(t); err != nil {
				return err
			}
		}
		w.Table = sum.Table()
	}
}

// A writer writes suggestions for an input.
type writer struct {
	*input
	code   *worktree
	work   []service.Counted // that was done in the profile, the likeliest unit first
	when   string            // the condition of budgets on shares
	look   []string          // what is wrong in this profile,
	faults []string          // and the patterns of functions among it
	out    bytes.Buffer
	failed error // the first error
}

func (w *writer) suggest() {
	if w.Facts.Kind != kinds.CPU {
		w.functions()
		return
	}
	w.largest()
	fmt.Fprint(&w.out, "# Shares of an idle process say nothing, hence \"when\".\n")
	if gate := math.Min(0.1, math.Floor(50*release.Cores(w.Table))/100); gate > 0 { // half of it
		w.when = fmt.Sprintf(" when process above %v cores", gate)
	}
	// These come first, because they say what the faults are.
	w.common("compile", "regexp.compile", 5, "Expressions are compiled once, not in each request")
	w.common("print", `/^fmt\.(Fp|P|Sp)rint(f|ln)?$/`, 10, "Prints for debugging, and formatting in loops")
	w.common("garbage", "gc", 25, "Garbage that need not be made. A guard counts less of it than a profile shows")
	// It is one budget, because a guard warns of a subject that is not linked into the program,
	// and nearly all programs have something of this.
	w.common("dumps-and-pollers", `/\bjson\.(Marshal)?Indent$|httputil\.Dump|go-spew|kr\/pretty|k0kubun\/pp|\/litter\.`+
		`|\bos\.(\(\*File\)\.)?Read(Dir|dir|dirnames)$|\b(filepath|fs)\.(Walk|WalkDir|Glob)$|\bnet\.Interface(s|Addrs)$/`,
		5, "Indented JSON, dumps for debugging, and pollers that look for files and interfaces")
	w.functions()
	w.labels()
	w.perWork()
}

// more is the writer of a profile that has each sample n times, as a longer one would.
func (w *writer) more(n int64) *writer {
	in, t := *w.input, *w.Table
	t.Values = slices.Clone(t.Values)
	for i := range t.Values {
		t.Values[i] *= n
	}
	t.DurationNanos *= n
	in.Table = &t
	return &writer{input: &in, code: w.code, when: w.when, faults: w.faults}
}

// tighter says above a budget with how many samples its limit could be a lower one. lower is that limit by
// the samples of a writer, 0 if they don't carry one.
func (w *writer) tighter(lower func(*writer) float64) {
	if w.Facts.Kind != kinds.CPU {
		return
	}
	for n := int64(2); n*w.Table.Count() <= 20*enoughSamples; n *= 2 {
		if limit := lower(w.more(n)); limit > 0 {
			fmt.Fprintf(&w.out, "# More samples allow a lower limit: about %.0f like these allow %v%%.\n", 100*math.Ceil(float64(n*w.Table.Count())/100), limit)
			return
		}
	}
}

// largest lists the largest functions.
func (w *writer) largest() {
	r := w.judge("no function above 2% cumulative")
	if len(r.Offenders) == 0 {
		return
	}
	fmt.Fprint(&w.out, "#\n# The largest functions, foreign code by the functions through which it is entered:\n")
	slices.SortStableFunc(r.Offenders, func(a, b budget.Offender) int { return cmp.Compare(b.Share, a.Share) })
	for i := range r.Offenders {
		fmt.Fprintf(&w.out, "#   %s\n", where(&r.Offenders[i], r.Unit))
	}
	fmt.Fprint(&w.out, "#\n")
}

// judge compares the profile with one sentence.
func (w *writer) judge(sentence string) budget.Result {
	set, err := budget.Parse(sentence)
	var findings []judge.Finding
	if err == nil {
		findings, _, err = judgeAll(set, []*input{w.input})
	}
	if err != nil {
		w.failed = cmp.Or(w.failed, err)
		return budget.Result{}
	}
	r := bridge.Result[budget.Result](set[0], findings[0])
	for i := range r.Offenders {
		w.code.locate(&r.Offenders[i])
	}
	return r
}

// lasts reports whether the next profile will pass too, if it is like this one: the value leaves
// headroom, and a bound that is twice as far from the share is within the limit. With few samples
// that takes a higher limit.
func lasts(r budget.Result) bool {
	return r.Verdict == budget.Pass && r.Value <= headroom*r.Limit && 2*r.High-r.Value < evidence.Zone*r.Limit
}

// common suggests a limit on a frequent fault: twice the measured share, and at least so many
// percent. If the profile has a larger share than sound programs have, that is a fault. Budgets
// have names, because sentences are too long for metrics, and change with each function accepted.
func (w *writer) common(name, subject string, least float64, why string) {
	sentence := func(limit float64) string { return fmt.Sprintf("%s below %v%%%s", subject, limit, w.when) }
	limit := least
	r := w.judge(sentence(limit))
	had := measured(r.Value, r.Unit)
	fmt.Fprintf(&w.out, "\n# %s. This profile had %s.\n", why, had)
	if 100*r.Value > max(least, 10) {
		fmt.Fprint(&w.out, "# LOOK: fix that, or raise the limit.\n")
		w.look = append(w.look, fmt.Sprintf("%s had %s, its limit is %v%%. %s. Fix that, or raise the limit", subject, had, least, why))
		if subject != "gc" { // gc is no function
			w.faults = append(w.faults, subject)
		}
	} else {
		limit = w.carried(max(least, 5*math.Ceil(40*r.Value)), sentence)
	}
	fmt.Fprintf(&w.out, "%s: %s\n", name, sentence(limit))
}

// highest is the limit up to which a higher one is tried, in percent.
const highest = 50

// carried is the lowest limit from least on that the samples decide, or least if none is. What has no
// sample is decided as soon as it passes.
func (w *writer) carried(least float64, sentence func(limit float64) string) float64 {
	decides := func(w *writer, limit float64) bool {
		r := w.judge(sentence(limit))
		return lasts(r) || r.Verdict == budget.Pass && r.Value == 0
	}
	for limit := least; limit <= highest; limit += 5 {
		if !decides(w, limit) {
			continue
		}
		if limit > least {
			w.tighter(func(more *writer) float64 {
				if decides(more, least) {
					return least
				}
				return 0
			})
		}
		return limit
	}
	w.undecided(w.judge(sentence(least)))
	return least
}

// functions suggests a limit for each function by itself: the lowest that lasts with few
// exceptions, or the highest.
func (w *writer) functions() {
	limits, suffix := []float64{20, 25, 30, 40, 50}, "% cumulative"
	if w.Facts.Kind != kinds.CPU {
		suffix += " of " + w.Facts.Kind
	}
	if kinds.Of(w.Facts.Kind).Sampling == kinds.Contention {
		limits, suffix = []float64{0.1, 0.2, 0.5, 1, 2, 5}, " cores of "+w.Facts.Kind
	}
	best := w.best(limits, suffix)
	fmt.Fprintln(&w.out)
	if len(best.accepted) > 0 {
		fmt.Fprint(&w.out, "# LOOK: these are the largest, each without those above it, and accepted by \"except\". Take out\n# those that are not the program's purpose, or write \"until\" and a day after them:\n")
		for _, text := range best.accepted {
			fmt.Fprintf(&w.out, "#   %s\n", text)
		}
	}
	r := w.judge(best.sentence)
	if r.Verdict == budget.Fail && len(r.Offenders) > 0 {
		fmt.Fprintf(&w.out, "# BROKEN by this profile: %s. Fix that, or accept it with \"except\".\n", where(&r.Offenders[0], r.Unit))
	}
	w.undecided(r)
	if best.limit > limits[0] {
		w.tighter(func(more *writer) float64 {
			if lower := more.best(limits, suffix).limit; lower < best.limit {
				return lower
			}
			return 0
		})
	}
	fmt.Fprintf(&w.out, "%s-functions: %s\n", w.Facts.Kind, best.sentence)
}

// best is the attempt at the lowest limit that lasts with few exceptions, or at the highest.
func (w *writer) best(limits []float64, suffix string) (best attempt) {
	for _, limit := range limits {
		if best = w.attempt(limit, suffix); len(best.accepted) <= mostExcepts && lasts(best.result) {
			break
		}
	}
	return best
}

// undecided says above a budget if the profile does not decide it.
func (w *writer) undecided(r budget.Result) {
	if r.Verdict == budget.Inconclusive {
		fmt.Fprintf(&w.out, "# Not decided yet: %s.\n", pattern.Visible(r.Reason))
	}
}

// An attempt is a limit on each function, with the functions that must be accepted for it.
type attempt struct {
	limit    float64
	sentence string
	accepted []string      // "main.search with 46.0%"
	result   budget.Result // without the faults of the profile
}

// attempt accepts the largest functions, until the next profile will keep the limit, too. Faults are
// left out meanwhile, and not accepted.
func (w *writer) attempt(limit float64, suffix string) (a attempt) {
	sentence := func(limit float64, names ...string) string {
		except := ""
		if len(names) > 0 {
			except = " except " + strings.Join(names, ", ")
		}
		return fmt.Sprintf("no function above %v%s%s", math.Round(limit*1e6)/1e6, suffix, except)
	}
	faults, names := slices.Clone(w.faults), []string(nil)
	for {
		a.result = w.judge(sentence(limit, slices.Concat(faults, names)...) + w.when)
		r := w.judge(sentence(limit*headroom, slices.Concat(faults, names)...))
		if len(r.Offenders) == 0 { // there are too few samples for this limit
			r = w.judge(sentence(limit*small, slices.Concat(faults, names)...))
		}
		if lasts(a.result) || len(r.Offenders) == 0 || len(faults)+len(names) == 10 {
			break
		}
		o := &r.Offenders[0]
		name := pattern.Quote(o.Function)
		fault := slices.ContainsFunc(w.faults, func(fault string) bool { return has(*o, fault) })
		if !fault {
			name = words.Exception(name, o.Share, (*judge.Frame)(&o.Owner), a.result.Limit/2)
		}
		if slices.Contains(faults, name) || slices.Contains(names, name) {
			break // it does not accept itself
		}
		if fault {
			faults = append(faults, name)
			continue
		}
		names = append(names, name)
		a.accepted = append(a.accepted, where(o, r.Unit))
	}
	a.limit, a.sentence = limit, sentence(limit, names...)+w.when
	return a
}

// has reports whether most of an offender is a fault: it is called by it, or calls it.
func has(o budget.Offender, fault string) bool {
	p, err := pattern.Parse(fault)
	return err == nil && slices.ContainsFunc(slices.Concat([]budget.Frame{o.Frame}, o.Callers, o.Callees), func(f budget.Frame) bool {
		return f.Share >= o.Share/2 && p.Match(f.Function)
	})
}

// where is an offender with its share, and the line in the own module that calls it.
func where(o *budget.Offender, of string) string {
	text := fmt.Sprintf("%s with %s", pattern.Quote(o.Function), measured(o.Share, of)) // as in "except", without hashes of type arguments
	at := judge.Frame(o.Frame)
	if o.Blame.Function != "" && o.Blame.Function != o.Function {
		text += ", called from " + o.Blame.Function
		at = judge.Frame(o.Blame)
	}
	if place := placed(&at); place != "" {
		text += " (" + place + ")"
	}
	if owner := judge.Frame(o.Owner); owner.Function != "" {
		text += ", nearly all of it in " + owner.Function
		if place := placed(&owner); place != "" {
			text += " (" + place + ")"
		}
	}
	return pattern.Visible(text)
}

// placed is the line of a frame, as check shows it.
func placed(f *judge.Frame) string {
	if f.InModule && f.File != "" {
		return fmt.Sprintf("%s:%d", f.File, f.Line)
	}
	return f.Place()
}

// measured formats a share, or the cores of contention, for people.
func measured(share float64, name string) string {
	if name == unit.Share.String() {
		return fmt.Sprintf("%.1f%%", 100*share)
	}
	return unit.Format(share, unit.Cores)
}
