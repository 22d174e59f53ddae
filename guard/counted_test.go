package guard

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/alert"
	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/judge"
	"github.com/profguard/profguard/internal/process"
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
	g := &Guard{started: time.Now(), cfg: Config{Every: minute, Window: 10 * second}}
	counters := func(at time.Duration) totals {
		return totals{
			Snapshot: process.Snapshot{At: g.started.Add(at), CPU: time.Duration(s.used * 0.02 * 1e9), Allocated: int64(s.used * 1e6)},
			work:     readings{"request": {n: s.done}},
		}
	}
	e := entryOf(sentence)
	watch := judge.NewWatch([]judge.Rule{e.rule}, minute)
	g.budgets = &budgets{entries: []*entry{e}}
	before := counters(0)
	for m := range minutes {
		at := time.Duration(m+1) * minute
		s.run(at)
		now := counters(at)
		findings, err := watch.Table(t.Context(), &decode.Table{Symbols: new(decode.Symbols)}, at, judge.Facts{Figures: map[string]float64{"goroutines": s.inside}})
		if err != nil {
			t.Fatal(err)
		}
		j := &judgement{entry: e, finding: &findings[0], start: before.At, end: now.At}
		if e.needs.Counters {
			f, _, _ := e.count(*j.finding, nil, &before, &now, minute)
			j.finding = &f
		}
		j.result = e.Budget.Result(*j.finding)
		g.add(j)
		if j.event == alert.Fired {
			fired = append(fired, m+1)
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

// A budget that is judged by counters is not judged by the samples of its windows as well, which
// fall on bursts. Here each window has a burst of twice the limit, and each minute half of it.
// Then there is so little work that no minute is judged alone.
func TestCountedBursts(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		const busy = 12 * minute
		w.take = always(fullCore)
		w.random = func() float64 { return 0.5 }
		w.cores = func(since time.Duration) float64 {
			if (since+54*second)%minute < 10*second && since < busy {
				return 1
			}
			return 0.01
		}
		requests := func() float64 { return 100*min(w.since(), busy).Minutes() + 2*max(0, w.since()-busy).Minutes() }
		g := w.start(t, Config{Budgets: budget.Must("process below 200ms per request", "process below 0.5 cores"), Every: minute, Window: 10 * second,
			Work: map[string]func() float64{"request": requests}})
		for range 20 {
			pass(minute)
			for _, b := range g.Status().Budgets {
				if b.State >= StatePending || b.Proven == budget.Fail || b.Evidence > 0 {
					t.Errorf("after %v: %s is %s, proven %v, evidence %.2f: %s", w.since(), b.Name, b.State, b.Proven, b.Evidence, b.Result.Reason)
				}
				if b.Result.Verdict == budget.Pass && (len(b.Result.Offenders) > 0 || b.Result.Over > 0) {
					t.Errorf("after %v: %s passes with offenders: %v", w.since(), b.Name, b.Result.Offenders)
				}
			}
		}
		g.Stop()
		if told := w.told(); len(told) > 0 {
			t.Errorf("there were events: %v", told)
		}
	})
}

// The offenders of a budget that counters judge are those of the period's window, also if the
// window itself is within the limit.
func TestCountedOffenders(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.take = always(fullCore)
		w.random = func() float64 { return 0.5 }
		w.cores = func(since time.Duration) float64 {
			if (since+57*second)%minute < 10*second {
				return 0.4
			}
			return 0.8
		}
		g := w.start(t, Config{Budgets: budget.Must("process below 0.5 cores"), Every: minute, Window: 10 * second})
		pass(6 * minute)
		g.Stop()
		if told := w.events; len(told) != 1 || len(told[0].Result.Offenders) == 0 || !strings.Contains(told[0].Message, "; offender main.") {
			t.Errorf("the events are %+v, want one with an offender", told)
		}
	})
}

// A counter that grows by next to nothing makes no infinite amount of CPU per unit, which
// no JSON has.
func TestCountedNextToNothing(t *testing.T) {
	e := entryOf("process below 20ms per request")
	start := time.Now()
	before := totals{Snapshot: process.Snapshot{At: start}, work: readings{"request": {n: 0}}}
	now := totals{Snapshot: process.Snapshot{At: start.Add(time.Minute), CPU: time.Minute}, work: readings{"request": {n: 5e-324}}}
	if f, _, ok := e.count(judge.Finding{}, nil, &before, &now, time.Minute); ok || math.IsInf(f.Value, 0) {
		t.Errorf("%+v, want no result", f)
	}
}

// A period with so little work that one request decides is not judged alone, but with
// what comes next.
func TestLittleWork(t *testing.T) {
	e := entryOf("process below 20ms per request")
	start := time.Now()
	before := totals{Snapshot: process.Snapshot{At: start}, work: readings{"request": {n: 0}}}
	for i, tt := range []struct {
		done, used float64 // in all
		want       budget.Verdict
		reason     string
	}{
		{20, 0.8, budget.Inconclusive, `the process at 40ms, by its CPU counted over 20 of "request" in 1m0s, too little work to tell so close to the limit; the limit is 20ms`},
		{40, 1.6, budget.Inconclusive, `the process at 40ms, by its CPU counted over 40 of "request" in 2m0s, too little work to tell so close to the limit; the limit is 20ms`},
		{200, 8, budget.Fail, `the process at 40ms, by its CPU counted over 200 of "request" in 3m0s; the limit is 20ms`},
		{400, 11, budget.Pass, `the process at 15ms, by its CPU counted over 200 of "request" in 1m0s; the limit is 20ms`},
		{400, 12, budget.Inconclusive, `no request was done in the window`},
	} {
		now := totals{
			Snapshot: process.Snapshot{At: start.Add(time.Duration(i+1) * minute), CPU: time.Duration(tt.used * 1e9)},
			work:     readings{"request": {n: tt.done}},
		}
		f, _, _ := e.count(judge.Finding{Reason: judge.NoWork{}}, nil, &before, &now, minute)
		r := e.Budget.Result(f)
		if r.Verdict != tt.want || r.Reason != tt.reason {
			t.Errorf("period %d: %v, %s; want %v, %s", i+1, r.Verdict, r.Reason, tt.want, tt.reason)
		}
		before = now
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
		if got := entryOf(sentence).needs.Counters; got != want {
			t.Errorf("%s: %t", sentence, got)
		}
	}
}

// A counter that cannot be read when a window begins, and can be at its end, is read often
// enough for the period: the alert takes its result.
func TestCountedBesideAFailedReading(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		readings := 0
		g := w.start(t, Config{Budgets: budget.Must("process below 5ms per row"), Every: minute, Window: 10 * second,
			Work: map[string]func() float64{"row": func() float64 {
				if readings++; readings%2 == 1 && readings > 2 {
					panic("busy")
				}
				return 100 * w.since().Minutes()
			}}})
		pass(6 * minute)
		if b := g.Status().Budgets[0]; b.State != StateFiring {
			t.Errorf("%s after %d readings: %s", b.State, readings, b.Result.Reason)
		}
		g.Stop()
	})
}

// What a counter of work waits for is not the guard's cost, also while the host computes on other
// cores. A process that uses all cores may have lacked one meanwhile.
func TestReadingCost(t *testing.T) {
	const ms = time.Millisecond
	for _, tt := range []struct {
		elapsed, used time.Duration
		elsewhere     float64
		want          time.Duration
	}{
		{10 * ms, 4 * ms, 0, 4 * ms},
		{10 * ms, 25 * ms, 2, 5 * ms},
		{900 * ms, 1800 * ms, 2, 0},
		{900 * ms, 1800 * ms, 1, 900 * ms}, // of two cores, one may have been needed
		{900 * ms, 1700 * ms, 2, 0},
		{10 * ms, 40 * ms, 2, 10 * ms}, // one goroutine reads
	} {
		if got := readingCost(tt.elapsed, tt.used, tt.elsewhere); got != tt.want {
			t.Errorf("%v of CPU in %v beside %v cores: %v, want %v", tt.used, tt.elapsed, tt.elsewhere, got, tt.want)
		}
	}
}
