package rollout

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	guarded "github.com/profguard/profguard/internal/functions"
	"github.com/profguard/profguard/internal/release"
	"github.com/profguard/profguard/internal/tree"
)

var rollouts = flag.Int("rollouts", 1, "how many equal rollouts of each size are simulated")

// A service is a simulated program: how much of its CPU each function has, and how its processes and windows
// differ, as deviations of the logarithm.
type service struct {
	shares    []float64
	processes float64 // cost of work, and share of each function, of a process
	windows   float64 // share of a function in a window
	samples   float64 // of a minute, on average
	always    float64 // samples of a minute that the last function has, whatever work there is
}

// usual is one of 100 functions, of which the largest has half of the CPU, onePer100 one percent, and the last what a
// function needs to be compared.
func usual() service {
	s := service{processes: 0.2, windows: 0.3, samples: 10}
	for f := range functions {
		s.shares = append(s.shares, 0.5/float64(1+f))
	}
	return s
}

const functions, onePer100 = 100, 49

// dearer is a service in which a function costs more, by points of what a unit of work costs.
func (s service) dearer(function int, points float64) service {
	s.shares = slices.Clone(s.shares)
	s.samples *= 1 + points
	for f := range s.shares {
		s.shares[f] /= 1 + points
	}
	s.shares[function] += points / (1 + points)
	return s
}

var functionNames = func() (names []string) {
	for f := range functions {
		names = append(names, fmt.Sprintf("main.f%03d", f))
	}
	return names
}()

// A pod is a simulated process.
type pod struct {
	Process
	of     service
	load   float64 // its work, as a part of the usual
	cost   float64
	shares []float64
}

const request = "request"

func (s service) start(r *rand.Rand, load float64) *pod {
	p := &pod{of: s, load: load, cost: factor(r, s.processes)}
	p.Name = strconv.FormatUint(r.Uint64(), 36)
	for _, share := range s.shares {
		p.shares = append(p.shares, share*factor(r, s.processes))
	}
	p.again()
	return p
}

// again starts it anew: its machine and its traffic stay what they were.
func (p *pod) again() {
	p.Process = Process{Name: p.Name, Work: map[string]float64{}, Hits: map[string]float64{}}
}

// run adds minutes, in which there is so much work.
func (p *pod) run(r *rand.Rand, minutes, load float64) {
	work := poisson(r, 100*minutes*p.load*load)
	samples := poisson(r, p.of.samples*p.cost*work/100)
	deviation := p.of.windows / math.Sqrt(minutes)
	for f, share := range p.shares {
		if n := min(samples, poisson(r, samples*share*factor(r, deviation))); n > 0 {
			p.Hits[functionNames[f]] += n
		}
	}
	if p.of.always > 0 {
		last := len(p.shares) - 1
		n := poisson(r, p.of.always*minutes*p.shares[last]/p.of.shares[last])
		samples, p.Hits[functionNames[last]] = samples+n, p.Hits[functionNames[last]]+n
	}
	p.Samples, p.Work[request], p.Seconds = p.Samples+samples, p.Work[request]+work, p.Seconds+10*minutes
}

// factor has the mean 1.
func factor(r *rand.Rand, deviation float64) float64 {
	return math.Exp(r.NormFloat64()*deviation - deviation*deviation/2)
}

// poisson is a number of events, which is so many on average.
func poisson(r *rand.Rand, mean float64) float64 {
	if mean > 50 { // the normal distribution will do
		return max(0, math.Round(mean+math.Sqrt(mean)*r.NormFloat64()))
	}
	n, chance := 0.0, math.Exp(-mean)
	for left := r.Float64() - chance; left > 0 && n < 200; left -= chance {
		n++
		chance *= mean / n
	}
	return n
}

// A fleet is simulated processes of two builds.
type fleet struct {
	*rand.Rand
	was, now []*pod
	ended    [2][]Process // of processes that were killed
	minute   float64
	swing    float64   // of the load in a day
	known    *gathered // the build before
}

// A world is what a rollout meets.
type world struct {
	name     string
	was, is  int
	before   service
	after    service
	unequal  bool    // some processes have ten times the work of others
	swing    float64 // the load of a day, up and down by that
	restarts bool    // processes start anew now and then, or are gone
	half     bool    // half of the new processes come later
	load     float64 // of the new processes; 0 for as much as before
}

// rollOut lets processes of a build run for a day, and others of the next beside them.
func (w world) rollOut(seed int) *fleet {
	f := &fleet{Rand: rand.New(rand.NewPCG(53, uint64(seed))), swing: w.swing}
	start := func(s service, n int, load float64) (list []*pod) {
		for i := range n {
			own := load
			if w.unequal {
				own = []float64{0.3, 1, 3}[i%3] * load
			}
			list = append(list, s.start(f.Rand, own))
		}
		return list
	}
	f.was = start(w.before, w.was, 1)
	for range 8 { // parts of the day
		f.run(f.was, 0, 180, w.restarts)
		f.minute += 180
	}
	n := w.is
	if w.half {
		n = (n + 1) / 2
	}
	load := w.load
	if load == 0 {
		load = 1
	}
	f.minute += 1440 * f.Float64() // it is deployed at any time
	f.now = start(w.after, n, load)
	return f
}

func (f *fleet) run(pods []*pod, side int, minutes float64, restarts bool) {
	load := 1 + f.swing*math.Sin(2*math.Pi*(f.minute+minutes/2)/1440)
	for _, p := range pods {
		if p.run(f.Rand, minutes, load); restarts && f.Float64() < 0.02*minutes/5 {
			if f.Float64() < 0.8 { // of the others Prometheus does not have the end
				f.ended[side] = append(f.ended[side], p.Process)
			}
			p.again()
		}
	}
}

// look lets the new processes run until the next look, and judges.
func (f *fleet) look(t testing.TB, w world, minutes float64) *Outcome {
	f.run(f.now, 1, minutes, w.restarts)
	f.minute += minutes
	if f.known == nil {
		f.known = gather(release.Build{Version: "v1"}, f.processes(0), request)
	}
	r, err := judge(t.Context(), f.known, gather(release.Build{Version: "v2"}, f.processes(1), request), Options{Job: "shop", Per: request, Limit: 0.05, Process: 0.1})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func (f *fleet) processes(side int) []Process {
	list := slices.Clone(f.ended[side])
	for _, p := range [][]*pod{f.was, f.now}[side] {
		list = append(list, p.Process)
	}
	return list
}

// names are those of functions that cost more.
func names(r *Outcome) (list []string) {
	for _, f := range r.Dearer() {
		list = append(list, f.Name)
	}
	return list
}

// worlds are those in which equal builds are rolled out.
func worlds() (list []world) {
	s, timer := usual(), usual()
	timer.always = 0.5
	alike := usual()
	alike.processes = 0.05
	apart := usual()
	apart.processes = 0.4
	for _, size := range [][2]int{{2, 2}, {3, 40}, {5, 5}, {12, 12}, {15, 15}, {20, 20}, {100, 1}, {100, 100}} {
		list = append(list, world{name: fmt.Sprintf("%d and %d", size[0], size[1]), was: size[0], is: size[1], before: s, after: s})
	}
	for _, size := range [][2]int{{2, 2}, {20, 20}, {100, 100}} {
		n := fmt.Sprintf("%d and %d, ", size[0], size[1])
		list = append(list,
			world{name: n + "unequal work", was: size[0], is: size[1], before: s, after: s, unequal: true},
			world{name: n + "swing of a day, with a timer", was: size[0], is: size[1], before: timer, after: timer, swing: 0.7},
			world{name: n + "restarts and kills", was: size[0], is: size[1], before: s, after: s, restarts: true},
			world{name: n + "half a rollout", was: size[0], is: size[1], before: s, after: s, half: true},
		)
	}
	for _, size := range [][2]int{{5, 5}, {20, 20}} {
		n := fmt.Sprintf("%d and %d, ", size[0], size[1])
		list = append(list,
			world{name: n + "processes that hardly differ", was: size[0], is: size[1], before: alike, after: alike},
			world{name: n + "processes that differ by 40%", was: size[0], is: size[1], before: apart, after: apart},
		)
	}
	return list
}

// looks are the minutes between two looks. What is seen in between is nearly the same.
var looks = []float64{5, 5, 10, 20, 20, 60, 120, 120}

// Equal builds raise no alarm, not one in 1,000, whatever the number of processes and what happens to them.
//
//	GOMAXPROCS=1 go test ./internal/rollout -run TestEqualRollouts -v -rollouts 1000 -timeout 5h
func TestEqualRollouts(t *testing.T) {
	if testing.Short() {
		t.Skip("simulates pure code: nothing for the race detector")
	}
	for _, w := range worlds() {
		t.Run(w.name, func(t *testing.T) {
			alarms, equal := 0, 0
			for seed := range *rollouts {
				f, told := w.rollOut(seed), false
				var r *Outcome
				for _, minutes := range looks {
					if r = f.look(t, w, minutes); r.State == Dearer && !told {
						t.Logf("seed %d, after %v minutes: %s", seed, f.now[0].Seconds/10, r.Text)
						told, alarms = true, alarms+1
					}
				}
				if r.State == Equal {
					equal++
				}
			}
			t.Logf("%d alarms in %d equal rollouts; %d were surely equal after six hours", alarms, *rollouts, equal)
			if alarms > 0 {
				t.Errorf("%d alarms in %d equal rollouts, want none", alarms, *rollouts)
			}
		})
	}
}

// TestLeader: where one process does nearly all of the work, the others do not show how it differs from that of the other
// build. And what waits for its traffic, as a green fleet, costs no more because it has little to do.
func TestLeader(t *testing.T) {
	if testing.Short() {
		t.Skip("simulates pure code: nothing for the race detector")
	}
	decided := map[string]int{}
	for seed := range 20 {
		for _, name := range []string{"leader", "idle", "equal"} {
			s := usual()
			w := world{was: 10, is: 10, before: s, after: s}
			if name == "idle" { // nearly all that a process costs, it costs all the time
				w.before.always, w.before.processes, w.load = 5, 0.05, 0.02
				w.after = w.before
			}
			f := w.rollOut(seed)
			if name == "leader" {
				for _, pods := range [][]*pod{f.was, f.now} {
					for i, p := range pods {
						p.again()
						if p.load = 0.01; i == 0 {
							p.load = 100
						}
					}
				}
				f.run(f.was, 0, 1440, false)
			}
			for range 6 {
				if r := f.look(t, w, 60); r.State == Dearer || name == "leader" && r.Process.High < 0.1 {
					decided[name]++
					t.Logf("%s, seed %d: %s", name, seed, r.Text)
					break
				}
			}
		}
	}
	if len(decided) > 0 {
		t.Errorf("costs more, or no more, in %v of 20 equal rollouts", decided)
	}
}

// Builds that cost more are found, as soon as with the rules of Prometheus that were before.
func TestDearerRollouts(t *testing.T) {
	if testing.Short() {
		t.Skip("simulates pure code: nothing for the race detector")
	}
	s, builds := usual(), max(20, *rollouts/10)
	for _, tt := range []struct {
		points          float64
		was, is, within int
		atLeast         float64 // a part of the builds
	}{
		{0.005, 100, 100, 20, 0.6},
		{0.01, 100, 100, 10, 0.95},
		{0.05, 20, 20, 10, 0.95},
		{0.05, 20, 10, 20, 0.9}, // a rollout that stops half way
		{0.05, 10, 10, 60, 0.6},
		{0.20, 20, 1, 60, 0.6},
	} {
		w := world{was: tt.was, is: tt.is, before: s, after: s.dearer(onePer100, tt.points)}
		var after []int
		for seed := range builds {
			f := w.rollOut(1000 + seed)
			for at := 5; at <= tt.within; at += 5 {
				if slices.Contains(names(f.look(t, w, 5)), functionNames[onePer100]) {
					after = append(after, at)
					break
				}
			}
		}
		slices.Sort(after)
		t.Logf("%.1f points, %d processes before, %d now: found in %d of %d, after %v minutes", 100*tt.points, tt.was, tt.is, len(after), builds, after)
		if float64(len(after)) < tt.atLeast*float64(builds) {
			t.Errorf("%.1f points, %d processes before, %d now: found in %d of %d within %d minutes, want %g of them", 100*tt.points, tt.was, tt.is, len(after), builds, tt.within, tt.atLeast)
		}
	}
}

// What processes export has no series of functions that were too rare to get one, and young processes have few. That is
// neither a cost of the new build, nor hides one.
func TestExportedSeries(t *testing.T) {
	const processes = 50
	r := rand.New(rand.NewPCG(53, 11))
	// exported are the totals of processes after so many minutes.
	exported := func(s service, minutes int) (list []Process) {
		for range processes {
			p, counter := s.start(r, 1), guarded.New(150)
			for range minutes {
				p.again()
				p.run(r, 1, 1)
				if err := counter.Add(guarded.Window{Tree: tree.Flat(p.Samples, p.Hits), Seconds: p.Seconds, Work: p.Work}); err != nil {
					t.Fatal(err)
				}
			}
			totals := counter.Totals()
			x := Process{Name: p.Name, Samples: float64(totals.Samples), Seconds: totals.Seconds, Work: totals.Work, Hits: map[string]float64{}, Rest: totals.Rest}
			for _, h := range totals.Hits {
				x.Hits[h.Function] = float64(h.Count)
			}
			list = append(list, x)
		}
		return list
	}
	s := usual()
	was := exported(s, 180)
	for _, points := range []float64{0, 0.02} {
		for _, minutes := range []int{3, 10, 40} {
			out, err := Judge(t.Context(), release.Build{Version: "v1"}, release.Build{Version: "v2"}, was, exported(s.dearer(onePer100, points), minutes), Options{Job: "shop", Limit: 0.05, Process: 0.1})
			if err != nil {
				t.Fatal(err)
			}
			got := names(out)
			switch found := slices.Contains(got, functionNames[onePer100]); {
			case points == 0 && out.State == Dearer, len(got) > 1, points > 0 && minutes == 40 && !found:
				t.Errorf("%.1f points more, after %d minutes: %s", 100*points, minutes, out.Text)
			}
		}
	}
}
