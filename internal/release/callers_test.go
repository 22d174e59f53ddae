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

// TestMovedAndGrown: what was renamed and got dearer at once has grown by what the name before did not cost. Where its
// callers have not grown by half as much, the nearest of those that have is told instead. Where less than half
// has moved, all of it is told, with what costs less beside it.
func TestMovedAndGrown(t *testing.T) {
	if testing.Short() {
		t.Skip("simulates pure code: nothing for the race detector")
	}
	const quote, cart = "main.quote", "main.(*Server).cart"
	for _, test := range []struct {
		name        string
		before, now float64 // points
		router      string  // what is named where a router is above the handlers
		entry       string  // and where they are the way in
		grown       float64 // in points of the shop without it
	}{
		{"as dear", 0.2, 0.2, "", "", 0},
		{"cheaper", 0.3, 0.2, "", "", 0},
		{"dearer by three quarters", 0.2, 0.35, cart, quote, 0.15},
		{"twice as dear", 0.2, 0.4, cart, quote, 0.2},
		{"three times as dear", 0.2, 0.6, quote, quote, 0.6},
		{"it is new", 0, 0.3, quote, quote, 0.3},
	} {
		for _, build := range []func() *program{shop, entered} {
			for _, per := range units {
				r := rand.New(rand.NewPCG(21, 22))
				was, want := build(), test.router
				if handlerOf(was.stacks[0].frames) != "main.(*Server).checkout" {
					t.Fatal("the handlers are in another place")
				}
				if strings.Contains(was.stacks[0].frames, "HandlerFunc") {
					want = test.entry
				}
				if test.before > 0 {
					was = pricing(was, "price", test.before)
				}
				l := load{windows: 200, work: 400, jitter: 0.1}
				c := compare(t, was.run(t, r, l), pricing(build(), "quote", test.now).run(t, r, l), per)
				truth, f := test.grown/(1+test.before), find(t, c, quote)
				if first(c) != want || want != "" && (c.Functions[0].Points.Low > truth || c.Functions[0].Points.High < truth) {
					t.Errorf("%s, per %q: named %q, want %q at %+.3f: %s", test.name, per, first(c), want, truth, show(c))
				}
				if moved := want != quote; moved != (f.Status == Moved) {
					t.Errorf("%s, per %q: %s", test.name, per, show(c))
				}
				if part := (test.now - test.grown) / (1 + test.before); want == quote && math.Abs(f.Moved-part) > 0.3*part {
					t.Errorf("%s, per %q: %.3f moved, want %.3f: %s", test.name, per, f.Moved, part, show(c))
				}
			}
		}
	}
}

// TestMovedPartText: a part that has moved is said with the points that remain, which add up to the
// growth of the process.
func TestMovedPartText(t *testing.T) {
	f := Function{Name: "main.quote", Status: Grown, New: true, Now: 0.003, Points: Growth{0.1, 0.05, 0.15}, Moved: 0.2}
	c := &Comparison{Per: "request"}
	if got, want := c.Sentence(&f), "main.quote costs 3ms per request, nothing before: +30.0 points, of which 20.0 moved: +10.0 points (+5.0 to +15.0)"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got, want := f.Short(), "main.quote +10.0 points (beside 20.0 that moved)"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	f.Moved = 0
	if got, want := f.PointsText(), "+10.0 points (+5.0 to +15.0)"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	f.Moved, f.Named = 0.2, true
	c.Functions = []Function{f, {Name: "main.price", Status: Cheaper, Points: Growth{-0.2, -0.25, -0.15}}}
	if more, less, moved := c.Lists(); len(more) != 1 || len(less) != 1 || len(moved) != 0 {
		t.Errorf("more %v, less %v, moved %v", more, less, moved)
	}
	f = Function{Name: "main.quote", Status: Moved, Points: Growth{0.2, 0.15, 0.25}, From: "main.price"}
	c.Functions[0] = f // what it has moved from does not cost less
	if more, less, moved := c.Lists(); len(more) != 0 || len(less) != 0 || len(moved) != 1 || moved[0].Short() != "main.quote +20.0 points from main.price" {
		t.Errorf("more %v, less %v, moved %v", more, less, moved)
	}
}

// TestLosses: what others under a caller have lost has moved to a function there, and what is left is growth.
func TestLosses(t *testing.T) {
	rest := map[string]float64{"main.search;main.parse": 15000, "main.search;main.format": 15000, "main.checkout;main.read": 3000, "main.checkout;main.write": 3000, "main.checkout;main.log": 3000}
	with := func(stacks map[string]float64) *Side {
		maps.Copy(stacks, rest)
		return profiled(t, stacks)
	}
	before := with(map[string]float64{"main.checkout;main.valid": 30000})
	for _, test := range []struct {
		name  string
		now   map[string]float64
		grown float64 // samples
	}{
		{"renamed and dearer by 90%", map[string]float64{"main.checkout;main.verify": 57000}, 27000},
		{"one of 30,000 becomes two of 27,000 and 20,000", map[string]float64{"main.checkout;main.verify": 27000, "main.checkout;main.sum": 20000}, 20000},
		{"beside another one", map[string]float64{"main.checkout;main.verify": 30000, "main.search;main.audit": 20000}, 20000},
		// The clean twins.
		{"two of 15,000", map[string]float64{"main.checkout;main.verify": 15000, "main.checkout;main.sum": 15000}, 0},
		{"two of 24,000 and 6,000", map[string]float64{"main.checkout;main.verify": 24000, "main.checkout;main.sum": 6000}, 0},
		{"renamed", map[string]float64{"main.checkout;main.verify": 30000}, 0},
		{"renamed and cheaper", map[string]float64{"main.checkout;main.verify": 25000}, 0},
	} {
		c := compare(t, before, with(test.now), "request")
		more, _, _ := c.Lists()
		sum := 0.0
		for _, f := range more {
			sum += f.Points.Value
		}
		if f := find(t, c, "main.verify"); test.name == "renamed" && (f.Status != Moved || f.From != "main.valid") {
			t.Errorf("%s has moved from %q: %s", f.Name, f.From, show(c))
		}
		if grown := test.grown / before.Pieces.Samples; math.Abs(sum-grown) > 0.01 {
			t.Errorf("%s: %.3f points more, want %.3f: %s", test.name, sum, grown, show(c))
		}
	}
}

// TestGone: a loss is that of a gain that is as large. What is left of it is that of others.
func TestGone(t *testing.T) {
	for _, test := range []struct {
		gains  []gain // of the first one is asked
		losses []float64
		want   float64
		from   id // the loss that is as large
	}{
		{[]gain{{30, false}}, []float64{30}, 30, 0},
		{[]gain{{5, false}, {30, false}}, []float64{30}, 0, process}, // renamed, beside a new one
		{[]gain{{5, false}, {24, false}}, []float64{30}, 5, 0},       // split
		{[]gain{{50, false}}, []float64{30}, 30, process},
		{[]gain{{20, false}, {20, false}}, []float64{10}, 5, process},
		{[]gain{{20, false}, {9, false}}, []float64{10, 21}, 20, 1},
		{[]gain{{20, false}}, nil, 0, process},
		{[]gain{{31, false}, {28, true}}, []float64{31}, 3, process}, // the new one was renamed
		{[]gain{{28, true}, {31, false}}, []float64{31}, 28, 0},
	} {
		var losses []loss
		for i, points := range test.losses {
			losses = append(losses, loss{id(i), points})
		}
		if got, from := shared(test.gains, losses, func(g gain, lost float64) bool { return min(g.points, lost) > alike*max(g.points, lost) }); !near(got, test.want) || from != test.from {
			t.Errorf("of %v, %v from %d have become the first of %v, want %v from %d", test.losses, got, from, test.gains, test.want, test.from)
		}
	}
}

// TestMoreCalls: a function whose parts have all grown alike is called more often, and is not named. One of which a
// part has grown is.
func TestMoreCalls(t *testing.T) {
	side := func(read, parse, check, own float64) *Side {
		return profiled(t, map[string]float64{"main.list": 30000, "main.search": 30000, "main.list;main.load;main.read": 300 * read,
			"main.list;main.load;main.parse": 300 * parse, "main.list;main.load;main.check": 300 * check, "main.list;main.load": 300 * own})
	}
	before := side(10, 10, 10, 10)
	for _, test := range []struct {
		now  *Side
		load bool
	}{{side(14, 14, 14, 14), false}, {side(10, 10, 10, 26), true}} {
		if c := compare(t, before, test.now, "request"); find(t, c, "main.load").Named != test.load {
			t.Error(show(c))
		}
	}
}

// TestManySmallFunctions: of a hundred small functions many have fewer hits by chance, and as many more, which
// hides no growth beside them. What they have lost together does.
func TestManySmallFunctions(t *testing.T) {
	if testing.Short() {
		t.Skip("simulates pure code: nothing for the race detector")
	}
	many := func(steps int) *program { // a hundred functions, below ten others or directly in a handler
		p := &program{}
		for h := range 3 {
			for i := range 100 {
				p.stacks = append(p.stacks, costly{fmt.Sprintf("%s;main.handle%d;main.step%d;main.small%d", root, h, i%steps, i), 0.01 / 300})
			}
		}
		return p
	}
	var found, moved tally
	r := rand.New(rand.NewPCG(31, 32))
	l := load{windows: 20, work: 100, jitter: 0.03} // 2,000 samples
	for range *releases / 6 {
		found.add(t, compare(t, many(10).run(t, r, l), many(10).dearer(0.09, "main.handle1", ";regexp.MustCompile;regexp.compile").run(t, r, l), "request"), "regexp.MustCompile")
		for _, steps := range []int{10, 100} {
			p := many(steps).edit(func(c *costly) { // each of a handler gives up a part
				if strings.Contains(c.frames, "main.handle1;") {
					c.cost *= 0.7
				}
			})
			p.stacks = append(p.stacks, costly{root + ";main.handle1;main.together", 0.001})
			moved.add(t, compare(t, many(steps).run(t, r, l), p.run(t, r, l), "request"))
		}
	}
	found.expect(t, "9 points beside a hundred small functions", 0, 0.9)
	moved.expect(t, "a part of each of a hundred functions", 0, 0)
}
