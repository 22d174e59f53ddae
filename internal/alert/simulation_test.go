package alert

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/profguard/profguard/internal/evidence"
	"github.com/profguard/profguard/internal/pace"
)

// The tables of docs/design.md, which has the commands, need a month or more.
var months = flag.Float64("months", 0.25, "months of one budget that each load is simulated for")

// tables reports whether the tables are asked for, and not only what tests promise.
func tables() bool { return *months >= 1 }

// The defaults of a guard.
const (
	every  = time.Minute
	window = 10 * time.Second
	limit  = 0.2
)

// A load is a process with n samples a window. Its hits come in bursts of so long on
// the average, 0 for none, and its load swings over the day if daily is set.
type load struct {
	rng   *rand.Rand
	n     int
	burst time.Duration
	daily bool

	on bool
	at time.Duration // where the bursts have been followed to
}

func (l *load) String() string {
	switch {
	case l.daily:
		return "daily swing"
	case l.burst > 0:
		return fmt.Sprintf("bursts of %v", l.burst)
	}
	return "steady"
}

// again is the same load, from the start.
func (l *load) again() *load { return &load{rng: l.rng, n: l.n, burst: l.burst, daily: l.daily} }

// take is the window that ends at a time, at a share of p.
func (l *load) take(p float64, end time.Duration) (k, n float64) {
	if l.daily {
		// The share swings with the load, and is p at its peak.
		busy := 0.5 + 0.5*math.Sin(2*math.Pi*end.Hours()/24)
		size := l.n/5 + int(busy*float64(l.n)*4/5)
		return l.binomial(size, p*(0.7+0.3*busy)), float64(size)
	}
	if l.burst > 0 {
		return l.binomial(l.n, l.bursts(p, end)), float64(l.n)
	}
	return l.binomial(l.n, p), float64(l.n)
}

// bursts is the part of the window in which a process that is on or off was on.
func (l *load) bursts(p float64, end time.Duration) float64 {
	on := l.burst.Seconds()
	off := on * (1 - p) / p
	// What was does not matter for long.
	gap := (end - window - l.at).Seconds()
	stay := math.Exp(-gap * (1/on + 1/off))
	if l.at == 0 {
		stay = 0
	}
	chance := p * (1 - stay)
	if l.on {
		chance += stay
	}
	l.on, l.at = l.rng.Float64() < chance, end
	was, left := 0.0, window.Seconds()
	for left > 0 {
		mean := off
		if l.on {
			mean = on
		}
		d := min(l.rng.ExpFloat64()*mean, left)
		if l.on {
			was += d
		}
		if left -= d; left > 0 {
			l.on = !l.on
		}
	}
	return was / window.Seconds()
}

func (l *load) binomial(n int, p float64) float64 {
	if v := float64(n) * p * (1 - p); v > 30 {
		return math.Round(min(max(float64(n)*p+math.Sqrt(v)*l.rng.NormFloat64(), 0), float64(n)))
	}
	k := 0
	for range n {
		if l.rng.Float64() < p {
			k++
		}
	}
	return float64(k)
}

// A watched process is a load, and the alert of a budget on it.
type watched struct {
	*load
	stream *evidence.Stream
	alert  Alert
	rule   Rule
	pace   pace.Pace
	end    time.Duration // of the last window
	next   time.Duration // the start of the next
	// Since the process began:
	windows, near int
}

func watch(l *load) *watched {
	// A month of minutes, 20 budgets such as "no function".
	lnA := evidence.LnA(43200, 20, 50, 0.1)
	return &watched{load: l, stream: evidence.NewStream(evidence.Limit{Most: limit}, lnA), rule: lasting(), pace: pace.Pace{Window: window}}
}

// lasting is the rule of a budget on a share.
func lasting() Rule {
	r := Lasting(every, window)
	r.Share = true
	return r
}

// step takes the next window, at a share of p.
func (w *watched) step(p float64) Event {
	start := w.next
	near := w.windows > 0 && start+window-w.end < every*3/4
	w.end = start + window
	k, n := w.take(p, w.end)
	verdict := evidence.Fixed(k, n, limit).Verdict
	w.stream.Add(k, 0, n, near)
	var event Event
	w.alert, event = w.alert.Next(Finding{
		Start: start, End: w.end, Window: verdict, Proof: Proof{Proven: w.stream.Verdict(), Evidence: w.stream.Strength()}, Measured: true,
		Value: k / max(n, 1), Limit: limit, Samples: int64(n),
	}, w.rule)
	if event.Ends() {
		w.stream.Forget()
	}
	w.windows++
	w.schedule()
	return event
}

// schedule sets the start of the next window after one that has ended.
func (w *watched) schedule() {
	slack := every - window
	w.next = w.end - window + every - slack/4 + time.Duration(w.rng.Float64()*float64(slack/2))
	if w.alert.Hurries() && w.pace.Extra(time.Time{}.Add(w.end)) {
		w.near++
		w.next = w.end + window/2
	}
}

func loads(rng *rand.Rand, n int) []*load {
	list := []*load{{}, {burst: 100 * time.Millisecond}, {burst: time.Second}, {burst: 10 * time.Second}, {daily: true}}
	for _, l := range list {
		l.rng, l.n = rng, n
	}
	return list
}

const month = 30 * 24 * time.Hour

// TestQuiet: at 0.8 of the limit and at the limit nothing fires.
func TestQuiet(t *testing.T) {
	if testing.Short() {
		t.Skip("computes for seconds, on one goroutine")
	}
	rng := rand.New(rand.NewPCG(11, 1))
	for _, n := range []int{20, 50, 200, 1000} {
		for _, x := range []float64{0.8, 1} {
			for _, l := range loads(rng, n) {
				fired, near, all, months := 0, 0, 0, *months
				if x == 1 {
					months = max(months/10, 0.25)
				}
				for left := months; left > 0; left-- {
					w := watch(l.again())
					for w.end < time.Duration(min(left, 1)*float64(month)) {
						if w.step(x*limit) == Fired {
							fired++
						}
					}
					near, all = near+w.near, all+w.windows
				}
				t.Logf("%4d samples, %-16s %.1f times the limit: %d alarms in %g months, %.1f%% of the windows extra", n, l, x, fired, months, 100*float64(near)/float64(all))
				if fired > int(months/10) || x < 1 && fired > 0 {
					t.Errorf("%d samples, %v, %v times the limit: %d alarms in %g months", n, l, x, fired, months)
				}
			}
		}
	}
}

// TestDelay: how long an excess takes to fire, after five hours at half the limit.
func TestDelay(t *testing.T) {
	if testing.Short() {
		t.Skip("computes for seconds, on one goroutine")
	}
	rng := rand.New(rand.NewPCG(11, 2))
	runs, times := 5, []float64{1.5, 2, 3}
	if tables() {
		runs, times = 15, []float64{1.25, 1.5, 2, 3}
	}
	minute := func(d time.Duration) float64 { return d.Minutes() }
	// Windows that by themselves prove an excess fire within three periods of the first,
	// which comes within a period.
	blatant := map[int]float64{50: 3, 200: 2, 1000: 1.5} // from so many times the limit on
	for _, n := range []int{20, 50, 200, 1000} {
		for _, l := range loads(rng, n) {
			line := ""
			for _, x := range times {
				var windows, minutes []float64
				for range runs {
					w := watch(l.again())
					for w.windows < 300 {
						w.step(limit / 2)
					}
					began := w.end
					for w.step(x*limit) != Fired && w.end-began < 7*24*time.Hour {
					}
					windows = append(windows, float64(w.windows-300))
					minutes = append(minutes, minute(w.end-began))
				}
				slices.Sort(windows)
				slices.Sort(minutes)
				line += fmt.Sprintf(" | %5.0f %7.1f", windows[runs/2], minutes[runs/2])
				if from := blatant[n]; l.burst == 0 && from > 0 && x >= from && minutes[runs/2] > 6 {
					t.Errorf("%d samples, %v, %v times the limit: fires after %.1f minutes", n, l, x, minutes[runs/2])
				}
				if week := minute(7 * 24 * time.Hour); x >= 1.5 && minutes[runs/2] >= week {
					t.Errorf("%d samples, %v, %v times the limit: does not fire in a week", n, l, x)
				}
			}
			t.Logf("%4d samples, %-16s%s", n, l, line)
		}
	}
}

// TestStep: a step at three times the limit fires in three periods, however old the
// process is. A burst that is shorter, as of a job that runs each hour, does not, and
// neither do the windows after it.
func TestStep(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 3))
	for _, quiet := range []int{0, 3, 10, 29, 300} {
		for range 20 {
			w := watch(&load{rng: rng, n: 1000})
			for w.windows < quiet {
				w.step(limit / 2)
			}
			began := w.next
			for w.step(3*limit) != Fired {
			}
			if d := w.end - began; d > 4*every {
				t.Errorf("after %d windows: fires after %v", quiet, d)
			}
		}
	}
	for _, lasts := range []time.Duration{window, every, 2 * every, 170 * time.Second} {
		w := watch(&load{rng: rng, n: 1000})
		for w.end < 7*24*time.Hour {
			share := limit / 2
			if w.next%time.Hour < lasts {
				share = 4 * limit
			}
			if w.step(share) == Fired {
				t.Errorf("a job of %v each hour fires after %v", lasts, w.end)
				break
			}
		}
	}
}

// TestEnd: an alert ends soon after what broke the budget is fixed, and not before.
func TestEnd(t *testing.T) {
	if testing.Short() {
		t.Skip("computes for seconds, on one goroutine")
	}
	rng := rand.New(rand.NewPCG(11, 4))
	const runs = 15
	for _, n := range []int{20, 50, 200, 1000} {
		for _, l := range loads(rng, n) {
			line := ""
			for _, fixed := range []float64{0.25, 0.5} {
				var minutes []float64
				for range runs {
					w := watch(l.again())
					for w.alert.State != Firing {
						w.step(4 * limit)
					}
					began := w.end
					for !w.step(fixed*limit).Ends() && w.end-began < 24*time.Hour {
					}
					minutes = append(minutes, (w.end - began).Minutes())
				}
				slices.Sort(minutes)
				line += fmt.Sprintf(" | %7.1f", minutes[runs/2])
				if minutes[runs/2] > 6*60 || n >= 200 && l.burst == 0 && minutes[runs/2] > 6 {
					t.Errorf("%d samples, %v, fixed to %v of the limit: ends after %.1f minutes", n, l, fixed, minutes[runs/2])
				}
			}
			t.Logf("%4d samples, %-16s%s", n, l, line)
		}
	}
	// What goes on at twice the limit ends, and fires again, a few times a week at most.
	for _, n := range []int{20, 200, 1000} {
		for _, l := range loads(rng, n) {
			w, ended := watch(l), 0
			for w.end < 7*24*time.Hour {
				if w.step(2 * limit).Ends() {
					ended++
				}
			}
			t.Logf("%4d samples, %-16s ends %d times in a week at twice the limit", n, l, ended)
			if ended > 0 && l.burst == 0 || ended > 30 {
				t.Errorf("%d samples, %v: ends %d times in a week at twice the limit", n, l, ended)
			}
		}
	}
}

// TestLongBursts: what lasts for three periods is broken by the budget's own words,
// also where the mean of a day keeps to the limit.
func TestLongBursts(t *testing.T) {
	if testing.Short() {
		t.Skip("computes for seconds, on one goroutine")
	}
	rng := rand.New(rand.NewPCG(11, 5))
	lasts, most, bursts := month/4, 1, []time.Duration{30 * time.Second, 10 * time.Minute}
	if tables() {
		lasts, most, bursts = month, 3, []time.Duration{30 * time.Second, time.Minute, 3 * time.Minute, 10 * time.Minute}
	}
	for _, burst := range bursts {
		for _, n := range []int{50, 1000} {
			for _, x := range []float64{0.4, 0.8} {
				w, fired := watch(&load{rng: rng, n: n, burst: burst}), 0
				for w.end < lasts {
					if w.step(x*limit) == Fired {
						fired++
					}
				}
				t.Logf("%4d samples, bursts of %v, %.1f times the limit: %d alarms in %v", n, burst, x, fired, lasts)
				if burst <= 30*time.Second && fired > most || burst >= 10*time.Minute && fired == 0 {
					t.Errorf("%d samples, bursts of %v, %v times the limit: %d alarms in %v", n, burst, x, fired, lasts)
				}
			}
		}
	}
}

// TestAbsentEnds: one hit makes "absent" fire. How long the alert takes to end after the function
// is gone, and how often it ends by error while it goes on. Before it is gone it has run for 20
// minutes.
func TestAbsentEnds(t *testing.T) {
	rng := rand.New(rand.NewPCG(41, 15))
	days, runs := 3, 15
	if tables() {
		days, runs = 30, 101
	}
	rule := Lasting(every, window)
	rule.AtOnce = true
	for _, n := range []int{5, 15, 50, 200} {
		for _, l := range loads(rng, n)[:4] {
			line := ""
			for _, share := range []float64{0.05, 0.2, 0.5} {
				began, ended := time.Duration(days)*24*time.Hour, 0
				for w := (&absent{watched: watched{load: l.again(), rule: rule, pace: pace.Pace{Window: window}}}); w.end < began; {
					if w.step(share).Ends() {
						ended++
					}
				}
				var minutes []float64
				for range runs {
					w := &absent{watched: watched{load: l.again(), rule: rule, pace: pace.Pace{Window: window}}}
					for w.end < 20*every || w.alert.State != Firing {
						w.step(share)
					}
					began := w.end
					for !w.step(0).Ends() {
					}
					minutes = append(minutes, (w.end - began).Minutes())
				}
				slices.Sort(minutes)
				perDay := float64(ended) / float64(days)
				line += fmt.Sprintf(" | %5.1f, %5.2f a day", minutes[runs/2], perDay)
				if steady := l.burst == 0; steady && perDay > 0.4 || steady && n >= 15 && share >= 0.2 && minutes[runs/2] > 6 {
					t.Errorf("%d samples, %v, %v of them hits: ends after %.1f minutes, by error %.2f times a day", n, l, share, minutes[runs/2], perDay)
				}
			}
			t.Logf("%4d samples, %-16s%s", n, l, line)
		}
	}
}

// An absent process is watched by a budget that says "absent".
type absent struct {
	watched
	clean float64
}

// step takes the next window, at a share of p.
func (w *absent) step(p float64) Event {
	start := w.next
	w.end = start + window
	k, n := 0.0, float64(w.n)
	if p > 0 {
		k, n = w.take(p, w.end)
	}
	f := Finding{Start: start, End: w.end, Measured: true, Value: k / n, Samples: int64(n), Window: evidence.Absent(k, n).Verdict}
	if w.clean += n; k > 0 {
		w.clean = 0
	}
	f.Proven = evidence.Absent(0, w.clean).Verdict
	var event Event
	w.alert, event = w.alert.Next(f, w.rule)
	w.schedule()
	return event
}
