package release

import (
	"cmp"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// A change is one of a release: the program before it and now, and the functions that may be named. Before is nil where
// a program has no function for it.
type change func(t *testing.T, r *rand.Rand, p *program) (before, now *program, right []string)

// TestHarder: changes that look like growth, and growth that is hard to find, in six programs. Samples come five at a time,
// and load and machine differ.
func TestHarder(t *testing.T) {
	if testing.Short() {
		t.Skip("simulates pure code: nothing for the race detector")
	}
	both := func(x float64) [2]float64 { return [2]float64{x, x} }
	// By shares, a large function of which nothing else is known looks as if it had grown where most others have become
	// cheaper, and something else made the process cost more per second. Samples in bursts make the callers of what has moved
	// seem to have grown now and then. Measured: 1 to 5 of 150 pairs.
	rarely := [2]float64{0, 0.03}
	half := load{work: 0.5}
	for _, row := range []struct {
		name   string
		change change
		load   load       // its work and speed are those of now, in parts of before
		wrong  [2]float64 // the most pairs of which a wrong function is named, per request and by shares
		right  [2]float64 // the least of which the right one is
	}{
		{name: "equal", change: same},
		{name: "equal, load x2", change: same, load: load{work: 2}},
		{name: "slower by 25%", change: same, load: load{speed: 0.8}},
		{name: "renamed", change: renamed},
		{name: "renamed, load x2", change: renamed, load: load{work: 2}},
		{name: "extracted", change: extracted},
		{name: "inlined", change: inlined},
		{name: "moved to a sibling", change: moved, wrong: rarely},
		{name: "moved, with leaves", change: movedLeaves, wrong: rarely},
		{name: "moved, with leaves, load x2", change: movedLeaves, load: load{work: 2}, wrong: rarely},
		{name: "others 30% cheaper", change: cheaper},
		{name: "others 30% cheaper, load x1.5", change: cheaper, load: load{work: 1.5}, wrong: rarely},
		{name: "others 30% cheaper, slower by 25%", change: cheaper, load: load{speed: 0.8}, wrong: rarely},
		{name: "timers, half the load", change: timers, load: half},
		{name: "timers, half the load, slower by 25%", change: timers, load: load{work: 0.5, speed: 0.8}},
		{name: "10 points from a sibling", change: exchanged},
		{name: "10 points in one of 5%", change: grown(0.03, 0.08, 0.1), right: both(0.8)},
		{name: "10 points in one of 30%", change: grown(0.2, 0.4, 0.1), right: [2]float64{0.05, 0}},
		{name: "10 points in one of 5%, load x0.7", change: grown(0.03, 0.08, 0.1), load: load{work: 0.7}, right: [2]float64{0.3, 0.6}},
		{name: "10 points in one of 30%, load x0.7", change: grown(0.2, 0.4, 0.1), load: load{work: 0.7}},
		{name: "10 points in one of 5%, 10 less in others", change: balanced, wrong: rarely, right: [2]float64{0.3, 0.7}},
		{name: "10 points in a new function", change: grown(0.02, 0.9, 0.1, "main.planted"), right: both(0.85)},
	} {
		for i, per := range units {
			r := rand.New(rand.NewPCG(1, 2))
			var pairs tally
			programs := sixPrograms(t)
			for n := 0; pairs.pairs < *releases/4 && n < *releases; n++ {
				before, now, right := row.change(t, r, programs[n%len(programs)])
				if before == nil {
					continue
				}
				l := load{windows: 20, work: 500, jitter: 0.06, burst: 5} // 10,000 samples
				was := before.run(t, r, l)
				l.work, l.speed = l.work*cmp.Or(row.load.work, 1), row.load.speed
				pairs.add(t, compare(t, was, now.run(t, r, l), per), right...)
			}
			pairs.expect(t, row.name+unitName(per), row.wrong[i], row.right[i])
		}
	}
}

func same(_ *testing.T, _ *rand.Rand, p *program) (before, now *program, right []string) {
	return p, p, nil
}

// renamed has another name for a function.
func renamed(t *testing.T, r *rand.Rand, p *program) (before, now *program, right []string) {
	f := p.pick(t, r, 0.05, 0.6)
	return p, p.edit(func(c *costly) {
		frames := strings.Split(c.frames, ";")
		for i, frame := range frames {
			if fold(frame) == f {
				frames[i] = freshName(f)
			}
		}
		c.frames = strings.Join(frames, ";")
	}), nil
}

// freshName is a new name in the package of a function.
func freshName(f string) string {
	slash := strings.LastIndexByte(f, '/') + 1
	return f[:slash+strings.IndexByte(f[slash:], '.')] + ".fresh"
}

// extracted has half of a function's body in a new one.
func extracted(t *testing.T, r *rand.Rand, p *program) (before, now *program, right []string) {
	own := map[string]float64{}
	for _, c := range p.stacks {
		if way := charged(t, c.frames); len(way) > 0 {
			own[way[len(way)-1]] += c.cost / p.unit()
		}
	}
	maps.DeleteFunc(own, func(_ string, share float64) bool { return share < 0.04 })
	list := slices.Sorted(maps.Keys(own))
	if len(list) == 0 {
		return nil, nil, nil
	}
	f := list[r.IntN(len(list))]
	now = p.edit(func(*costly) {})
	for i, c := range p.stacks {
		if way := charged(t, c.frames); len(way) > 0 && way[len(way)-1] == f {
			now.stacks[i].cost /= 2
			to := through(c.frames, f)
			now.stacks = append(now.stacks, costly{to + ";" + freshName(f) + strings.TrimPrefix(c.frames, to), c.cost / 2})
		}
	}
	return p, now, nil
}

// inlined lacks a function on the way to what it calls.
func inlined(t *testing.T, r *rand.Rand, p *program) (before, now *program, right []string) {
	f := p.pick(t, r, 0.04, 0.6)
	return p, p.edit(func(c *costly) {
		c.frames = strings.Join(slices.DeleteFunc(strings.Split(c.frames, ";"), func(x string) bool { return fold(x) == f }), ";")
	}), nil
}

// siblings are two new functions under one, with points of the program's cost, before and now.
func siblings(t *testing.T, r *rand.Rand, p *program, oldWay, otherWay [2]float64, leaves bool) (before, now *program) {
	f, a, b := p.pick(t, r, 0.05, 0.9), []string{"main.oldWay"}, []string{"main.otherWay"}
	if f == "" {
		return nil, nil
	}
	if leaves {
		a, b = append(a, "main.oldLeaf"), append(b, "main.newLeaf")
	}
	side := func(i int) *program {
		return p.below(f, oldWay[i], a...).below(f, otherWay[i]*p.unit()/p.below(f, oldWay[i], a...).unit(), b...)
	}
	return side(0), side(1)
}

func moved(t *testing.T, r *rand.Rand, p *program) (before, now *program, right []string) {
	before, now = siblings(t, r, p, [2]float64{0.12, 0.02}, [2]float64{0.02, 0.12}, false)
	return before, now, nil
}

func movedLeaves(t *testing.T, r *rand.Rand, p *program) (before, now *program, right []string) {
	before, now = siblings(t, r, p, [2]float64{0.12, 0.02}, [2]float64{0.02, 0.12}, true)
	return before, now, nil
}

// exchanged are two independent changes under one caller, which look as if cost had moved. Either answer is right.
func exchanged(t *testing.T, r *rand.Rand, p *program) (before, now *program, right []string) {
	before, now = siblings(t, r, p, [2]float64{0.12, 0.02}, [2]float64{0.05, 0.15}, false)
	return before, now, []string{"main.otherWay"}
}

// cheaper costs 30% less in all but one function.
func cheaper(t *testing.T, r *rand.Rand, p *program) (before, now *program, right []string) {
	f := p.pick(t, r, 0.1, 0.6)
	return p, p.edit(func(c *costly) {
		if through(c.frames, f) == "" {
			c.cost *= 0.7
		}
	}), nil
}

// timers costs a tenth all the time.
func timers(_ *testing.T, _ *rand.Rand, p *program) (before, now *program, right []string) {
	p = p.edit(func(c *costly) { c.cost *= 0.9 })
	p.fixed = []costly{{"runtime.goexit;main.(*Timers).run;main.(*Timers).step;main.tick", 0.1 * 500 / 10 * p.unit() / 0.9}}
	return p, p, nil
}

// grown costs so many points more in a function of a share between two, or in another one that it calls.
func grown(low, high, points float64, callee ...string) change {
	return func(t *testing.T, r *rand.Rand, p *program) (before, now *program, right []string) {
		f := p.pick(t, r, low, high)
		if f == "" {
			return nil, nil, nil
		}
		return p, p.below(f, points, callee...), append([]string{f}, callee...)
	}
}

// balanced costs 10 points more in a function, and as much less in what shares no caller with it.
func balanced(t *testing.T, r *rand.Rand, p *program) (before, now *program, right []string) {
	f, under, free := p.pick(t, r, 0.03, 0.08), map[string]bool{}, 0.0
	for _, c := range p.stacks {
		if way := charged(t, c.frames); slices.Contains(way, f) {
			for _, name := range way[:slices.Index(way, f)+1] {
				under[name] = true
			}
		}
	}
	apart := func(c *costly) bool {
		return !slices.ContainsFunc(charged(t, c.frames), func(name string) bool { return under[name] })
	}
	for i := range p.stacks {
		if apart(&p.stacks[i]) {
			free += p.stacks[i].cost / p.unit()
		}
	}
	if f == "" || free < 0.15 {
		return nil, nil, nil
	}
	return p, p.below(f, 0.1).edit(func(c *costly) {
		if apart(c) {
			c.cost *= 1 - 0.1/free
		}
	}), []string{f}
}
