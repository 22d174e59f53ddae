package budget

import (
	"fmt"
	"math"

	"github.com/google/pprof/profile"

	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/evidence"
	"github.com/profguard/profguard/internal/tally"
)

// baseline is the profile that "grows" budgets compare with, counted by the
// same queries.
type baseline struct {
	counter    tally.Counter
	profile    *profile.Profile
	symbols    *decode.Symbols
	generation int
	queries    int
	problem    string
}

func (b *baseline) forget() {
	b.counter.Forget()
	b.profile = nil
}

// set counts the baseline, unless it has been.
func (b *baseline) set(p *profile.Profile, t *decode.Table, j *Judge) error {
	if p == nil {
		b.profile, b.problem = nil, "there is no baseline to compare with: give one (Config.Baseline)"
		return nil
	}
	if p == b.profile && b.symbols == t.Symbols && b.generation == t.Symbols.Generation() {
		return nil
	}
	base, err := decode.FromProfile(p, t.Symbols)
	if err != nil {
		return fmt.Errorf("baseline: %w", err)
	}
	b.profile, b.symbols, b.generation, b.problem = p, t.Symbols, t.Symbols.Generation(), ""
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
	j.names.Learn(t.Symbols)
	b.counter.Count(base, func(q int) bool { return j.needed[q] })
	return nil
}

// grows judges growth against the baseline, in points of share or per unit of
// work.
func (w *window) grows(r *rule, sums *tally.Sums, res *Result) {
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
	var worst evidence.Finding
	var who string
	var over []int32
	found := false
	consider := func(key int32, name string, k, k0 int64) {
		f := g(k, k0)
		if !found || f.Value > worst.Value {
			worst, who, found = f, name, true
			res.Hits = int64(math.Round(float64(k) / float64(sums.Total) * sums.N))
		}
		if key >= 0 && f.Value > r.limit {
			over = append(over, key)
		}
		if Verdict(f.Verdict) == Fail {
			res.Verdict = Fail
		}
	}
	switch r.class {
	case classEach:
		for _, key := range w.rank(r.query) {
			if !w.excepted(r, sums, key) {
				consider(key, w.keyName(sums, key), sums.By[key], at(before, key))
			}
		}
	case classPattern:
		consider(-1, r.budget.Subject, sums.By[r.subject], at(before, r.subject))
	default:
		consider(-1, "the process", sums.Total, before.Total)
	}
	res.take(worst)
	res.Over = len(over)
	if len(over) > 0 {
		w.explain(r, r.query, over, w.measureOf(&rule{dim: dimShare, value: r.value}, sums), res)
	}
	by := func(x float64) string {
		if r.dim == dimPoints {
			return fmt.Sprintf("%.2f points", 100*x)
		}
		return percentage(x)
	}
	verb := map[Verdict]string{Fail: "surely more than", Pass: "surely less than", Inconclusive: "which may still be"}[res.Verdict]
	bound := map[Verdict]float64{Fail: worst.Low, Pass: worst.High, Inconclusive: worst.Low}[res.Verdict]
	res.Reason = fmt.Sprintf("%s grew by %s, %s %s (%d samples against %.0f)", who, by(worst.Value), verb, by(bound), res.Samples, before.N)
}

// at is the sum of a key that the baseline may never have heard of.
func at(s *tally.Sums, key int32) int64 {
	if int(key) >= len(s.By) {
		return 0
	}
	return s.By[key]
}

// growth compares what is charged to somebody now and in the baseline.
func (w *window) growth(r *rule, sums, before *tally.Sums) (func(k, k0 int64) evidence.Finding, string) {
	hits := func(s *tally.Sums, v int64) float64 { return float64(v) / float64(s.Total) * s.N }
	if r.dim == dimPoints {
		tests := 1.0
		if r.class == classEach {
			// About ten functions a sample, and only those near the margin can fail.
			tests = evidence.Tests(10, r.limit)
		}
		return func(k, k0 int64) evidence.Finding {
			return evidence.Growth(hits(sums, k), sums.N, hits(before, k0), before.N, r.limit, 1, tests)
		}, ""
	}
	done, problem := w.divisor(r)
	if problem != "" {
		return nil, problem
	}
	done0 := w.facts.BaselineWork[r.budget.Per]
	if !(done0 > 0) {
		return nil, fmt.Sprintf("the baseline does not say how many units of %q it did", r.budget.Per)
	}
	return func(k, k0 int64) evidence.Finding {
		f := evidence.Ratio(hits(sums, k), done, hits(before, k0), done0, 1+r.limit, 1)
		f.Value, f.Low, f.High = f.Value-1, f.Low-1, f.High-1
		return f
	}, ""
}
