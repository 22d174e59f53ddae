package budget

import (
	"context"
	"fmt"
	"math"

	"github.com/google/pprof/profile"

	"github.com/profguard/profguard/internal/charge"
	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/evidence"
)

// baseline is the profile that "grows" budgets compare with, counted by the
// same queries. It has names and numbers of its own: it is counted once, while
// those of the windows may start anew.
type baseline struct {
	counter charge.Counter
	symbols decode.Symbols
	profile *profile.Profile
	content uint64 // of the profile
	problem string
	byName  []map[string]int32 // by query: the key of a function or package
}

func (b *baseline) forget() {
	b.counter.Forget()
	b.profile = nil
}

// set counts the baseline, unless it has been.
func (b *baseline) set(ctx context.Context, p *profile.Profile, j *Judge) error {
	if p == nil {
		b.profile, b.problem = nil, "there is no baseline to compare with: give one (Config.Baseline)"
		return nil
	}
	if b.counter.Module != j.counter.Module {
		b.profile = nil // whose a package is decides what it is charged with
	}
	if p == b.profile {
		return nil
	}
	if err := decode.CheckValid(p); err != nil {
		return fmt.Errorf("baseline: %w", err)
	}
	content := contentOf(p)
	if b.profile != nil && content == b.content {
		b.profile = p
		return nil
	}
	base, err := decode.FromProfile(p, &b.symbols)
	if err != nil {
		return fmt.Errorf("baseline: %w", err)
	}
	b.profile, b.content, b.problem = p, content, ""
	b.counter.Forget()
	l := layoutOf(base, j.layout.asked)
	if !j.layout.fits(base, j.layout.asked) {
		b.problem = fmt.Sprintf("the baseline is another sort of profile: %s with period %d, and this is %s with period %d", l.kind, l.period, j.layout.kind, j.layout.period)
		return nil
	}
	// The layout is the same, so the same questions have the same numbers.
	for i := range j.rules {
		r := j.rules[i]
		r.ask(&b.counter, l)
	}
	if err := b.counter.Names.Learn(ctx, base); err != nil {
		b.profile = nil // what is counted is not all
		return fmt.Errorf("baseline: %w", err)
	}
	if waiting := b.counter.Names.Waiting(); waiting > 0 {
		b.profile = nil // go on with the next window
		b.problem = fmt.Sprintf("%d functions of the baseline have yet to be matched with the patterns of the budgets, which takes more than one window", waiting)
		return nil
	}
	b.counter.Module = j.counter.Module
	b.counter.Open(base)
	b.counter.Count(base, func(q int) bool { return j.needed[q] })
	b.byName = make([]map[string]int32, b.counter.Len())
	for q := range b.byName {
		sums := b.counter.Sums(q)
		if !j.needed[q] || sums.Query.Unit == charge.Pattern {
			continue
		}
		b.byName[q] = make(map[string]int32, len(sums.Keys))
		for _, key := range sums.Keys {
			name := b.symbols.Name(decode.ID(key))
			if sums.Query.Unit == charge.Package {
				name = b.counter.Names.PackageName(key)
			}
			b.byName[q][name] = key
		}
	}
	return nil
}

// charged is what the query charges to a function or package, 0 if the baseline
// has never heard of it.
func (b *baseline) charged(query int, name string) int64 {
	key, ok := b.byName[query][name]
	if !ok {
		return 0
	}
	return b.counter.Sums(query).By(key)
}

// before is what the rule charged to the one thing that it is about.
func (b *baseline) before(r *rule) int64 {
	sums := b.counter.Sums(r.query)
	if r.subject >= 0 {
		return sums.By(r.subject)
	}
	return sums.Total
}

// grows judges growth against the baseline, in points of share or per unit of
// work.
func (w *window) grows(r *rule, sums *charge.Sums, res *Result) {
	base := &w.judged.base
	if base.problem != "" {
		res.Reason = base.problem
		return
	}
	before := base.counter.Sums(r.query)
	if before.Total <= 0 {
		res.Reason = "the baseline has no samples"
		return
	}
	g, problem := w.growth(r, sums, before)
	if problem != "" {
		res.Reason = problem
		return
	}
	worst, found := evidence.Finding{}, false
	var who string
	var isNew bool // the worst: the baseline has nothing of it
	var over, proven []int32
	consider := func(key int32, name string, k, k0 int64) {
		f := g(k, k0)
		if !found || worse(f, worst) {
			worst, who, found = f, name, true
			isNew = r.dim != dimPoints && k > 0 && k0 <= 0
			res.Hits = int64(math.Round(float64(k) / float64(sums.Total) * sums.N))
		}
		if f.Value > r.limit {
			over = append(over, key)
		}
		if f.Verdict == evidence.Fail {
			proven = append(proven, key)
		}
	}
	switch r.class {
	case classEach:
		for key := range w.ranked(r.query) {
			trifling := found && r.trifling(sums, key)
			if trifling && (r.dim != dimPoints || worst.Verdict != evidence.Pass || sums.Share(key) <= worst.Value) {
				break // this one, and all that have less
			}
			name := w.keyName(sums, key)
			k0 := base.charged(r.query, name)
			if trifling && sums.Share(key)-before.Part(k0) <= worst.Value {
				continue // it passes, and is not the one to name
			}
			consider(key, name, sums.By(key), k0)
		}
	case classPattern:
		consider(-1, r.budget.Subject, sums.By(r.subject), base.before(r))
	default:
		consider(-1, "the process", sums.Total, base.before(r))
	}
	if !found {
		consider(-1, "no function shows: the worst", 0, 0)
	}
	res.take(worst)
	if res.Verdict == Fail {
		over = proven
	}
	cut := ""
	if res.Verdict == Pass && (sums.Cut > 0 || before.Cut > 0) {
		res.Verdict, cut = Inconclusive, w.cutOff(r)
		if sums.Cut == 0 {
			cut = "; of samples of the baseline the runtime has cut off the stack"
		}
	}
	limit := int64(r.limit * float64(sums.Total))
	if r.dim != dimPoints {
		limit = 0 // whoever has grown is named, however little it has
	}
	if m := w.measureOf(&rule{dim: dimShare, value: r.value}, sums); res.Verdict != Pass && len(over) > 0 {
		switch r.class {
		case classEach:
			res.Over = len(over)
			w.explain(r, r.query, over, limit, m, res)
			if len(res.Offenders) > 0 && res.Offenders[0].Function != who { // the deepest is named, with its own figures
				who = res.Offenders[0].Function
				for _, key := range over {
					if w.keyName(sums, key) == who {
						k, k0 := sums.By(key), base.charged(r.query, who)
						worst, isNew = g(k, k0), r.dim != dimPoints && k0 <= 0
						res.Hits = int64(math.Round(float64(k) / float64(sums.Total) * sums.N))
					}
				}
				res.take(worst)
			}
		case classPattern:
			w.explainMatches(r, m, res)
		default:
			w.explainMost(r, res)
		}
	}
	res.Reason = grew(r, worst, who, isNew, res, before.N) + cut + w.elsewhere(r)
}

// trifle is the share of a window below which nobody asks what a function costs
// per unit of work.
const trifle = 0.01

// trifling reports whether the key, and with it all that have less, need not be
// compared. A share cannot have grown by more than it is. And what a function
// costs per unit of work is not worth asking of one that has a hundredth of it:
// of the many that were hit once or twice, some have always doubled.
func (r *rule) trifling(sums *charge.Sums, key int32) bool {
	share := sums.Share(key)
	if r.dim != dimPoints {
		return share < trifle
	}
	return share <= r.limit && (r.value.census || evidence.Upper(share*sums.N, sums.N, 1, evidence.PassAlpha) < evidence.Zone*r.limit)
}

// worse orders findings: a fail before what is open before a pass, and among
// equals the one that is further beyond.
func worse(f, than evidence.Finding) bool {
	if f.Verdict != than.Verdict {
		severity := map[evidence.Verdict]int{evidence.Pass: 0, evidence.Inconclusive: 1, evidence.Fail: 2}
		return severity[f.Verdict] > severity[than.Verdict]
	}
	if f.Verdict == evidence.Fail {
		return f.Low > than.Low
	}
	if f.Verdict == evidence.Pass {
		return f.Value > than.Value
	}
	return f.High > than.High
}

// growth compares what is charged to somebody now and in the baseline.
func (w *window) growth(r *rule, sums, before *charge.Sums) (func(k, k0 int64) evidence.Finding, string) {
	hits := func(s *charge.Sums, v int64) float64 { return float64(v) / float64(s.Total) * s.N }
	if r.dim == dimPoints {
		tests := 1.0
		if r.class == classEach {
			tests = evidence.Tests(perSample, r.limit)
		}
		return func(k, k0 int64) evidence.Finding {
			if r.value.census {
				return counted(float64(k)/float64(sums.Total)-float64(k0)/float64(before.Total), r.limit)
			}
			return evidence.Growth(hits(sums, k), sums.N, hits(before, k0), before.N, r.limit, 1, tests)
		}, ""
	}
	done, problem := w.divisor(r)
	if problem != "" {
		return nil, problem
	}
	done0 := w.facts.BaselineWork[r.budget.Per]
	if !isAmount(done0) {
		return nil, fmt.Sprintf("the baseline does not say how many units of %q it did", r.budget.Per)
	}
	return func(k, k0 int64) evidence.Finding {
		f := evidence.Ratio(hits(sums, k), done, hits(before, k0), done0, 1+r.limit, 1)
		f.Value, f.Low, f.High = f.Value-1, f.Low-1, f.High-1
		// What is missing is work; say it in samples, in proportion.
		f.Needed *= sums.N / done
		f.Baseline *= before.N / done0
		return f
	}, ""
}
