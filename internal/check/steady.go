package check

import (
	"fmt"
	"runtime"
	"slices"
	"time"

	"github.com/google/pprof/profile"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/evidence"
	"github.com/profguard/profguard/internal/judge"
	"github.com/profguard/profguard/internal/process"
	"github.com/profguard/profguard/internal/unit"
)

const (
	// floorTime is what the calls between two floors should take: ten floors in a
	// second or two.
	floorTime = 50 * time.Millisecond
	// floors are what the exact test of Mann and Kendall needs, and maxFloors when
	// a series that neither rises nor holds is let go.
	floors, maxFloors = 10, 30
	// leastGoroutines and leastHeap are the growth from floor to floor that
	// counts: less than a goroutine in two floors, or two spans of small objects,
	// comes from elsewhere.
	leastGoroutines = 0.5
	leastHeap       = 16 << 10
	// labelScan is the number of goroutines up to which they are told apart by
	// their labels: 33 ms for each look at 10,000.
	labelScan = 10_000
)

// settleFloors judges "goroutines steady" and "heap steady": after each of ten
// groups of calls, when what they started has ended, it looks at what remains.
func (r *run) settleFloors() {
	if len(r.plan.steady) == 0 || r.late {
		return
	}
	calls := r.pace(floorTime)
	goroutines := slices.ContainsFunc(r.plan.steady, func(i int) bool { return r.set[i].Subject == "goroutines" })
	heap := slices.ContainsFunc(r.plan.steady, func(i int) bool { return r.set[i].Subject == "heap" })
	series := map[string][]float64{}
	var before *profile.Profile // of the heap, at the first floor
	decided := false
	for n := 0; n < maxFloors && !decided && !r.late && (time.Now().Before(r.ends) || n < floors && r.goOn()); n++ {
		if !r.calls(calls) {
			break
		}
		if goroutines {
			series["goroutines"] = append(series["goroutines"], settled(func() float64 { return ownGoroutines(r.id) }))
		}
		if heap {
			if n == 0 {
				liveHeap()                         // the profile is as of the last collection
				before, _ = runtimeProfile("heap") // without it nobody is named
			}
			series["heap"] = append(series["heap"], liveHeap())
		}
		decided = n+1 >= floors && r.judgeSteady(series, calls, false)
	}
	if !decided {
		r.judgeSteady(series, calls, true)
	}
	r.nameGrown(before)
}

// nameGrown tells, of what was not steady, who has it: the goroutines that are
// there, and of the heap what has come since the first floor, as far as the
// runtime has sampled it.
func (r *run) nameGrown(before *profile.Profile) {
	for _, i := range r.plan.steady {
		res := &r.outcomes[i].Result
		if res.Verdict != budget.Fail {
			continue
		}
		kind := steadyKinds[res.Budget.Subject]
		p, err := r.grown(kind, before)
		if err != nil || p == nil || len(p.Sample) == 0 {
			continue // nobody is named
		}
		r.judged[res.Budget.Subject] = p
		name(res, p, r.facts(kind, 0, nil))
	}
}

// namedLeast is the share, in percent, from which a function is named where a budget is
// not about functions.
const namedLeast = 20

// name names the functions that have most of a profile as the offenders of a result.
func name(res *budget.Result, p *profile.Profile, facts judge.Facts) {
	most := budget.Budget{Subject: "no function", Limit: budget.Amount{Value: namedLeast, Unit: "%"}, Kind: facts.Kind}
	found := judged(budget.Set{most}, p, facts)[0]
	res.Offenders, res.Over = found.Offenders, found.Over
}

// steadyKinds are the profiles of what is to be steady.
var steadyKinds = map[string]string{"goroutines": "goroutine", "heap": "heap"}

// grown is the profile of what has grown, or nil where there is none from before.
func (r *run) grown(kind string, before *profile.Profile) (*profile.Profile, error) {
	if kind == "goroutine" {
		return goroutineProfile(r.id)
	}
	if before == nil {
		return nil, nil
	}
	after, err := runtimeProfile(kind)
	if err != nil {
		return nil, err
	}
	return gained(before, after)
}

// judgeSteady judges the floors so far and reports whether that decides.
func (r *run) judgeSteady(series map[string][]float64, calls int64, last bool) (decided bool) {
	decided = true
	for _, i := range r.plan.steady {
		b := r.set[i]
		xs := series[b.Subject]
		res := budget.Result{Budget: b, Samples: int64(len(xs))}
		if len(xs) < floors {
			res.Reason = fmt.Sprintf("%d floors of %d calls, %d are needed: raise Checker.Max, or do less in a call", len(xs), calls, floors)
			r.setResult(i, res)
			decided = false
			continue
		}
		least, dimension := float64(leastHeap), unit.Bytes
		if b.Subject == "goroutines" {
			least, dimension = leastGoroutines, unit.Count
		}
		text := func(x float64) string { return unit.Format(x, dimension) }
		now := xs[len(xs)-1]
		res.Share, res.Low, res.High = now, now, now
		limit := unit.Of(b.Limit.Unit).Base(b.Limit.Value)
		f := evidence.Trend(xs, least)
		switch {
		case limit > 0 && slices.Min(xs) > limit:
			res.Verdict = budget.Fail
			res.Reason = fmt.Sprintf("%s at %s and never below %s, the limit is %s", b.Subject, text(now), text(slices.Min(xs)), b.Limit)
		case f.Verdict == evidence.Fail:
			res.Verdict = budget.Fail
			who := "goroutines grow"
			if b.Subject == "heap" {
				who = "the heap grows"
			}
			res.Reason = fmt.Sprintf("%s by %s with every %d calls: %s after the first %d, %s after %d",
				who, text(f.Value), calls, text(xs[0]), calls, text(now), int64(len(xs))*calls)
		case f.Verdict == evidence.Pass:
			res.Verdict = budget.Pass
			res.Reason = fmt.Sprintf("%s at %s, no growth over %d floors of %d calls", b.Subject, text(now), len(xs), calls)
		case last:
			res.Verdict = budget.Pass
			res.Reason = fmt.Sprintf("%s between %s and %s over %d floors of %d calls, without a steady rise",
				b.Subject, text(slices.Min(xs)), text(slices.Max(xs)), len(xs), calls)
		default:
			decided = false
		}
		r.setResult(i, res)
	}
	return decided
}

// settled reads a number that falls to its floor, until it falls no more.
func settled(read func() float64) float64 {
	low, quiet, pause := read(), 0, time.Millisecond
	// Three looks without news, 1 ms apart and more; 20 at most, 100 ms.
	for range 20 {
		time.Sleep(pause)
		pause = min(2*pause, 5*time.Millisecond)
		if x := read(); x < low {
			low, quiet = x, 0
		} else if quiet++; quiet == 3 {
			break
		}
	}
	return low
}

// liveHeap is what is left after two collections: the first also runs
// finalizers' and pools' victims out.
func liveHeap() float64 {
	process.Force(2, func() { runtime.GC(); runtime.GC() })
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc)
}

// ownGoroutines counts the goroutines of the check with that id. Where there are
// too many to look at, it counts those of the process.
func ownGoroutines(id string) float64 {
	if n := runtime.NumGoroutine(); n > labelScan {
		return float64(n)
	}
	p, err := goroutineProfile(id)
	if err != nil {
		return float64(runtime.NumGoroutine())
	}
	return goroutinesIn(p)
}
