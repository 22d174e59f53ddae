package loop

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/bridge"
	"github.com/profguard/profguard/internal/judge"
	"github.com/profguard/profguard/internal/process"
	"github.com/profguard/profguard/internal/profiler"
)

// A service has requests whose cost has a heavy tail, and a load that swings over the
// day. One of cost is what its budget allows when the load is highest.
type service struct {
	rng    *rand.Rand
	rate   float64 // requests a second, at the most
	pareto bool    // costs are Pareto's with an exponent of 2, and not lognormal with a deviation of 1.5
	cost   float64
	even   bool // the load does not change

	used, done float64 // since the start
	inside     float64 // requests at the moment
}

// run takes the service on by a minute.
func (s *service) run(at time.Duration) {
	rate := s.rate * (0.1 + 0.9*(0.5+0.5*math.Sin(2*math.Pi*at.Hours()/24)))
	if s.even {
		rate = s.rate
	}
	for range s.poisson(60 * rate) {
		s.done++
		if s.pareto {
			s.used += s.cost * 0.5 / math.Sqrt(1-s.rng.Float64())
		} else {
			s.used += s.cost * math.Exp(1.5*s.rng.NormFloat64()-1.5*1.5/2)
		}
	}
	s.inside = float64(s.poisson(100 * s.cost * rate / s.rate))
}

func (s *service) poisson(mean float64) int {
	if mean > 30 {
		return max(0, int(math.Round(mean+math.Sqrt(mean)*s.rng.NormFloat64())))
	}
	n := 0
	for p := s.rng.ExpFloat64(); p < mean; p += s.rng.ExpFloat64() {
		n++
	}
	return n
}

// counted is the budgets of a service, each with what one of cost is in it.
var counted = []struct {
	sentence string
	unit     float64
}{
	{"process below 20ms per request", 0.02},
	{"process below 1MB of allocs per request", 1e6},
	{"process below %s cores", 0.02},
	{"goroutines below 100", 0},
}

// watch steps through minutes of a service, and returns when the alert of a budget fired.
func (s *service) watch(t *testing.T, i int, minutes int) (fired []int) {
	t.Helper()
	sentence := strings.Replace(counted[i].sentence, "%s", budget.Amount{Value: 0.02 * s.rate}.String(), 1)
	l := newStill(t, nil, sentence)
	counters := func(at time.Duration) Reading {
		return Reading{
			Snapshot: process.Snapshot{At: l.Started.Add(at), CPU: time.Duration(s.used * 0.02 * 1e9), Allocated: int64(s.used * 1e6)},
			Work:     Answers{"request": {N: s.done}},
		}
	}
	before := counters(0)
	for m := range minutes {
		at := time.Duration(m+1) * minute
		s.run(at)
		now := counters(at)
		r := l.figures(float64(m+1), map[string]float64{"goroutines": s.inside})
		r.CPU.Outcome, r.before, r.Now = profiler.Busy, &before, &now
		l.judgeFigures(t, r)
		for _, c := range l.changes {
			if c.fires() {
				fired = append(fired, m+1)
			}
		}
		before = now
	}
	return fired
}

// Budgets on the whole process are compared with counters. At twice the limit they fire
// within three windows, however many requests there are; at 0.8 of it, with a load that
// changes and requests with a heavy tail, not once in 30 days, of which -long has all.
func TestCounted(t *testing.T) {
	days := 1
	if *long {
		days = 30
	}
	for i, c := range counted {
		for _, rate := range []float64{1, 4} {
			for _, pareto := range []bool{false, true} {
				s := service{rng: rand.New(rand.NewPCG(71, uint64(i))), rate: rate, pareto: pareto, cost: 0.8}
				if fired := s.watch(t, i, days*24*60); len(fired) > 0 {
					t.Errorf("%s at 0.8 of it, %v requests a second, Pareto %t: fired %d times in %d days, after %d minutes", c.sentence, rate, pareto, len(fired), days, fired[0])
				}
			}
		}
		s := service{rng: rand.New(rand.NewPCG(71, uint64(i))), rate: 20, cost: 2, even: true}
		if fired := s.watch(t, i, 10); len(fired) != 1 || fired[0] > 3 {
			t.Errorf("%s, at twice of it: fired after %v windows, want 3 at the most", c.sentence, fired)
		}
	}
}

// A counter that grows by next to nothing makes no infinite amount of CPU per unit, which
// no JSON has.
func TestCountedNextToNothing(t *testing.T) {
	s := newStill(t, nil, "process below 20ms per request")
	from := Reading{Snapshot: process.Snapshot{At: s.Started}, Work: Answers{"request": {N: 0}}}
	now := Reading{Snapshot: process.Snapshot{At: s.Started.Add(time.Minute), CPU: time.Minute}, Work: Answers{"request": {N: 5e-324}}}
	f, ok, _ := s.Budgets.Budgets[0].Rule.Count(judge.Finding{}, judge.Usage{}, from.until(&now), nil, time.Minute)
	if ok || math.IsInf(f.Value, 0) {
		t.Errorf("%+v, want no result", f)
	}
}

// A period with so little work that one request decides is not judged alone, but with
// what comes next.
func TestLittleWork(t *testing.T) {
	s := newStill(t, nil, "process below 20ms per request")
	b := s.Budgets.Budgets[0]
	before := Reading{Snapshot: process.Snapshot{At: s.Started}, Work: Answers{"request": {N: 0}}}
	for i, tt := range []struct {
		done, used float64 // in all
		want       budget.Verdict
		reason     string
	}{
		{20, 0.8, budget.Inconclusive, `the process at 40ms, by its CPU counted over 20 of "request" in 1m0s, too little work to tell; the limit is 20ms`},
		{40, 1.6, budget.Inconclusive, `the process at 40ms, by its CPU counted over 40 of "request" in 2m0s, too little work to tell; the limit is 20ms`},
		{200, 8, budget.Fail, `the process at 40ms, by its CPU counted over 200 of "request" in 3m0s; the limit is 20ms`},
		{400, 11, budget.Pass, `the process at 15ms, by its CPU counted over 200 of "request" in 1m0s; the limit is 20ms`},
		{400, 12, budget.Inconclusive, `no request was counted in the window`},
	} {
		now := Reading{
			Snapshot: process.Snapshot{At: s.Started.Add(time.Duration(i+1) * minute), CPU: time.Duration(tt.used * 1e9)},
			Work:     Answers{"request": {N: tt.done}},
		}
		k := s.judge.known[b]
		f, _, _ := k.count(b, judge.Finding{Reason: judge.NoWork{}}, &Measurement{before: &before, Now: &now}, minute)
		r := bridge.Result[budget.Result](b.Of, f)
		if r.Verdict != tt.want || r.Reason != tt.reason {
			t.Errorf("period %d: %v, %s; want %v, %s", i+1, r.Verdict, r.Reason, tt.want, tt.reason)
		}
		before = now
	}
}

// A job counts when it ends. One that takes longer than a period costs what was used before, too: what is above the limit
// is no pass. What a process uses without work is no reason to fail.
func TestLongJobs(t *testing.T) {
	for name, tt := range map[string]struct {
		sentence string
		minutes  [][2]float64 // of each, the CPU and the jobs that end
		want     []budget.Verdict
	}{
		"three minutes":         {"process below 100s per job", [][2]float64{{60, 0}, {60, 0}, {60, 1}, {60, 0}, {60, 0}, {60, 1}}, []budget.Verdict{0, 0, 0, 0, 0, 0}},
		"half of each minute":   {"process below 100s per job", [][2]float64{{30, 0}, {30, 0}, {30, 1}, {30, 0}, {30, 0}, {30, 1}}, []budget.Verdict{0, 0, budget.Pass, 0, 0, budget.Pass}},
		"a pause":               {"process below 20ms per job", [][2]float64{{1, 100}, {1, 0}, {1, 0}, {1, 100}, {1, 100}}, []budget.Verdict{budget.Pass, 0, 0, 0, budget.Pass}},
		"many, after a pause":   {"process below 20ms per job", [][2]float64{{0.1, 0}, {10, 1000}, {30, 1000}}, []budget.Verdict{0, budget.Pass, budget.Fail}},
		"one too dear, a pause": {"process below 20ms per job", [][2]float64{{0.8, 20}, {0.8, 20}, {0, 0}, {6, 160}}, []budget.Verdict{0, 0, 0, budget.Fail}},
		"idle":                  {"process below 100s per job when process above 0.1 cores", [][2]float64{{60, 0}, {1, 0}, {60, 1}, {1, 0}, {60, 1}}, []budget.Verdict{0, 0, 0, 0, budget.Pass}},
	} {
		s := newStill(t, nil, tt.sentence)
		b := s.Budgets.Budgets[0]
		k := s.judge.known[b]
		before := Reading{Snapshot: process.Snapshot{At: s.Started}, Work: Answers{"job": {}}}
		for i, m := range tt.minutes {
			now := before
			now.At, now.CPU, now.Work = before.At.Add(minute), before.CPU+time.Duration(m[0]*1e9), Answers{"job": {N: before.Work["job"].N + m[1]}}
			r := &Measurement{before: &before, Now: &now}
			r.Facts.Figures = map[string]float64{"cores": m[0] / 60}
			f, _, _ := k.count(b, judge.Finding{Reason: judge.NoWork{}}, r, minute)
			if got := bridge.Result[budget.Result](b.Of, f); got.Verdict != tt.want[i] {
				t.Errorf("%s, minute %d: %s, want %v", name, i+1, got, tt.want[i])
			}
			before = now
		}
	}
}

// A budget on a part of the process, on growth, or on a share, is no matter of counters.
func TestHasCounter(t *testing.T) {
	for sentence, want := range map[string]bool{
		"process below 2 cores":                           true,
		"process below 5ms per request":                   true,
		"process below 100 of allocs per request":         true,
		"process below 5ms per request where endpoint=/a": false,
		"process grows below 10% per request":             false,
		"main.work below 2 cores":                         false,
		"goroutines below 100":                            false,
		"no function above 2 cores":                       false,
	} {
		if got := newStill(t, nil, sentence).Budgets.Budgets[0].Needs.Counters; got != want {
			t.Errorf("%s: %t", sentence, got)
		}
	}
}
