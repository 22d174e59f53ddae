package release

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// nested is a shop whose cart walks a tree of such a depth, for points of the shop's cost. The runtime
// keeps 64 frames.
func nested(points float64, depth int) *program {
	p := shop().dearer(points, "main.(*Server).cart", ";main.render"+strings.Repeat(";main.(*tree).walk", depth)+";main.draw")
	return p.edit(func(c *costly) {
		if frames := strings.Split(c.frames, ";"); len(frames) > 64 {
			c.frames = strings.Join(frames[len(frames)-64:], ";")
		}
	})
}

// TestCutStacks: what was cut off on one side is no proof that a function has grown, or that it has not.
func TestCutStacks(t *testing.T) {
	const whole, deep = 30, 90
	for name, test := range map[string]struct {
		before, now  int // depth
		grown        float64
		first        string
		render, cart Status // "" for any but less
		passes       bool
	}{
		"whole on both sides":         {whole, whole, 0, "", Same, Same, true},
		"deep on both sides":          {deep, deep, 0, "", "", Same, true},
		"deeper than before":          {whole, deep, 0, "", Same, Same, false},
		"less deep than before":       {deep, whole, 0, "", Undecided, Undecided, false},
		"whole, and it has grown":     {whole, whole, 0.3, "main.draw", "", "", false},
		"deep, and it has grown":      {deep, deep, 0.3, "main.draw", "", "", false},
		"deeper, and it has grown":    {whole, deep, 0.3, "main.draw", "", "", false},
		"less deep, and it has grown": {deep, whole, 0.3, "main.draw", "", "", false},
	} {
		for _, per := range units {
			t.Run(name+" "+per, func(t *testing.T) {
				r := rand.New(rand.NewPCG(31, 32))
				l := load{windows: 200, work: 400, jitter: 0.1}
				c := compare(t, nested(0.3, test.before).run(t, r, l), nested(0.3+test.grown, test.now).run(t, r, l), per)
				if first(c) != test.first || (c.Verdict().String() == "pass") != test.passes {
					t.Errorf("named %q, want %q; %s: %s", first(c), test.first, c.Verdict(), show(c))
				}
				for name, want := range map[string]Status{"main.render": test.render, "main.(*Server).cart": test.cart} {
					for _, f := range c.Functions {
						if f.Name == name && (f.Status != want && want != "" || f.Status == Cheaper) {
							t.Errorf("%s is %s, want %s: %s", name, f.Status, want, show(c))
						}
					}
				}
				if noted := strings.Contains(strings.Join(c.Notes, " "), "has cut off"); noted != (test.before == deep || test.now == deep) {
					t.Errorf("notes %q", c.Notes)
				}
			})
		}
	}
}
