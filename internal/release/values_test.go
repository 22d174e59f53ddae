package release

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/profguard/profguard/internal/evidence"
	"github.com/profguard/profguard/internal/tree"
)

// tenancy is a service whose tenants ask for some CPU a window each, in bursts.
type tenancy struct {
	cpu     map[string]float64 // samples a window
	burst   float64            // each window has this much more or less of a tenant
	without float64            // samples of nobody
	work    float64            // requests a window
}

func fifty(dear string, cpu float64) map[string]float64 {
	all := map[string]float64{}
	for i := range 50 {
		all[fmt.Sprint("t", i)] = 16
	}
	if dear != "" {
		all[dear] = cpu
	}
	return all
}

// run is a side of so many windows.
func (x *tenancy) run(t testing.TB, r *rand.Rand, windows int) *Side {
	t.Helper()
	s := &Side{}
	names := []string{}
	for name := range x.cpu {
		names = append(names, name)
	}
	slices.Sort(names)
	for range windows {
		v := tree.Values{Hits: map[string]float64{}, Without: poisson(r, x.without)}
		n := v.Without
		for _, name := range names {
			if k := poisson(r, x.cpu[name]*(1+x.burst*(2*r.Float64()-1))); k > 0 {
				v.Hits[name] = k
				n += k
			}
		}
		w := treeOf(t, map[string]float64{"main.serve;main.page": 0.5 * n, "main.serve;main.list": 0.3 * n, "main.serve;main.log": 0.2 * n})
		w.Values = map[string]tree.Values{"tenant": v}
		s.Add(w, Piece{CPU: n * 0.01, Elapsed: 10, Work: map[string]float64{"request": x.work}})
	}
	return s
}

func compareTenants(t testing.TB, before, now *Side, per string, except ...string) *Comparison {
	t.Helper()
	c, err := Compare(t.Context(), before, now, Options{Per: per, Limit: 0.05, Label: "tenant", Except: except})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func namedIn(c *Comparison) (names []string) {
	for _, f := range c.Functions {
		if f.Named {
			names = append(names, f.Name)
		}
	}
	return names
}

// TestValuesGrow: the tenant that costs more is named, new or not, and its twins are not; in bursts, per request and by
// shares, also where another one costs less.
func TestValuesGrow(t *testing.T) {
	if testing.Short() {
		t.Skip("simulates pure code: nothing for the race detector")
	}
	seeds := min(*releases/5, 40)
	for _, per := range units {
		for _, burst := range []float64{0, 0.8} {
			var found, wrong, kept int
			for seed := range uint64(seeds) {
				r := rand.New(rand.NewPCG(seed, 7))
				was := tenancy{fifty("", 0), burst, 100, 1000}
				before := was.run(t, r, 120)
				for dear, into := range map[string]map[string]float64{"t7": fifty("t7", 200), "new": fifty("new", 200)} {
					now := tenancy{into, burst, 100, 1000}
					switch names := namedIn(compareTenants(t, before, now.run(t, r, 60), per)); {
					case slices.Equal(names, []string{dear}):
						found++
					case len(names) > 0:
						wrong++
					}
				}
				switch c := compareTenants(t, before, was.run(t, r, 60), per); {
				case len(namedIn(c)) > 0:
					wrong++
				case c.Verdict() == evidence.Pass:
					kept++
				}
				cheaper := fifty("t7", 0)
				delete(cheaper, "t8")
				less := tenancy{cheaper, burst, 10, 1000}
				if c := compareTenants(t, before, less.run(t, r, 60), per); len(namedIn(c)) > 0 {
					wrong++
				}
			}
			if found < 2*seeds-2 || wrong > 0 || kept < seeds-2 {
				t.Errorf("per %q, bursts of %v: found %d of %d, %d wrong, %d of %d equal ones kept", per, burst, found, 2*seeds, wrong, kept, seeds)
			}
		}
	}
}

// TestValuesUnknown: what an old reference does not have is not zero.
func TestValuesUnknown(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	was, nobody := tenancy{fifty("", 0), 0, 100, 1000}, tenancy{nil, 0, 900, 1000}
	before, now := was.run(t, r, 60), was.run(t, r, 60)
	old := was.run(t, r, 60)
	old.Pieces.Values = nil
	for name, c := range map[string]struct {
		before, now *Side
		want        string
	}{
		"both":               {before, now, ""},
		"an old reference":   {old, now, "the costs of the values of tenant are unknown before"},
		"not now":            {before, old, "the costs of the values of tenant are unknown now"},
		"no label before":    {nobody.run(t, r, 60), now, "no sample has the label tenant before"},
		"no label any more":  {before, nobody.run(t, r, 60), "no sample has the label tenant now"},
		"another label only": {&Side{Tree: before.Tree, Pieces: Pieces{Counts: Counts{Count: 60, Samples: before.Pieces.Samples}, CPU: 1, Work: before.Pieces.Work, Costs: before.Pieces.Costs, Values: map[string]*Values{"job": before.Pieces.Values["tenant"]}}}, now, "are unknown"},
	} {
		got := compareTenants(t, c.before, c.now, "request")
		if !strings.Contains(got.Why, c.want) || (c.want == "") != (got.Why == "") || (c.want == "") != (got.Verdict() == evidence.Pass) || len(namedIn(got)) > 0 {
			t.Errorf("%s: %q, %v, named %v", name, got.Why, got.Verdict(), namedIn(got))
		}
	}
}

// TestValuesGetLabel: where code begins to set the label, its values have not grown; where it ceases to, they are not
// known to be kept.
func TestValuesGetLabel(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	two := func(a, b, without float64) *Side {
		x := tenancy{map[string]float64{"a": a, "b": b}, 0, without, 1000}
		return x.run(t, r, 60)
	}
	most, few := two(400, 400, 200), two(200, 200, 600)
	if c := compareTenants(t, few, most, "request"); c.Verdict() != evidence.Inconclusive {
		t.Errorf("more samples have the label: %v, named %v", c.Verdict(), namedIn(c))
	}
	if c := compareTenants(t, most, few, "request"); c.Verdict() != evidence.Inconclusive || c.Without < 0.5 {
		t.Errorf("fewer samples have the label: %v, %v without", c.Verdict(), c.Without)
	}
	if c := compareTenants(t, most, two(600, 400, 200), "request"); !slices.Equal(namedIn(c), []string{"a"}) { // the twin
		t.Errorf("named %v", namedIn(c))
	}
	if c := compareTenants(t, most, two(600, 400, 200), "request", "a"); len(namedIn(c)) > 0 || c.Verdict() != evidence.Pass {
		t.Errorf("except a: %v, named %v", c.Verdict(), namedIn(c))
	}
}

// TestValuesAreBounded: IDs of users do not grow what is kept, and are not judged; one among them that is large is known.
func TestValuesAreBounded(t *testing.T) {
	side := func(large, each float64) *Side {
		s, at := &Side{}, 0
		for range 100 {
			v := tree.Values{Hits: map[string]float64{"large": large}}
			for range 500 {
				v.Hits[fmt.Sprint("u", at)] = each
				at++
			}
			w := treeOf(t, map[string]float64{"main.serve;main.page": large + 500*each})
			w.Values = map[string]tree.Values{"tenant": v}
			s.Add(w, Piece{CPU: 1, Elapsed: 10, Work: map[string]float64{"request": 100}})
		}
		for label := range 20 {
			s.Pieces.Join(&Pieces{Values: map[string]*Values{fmt.Sprint("l", label): {Counts: Counts{Count: 1, Hits: map[string]*HitSum{"a": {H: 1}}}}}})
		}
		return s
	}
	s := side(50, 1)
	if v := s.Pieces.Values["tenant"]; len(v.Hits) > mostValues || len(s.Pieces.Values) > MostLabels || v.Hits["large"].H != 5000 || v.Lost <= 0 {
		t.Errorf("%d values, %d labels, lost %v", len(v.Hits), len(s.Pieces.Values), v.Lost)
	}
	// Each value that was forgotten may have been so again and again: what it may have is counted.
	again := &Values{Counts: Counts{Hits: map[string]*HitSum{}}}
	for window := range 50 {
		hits := map[string]float64{"slow": 1}
		for i := range 400 {
			hits[fmt.Sprint("w", window, "-", i)] = 2
		}
		again.include(tree.Values{Hits: hits}, 801, nil)
	}
	known := 0.0
	if h := again.Hits["slow"]; h != nil {
		known = h.H
	}
	if known+again.Lost < 50 {
		t.Errorf("slow has 50 samples, and is known to have %v to %v", known, known+again.Lost)
	}
	if c := compareTenants(t, side(1, 1), side(100, 1), "request"); c.Verdict() == evidence.Pass {
		t.Errorf("one has grown from nothing to a sixth: %v %q", c.Verdict(), c.Why)
	}
	few := &Side{}
	for range 10 {
		v := tree.Values{Hits: map[string]float64{}, Lost: 3}
		for i := range 100 {
			v.Hits[fmt.Sprint(i)] = 3
		}
		w := treeOf(t, map[string]float64{"main.serve;main.page": 400})
		w.Values = map[string]tree.Values{"tenant": v}
		few.Add(w, Piece{CPU: 1, Elapsed: 10, Work: map[string]float64{"request": 100}})
	}
	if c := compareTenants(t, few, few, "request"); !strings.Contains(c.Why, "too many values") {
		t.Errorf("too many to judge: %v %q", c.Verdict(), c.Why)
	}
}

// TestValueNamedLikeFunction: neither instances nor packages of values are folded or paired.
func TestValueNamedLikeFunction(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	was := tenancy{map[string]float64{"main.sum[go.shape.int]": 400, "main.valid": 400, "b": 100}, 0, 100, 1000}
	now := tenancy{map[string]float64{"main.sum[go.shape.string]": 400, "main.isValid": 400, "b": 100}, 0, 100, 1000}
	c := compareTenants(t, was.run(t, r, 60), now.run(t, r, 60), "request")
	if got := namedIn(c); len(got) != 2 || !slices.Contains(got, "main.isValid") || !slices.Contains(got, "main.sum[go.shape.string]") {
		t.Errorf("named %v: %q", got, c.Why)
	}
}

// TestValuesAreNotRenamed: values that would be the same function are two, as one tenant is not another.
func TestValuesAreNotRenamed(t *testing.T) {
	before, now := (&Values{Counts: Counts{Samples: 9, Hits: map[string]*HitSum{"example.com/shop.Get": {H: 9}}}}).flat(), (&Values{Counts: Counts{Samples: 9, Hits: map[string]*HitSum{"example.com/shop/v2.Get": {H: 9}}}}).flat()
	if m := merge([2]*tree.Tree{before, now}, false); len(m.names) != 2 {
		t.Errorf("expected two values, found %q", m.names)
	}
	if m := merge([2]*tree.Tree{before, now}, true); len(m.names) != 1 {
		t.Errorf("expected one function, found %q", m.names)
	}
}
