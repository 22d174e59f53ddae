package release

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

// entered is the shop whose handlers are the way in, as without a router of its own: what they call is
// charged, and they are not.
func entered() *program { return shop().rename(";main.route", ";net/http.HandlerFunc.ServeHTTP") }

// pricing is a shop whose cart prices its items, under a name and for a cost in points of the shop's.
func pricing(p *program, name string, points float64) *program {
	return p.dearer(points, "main.(*Server).cart", ";main."+name)
}

// TestMovedAndGrown: what was renamed and got dearer at once has grown by what the name before did not cost.
func TestMovedAndGrown(t *testing.T) {
	for name, build := range map[string]func() *program{"a router above": shop, "handlers are the way in": entered} {
		for _, test := range []struct {
			name         string
			before, now  float64 // points
			grown, moved bool
		}{
			{"as dear", 0.2, 0.2, false, true},
			{"cheaper", 0.3, 0.2, false, true},
			{"half as dear again", 0.2, 0.3, true, true},
			{"twice as dear", 0.2, 0.4, true, true},
			{"three times as dear", 0.2, 0.6, true, true},
			{"it is new", 0, 0.3, true, false},
		} {
			for _, per := range []string{"request", ""} {
				t.Run(name+" "+test.name+" "+per, func(t *testing.T) {
					r := rand.New(rand.NewPCG(21, 22))
					was := build()
					if test.before > 0 {
						was = pricing(was, "price", test.before)
					}
					l := load{windows: 200, work: 400, jitter: 0.1}
					c := compare(t, was.run(t, r, l), pricing(build(), "quote", test.now).run(t, r, l), per)
					f := find(t, c, "main.quote")
					truth, moved := (test.now-test.before)/(1+test.before), test.before/(1+test.before)
					switch {
					case !test.grown && (f.Status != Moved || first(c) != ""):
						t.Errorf("named %q: %s", first(c), show(c))
					case test.grown && (first(c) != "main.quote" || f.Points.Low > truth || f.Points.High < truth):
						t.Errorf("named %q, want main.quote at %+.3f: %s", first(c), truth, show(c))
					case test.grown && test.moved && (f.Moved < 0.7*moved || f.Moved > 1.3*moved || strings.Join(f.From, " ") != "main.price"):
						t.Errorf("moved %.3f from %q, want %.3f from main.price: %s", f.Moved, f.From, moved, show(c))
					case !test.moved && f.Moved > 0:
						t.Errorf("moved: %s", show(c))
					}
				})
			}
		}
	}
}

// TestMovedPartText: a part that has moved is said with the points that remain, which add up to the
// growth of the process.
func TestMovedPartText(t *testing.T) {
	f := Function{Name: "main.quote", Status: Grown, New: true, Now: 0.003, Points: Growth{0.1, 0.05, 0.15}, Moved: 0.2, From: []string{"main.price"}}
	c := &Comparison{Per: "request"}
	if got, want := c.Sentence(&f), "main.quote costs 3ms a request, nothing before: +30.0 points, of which 20.0 moved from main.price: +10.0 points (+5.0 to +15.0)"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got, want := f.Short(), "main.quote +10.0 points (beside 20.0 that moved from main.price)"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	f.From = nil
	if got, want := f.PointsText(), "+30.0 points, of which 20.0 moved: +10.0 points (+5.0 to +15.0)"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	f.Moved = 0
	if got, want := f.PointsText(), "+10.0 points (+5.0 to +15.0)"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	old := Function{Name: "main.price", Status: Cheaper, Points: Growth{-0.2, -0.25, -0.15}}
	f.Moved, f.From, f.Named = 0.2, []string{"main.price"}, true
	c.Functions = []Function{f, old}
	if more, less, moved := c.Lists(); len(more) != 1 || len(less) != 0 || len(moved) != 0 {
		t.Errorf("more %v, less %v, moved %v", more, less, moved)
	}
}

// profiled is a side that is one profile, with 10,000 requests.
func profiled(t *testing.T, stacks map[string]float64) *Side {
	n, of := 0.0, map[string]float64{}
	for frames, hits := range stacks {
		of["net/http.(*conn).serve;net/http.HandlerFunc.ServeHTTP;"+frames] = hits
		n += hits
	}
	return &Side{Table: table(t, of), Windows: []Window{{Samples: n, CPU: n / 100, Elapsed: 60, Work: map[string]float64{"request": 10000}}}}
}

// TestLossesCountOnce: what a function has lost has moved to as much of others, and not to more.
func TestLossesCountOnce(t *testing.T) {
	rest := map[string]float64{"main.search;main.parse": 15000, "main.search;main.format": 15000}
	with := func(stacks map[string]float64) *Side {
		maps.Copy(stacks, rest)
		return profiled(t, stacks)
	}
	before := with(map[string]float64{"main.checkout;main.valid": 30000})
	for _, test := range []struct {
		name  string
		now   map[string]float64
		grown float64
	}{
		{"one of 50 points becomes two of 45", map[string]float64{"main.order;main.verify": 27000, "main.pay;main.sum": 27000}, 0.4},
		{"under one caller", map[string]float64{"main.checkout;main.verify": 27000, "main.checkout;main.sum": 27000}, 0.4},
		{"three of 30", map[string]float64{"main.order;main.verify": 18000, "main.pay;main.sum": 18000, "main.list;main.all": 18000}, 0.4},
		{"renamed and dearer by 90%", map[string]float64{"main.order;main.verify": 57000}, 0.45},
		// The clean twins.
		{"two of 25", map[string]float64{"main.order;main.verify": 15000, "main.pay;main.sum": 15000}, 0},
		{"two of 40 and 10", map[string]float64{"main.order;main.verify": 24000, "main.pay;main.sum": 6000}, 0},
		{"renamed", map[string]float64{"main.order;main.verify": 30000}, 0},
	} {
		c := compare(t, before, with(test.now), "request")
		more, _, _ := c.Lists()
		sum := 0.0
		for _, f := range more {
			sum += f.Points.Value
		}
		if math.Abs(sum-test.grown) > 0.01 || math.Abs(c.Process.Value-test.grown) > 0.01 {
			t.Errorf("%s: %.3f points more, want %.3f: %s", test.name, sum, test.grown, show(c))
		}
	}
}

// TestManySmallFunctions: of a hundred small functions many have fewer hits by chance, and as many more, which
// hides no growth beside them. What they have lost together does.
func TestManySmallFunctions(t *testing.T) {
	many := func(steps int) *program { // a hundred functions, below ten others or directly in a handler
		p := &program{}
		for h := range 3 {
			for i := range 100 {
				p.stacks = append(p.stacks, costly{fmt.Sprintf("%s;main.handle%d;main.step%d;main.small%d", root, h, i%steps, i), 0.01 / 300})
			}
		}
		return p
	}
	found, n := 0, 40
	r := rand.New(rand.NewPCG(31, 32))
	l := load{windows: 20, work: 100, jitter: 0.03} // 2,000 samples
	for range n {
		if c := compare(t, many(10).run(t, r, l), many(10).dearer(0.09, "main.handle1", ";regexp.MustCompile;regexp.compile").run(t, r, l), "request"); first(c) == "regexp.MustCompile" {
			found++
		}
		for _, steps := range []int{10, 100} {
			moved := many(steps).edit(func(c *costly) { // each of a handler gives up a part
				if strings.Contains(c.frames, "main.handle1;") {
					c.cost *= 0.7
				}
			})
			moved.stacks = append(moved.stacks, costly{root + ";main.handle1;main.together", 0.001})
			if c := compare(t, many(steps).run(t, r, l), moved.run(t, r, l), "request"); first(c) != "" {
				t.Errorf("named %s of cost that moved: %s", first(c), show(c))
			}
		}
	}
	t.Logf("found in %d of %d", found, n)
	if found < n*9/10 {
		t.Errorf("found in %d of %d", found, n)
	}
}

// TestNoPeriod: of a profile whose samples stand for no time, that is said, and not that the work is not known.
func TestNoPeriod(t *testing.T) {
	known := profiled(t, map[string]float64{"main.search": 1000})
	unknown := *known
	unknown.Windows = []Window{{Samples: 1000, Work: map[string]float64{"request": 10000}}}
	if c := compare(t, &unknown, known, "request"); !strings.Contains(c.Why, "how much CPU time was used before") {
		t.Error(c.Why)
	}
	if c := compare(t, known, &unknown, "request"); !strings.Contains(c.Why, "how much CPU time is used now") {
		t.Error(c.Why)
	}
	if c := compare(t, known, known, "job"); !strings.Contains(c.Why, "how many units of") {
		t.Error(c.Why)
	}
}
