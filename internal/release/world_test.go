package release

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/folded"
	"github.com/profguard/profguard/internal/tree"
)

// A program is a model of one: what a unit of work costs in each of its stacks.
type program struct {
	stacks []costly
	// fixed is what the process costs in a second, in stacks that do no work.
	fixed []costly
}

type costly struct {
	frames string  // root first
	cost   float64 // seconds a unit
}

// A load is what a program is put under.
type load struct {
	windows int
	work    float64 // units in a window of 10 s
	jitter  float64 // of windows: of the machine's speed, and of the mix of work
	speed   float64 // of the machine, 1 if 0
	busy    float64 // the part of the time that threads waited for a core; 0 if that is not known
	burst   float64 // samples that come together, 1 if 0
}

const root = "runtime.goexit;net/http.(*conn).serve;net/http.serverHandler.ServeHTTP;main.route"

// shop is a service with three handlers that share some code, and a poller.
func shop() *program {
	p := &program{}
	add := func(cost float64, frames ...string) {
		p.stacks = append(p.stacks, costly{root + ";" + strings.Join(frames, ";"), cost})
	}
	for h, name := range []string{"checkout", "search", "cart"} {
		handler := "main.(*Server)." + name
		for i := range 8 {
			add(0.00004*float64(i+1), handler, fmt.Sprintf("main.%s.step%d", name, i), "fmt.Sprintf", "fmt.(*pp).doPrintf")
			add(0.00002*float64(8-i), handler, fmt.Sprintf("main.%s.step%d", name, i), "main.valid", "strings.Index")
			add(0.00002, handler, fmt.Sprintf("main.%s.step%d", name, i), "main.valid.func1")
		}
		add(0.0004*float64(h+1), handler, "encoding/json.Marshal", "encoding/json.(*encodeState).marshal", "encoding/json.structEncoder.encode")
		add(0.0002, handler, "main.sum")
		add(0.0002, handler, "runtime.mallocgc")
	}
	p.fixed = []costly{{"runtime.goexit;main.(*Poller).run;main.(*Poller).list;os.ReadDir", 0.002}}
	return p
}

// edit is the program after a change of its stacks.
func (p *program) edit(change func(c *costly)) *program {
	q := &program{}
	for _, c := range p.stacks {
		change(&c)
		q.stacks = append(q.stacks, c)
	}
	for _, c := range p.fixed {
		change(&c)
		q.fixed = append(q.fixed, c)
	}
	return q
}

// rename changes names in all stacks.
func (p *program) rename(pairs ...string) *program {
	return p.edit(func(c *costly) { c.frames = strings.NewReplacer(pairs...).Replace(c.frames) })
}

// unit is what a unit of work costs.
func (p *program) unit() (sum float64) {
	for _, c := range p.stacks {
		sum += c.cost
	}
	return sum
}

// dearer adds points of a unit's cost to stacks with a frame, below it.
func (p *program) dearer(points float64, frame, below string) *program {
	q, added := p.edit(func(*costly) {}), p.unit()*points
	for _, c := range p.stacks {
		if at := strings.Index(c.frames+";", ";"+frame+";"); at >= 0 {
			q.stacks = append(q.stacks, costly{c.frames[:at] + ";" + frame + below, added})
			return q
		}
	}
	panic("no stack has " + frame)
}

// run takes windows of a program under load.
func (p *program) run(t testing.TB, r *rand.Rand, l load) *Side {
	t.Helper()
	l.speed, l.burst = cmp.Or(l.speed, 1), cmp.Or(l.burst, 1)
	stacks := append(slices.Clone(p.stacks), p.fixed...)
	total, ways, handlers := make([]float64, len(stacks)), make([][]string, len(stacks)), make([]string, len(stacks))
	for i, c := range stacks {
		ways[i], handlers[i] = charged(t, c.frames), handlerOf(c.frames)
	}
	s := &Side{}
	for range l.windows {
		w := Piece{Elapsed: 10, Work: map[string]float64{"request": math.Round(l.work * math.Exp(l.jitter*r.NormFloat64()))}, Hits: map[string]float64{}}
		slow := math.Exp(l.jitter/3*r.NormFloat64()) / l.speed
		mix := map[string]float64{}
		for i, c := range stacks {
			seconds := c.cost * w.Elapsed * slow
			if handler := handlers[i]; i < len(p.stacks) {
				if mix[handler] == 0 {
					mix[handler] = math.Exp(l.jitter * r.NormFloat64())
				}
				seconds = c.cost * w.Work["request"] * slow * mix[handler]
			}
			n := l.burst * poisson(r, 100*seconds/l.burst)
			w.CPU, w.Samples, total[i] = w.CPU+seconds, w.Samples+n, total[i]+n
			for _, name := range ways[i] {
				w.Hits[name] += n
			}
		}
		if l.busy > 0 {
			w.Machine = Machine{Waited: w.CPU * l.busy / (1 - l.busy), Cores: 20}
		}
		s.Pieces.Add(w)
	}
	sums := map[string]float64{}
	for i, c := range stacks {
		sums[c.frames] += total[i]
	}
	s.Tree = *treeOf(t, sums)
	return s
}

// handlerOf is the handler that a stack is of: what is below the router.
func handlerOf(frames string) string {
	for range 4 {
		if _, rest, more := strings.Cut(frames, ";"); more {
			frames = rest
		}
	}
	handler, _, _ := strings.Cut(frames, ";")
	return handler
}

// chargedTo are the functions that stacks are charged to, by their frames.
var chargedTo = map[string][]string{}

// charged are the functions that a stack is charged to, outermost first.
func charged(t testing.TB, frames string) []string {
	t.Helper()
	list, known := chargedTo[frames]
	if !known {
		for _, x := range treeOf(t, map[string]float64{frames: 1}).Nodes() {
			if x.Name != "" && (x.Kind == tree.Function || x.Kind == tree.Entry && x.Own > 0) {
				list = append(list, x.Name)
			}
		}
		chargedTo[frames] = list
	}
	return list
}

func treeOf(t testing.TB, stacks map[string]float64) *tree.Tree {
	t.Helper()
	counter := tree.Counter{Module: "example.com/shop"}
	sum, err := counter.Tree(t.Context(), table(t, stacks))
	if err != nil {
		t.Fatal(err)
	}
	return sum
}

// profiled is a side that is one profile, with 10,000 requests.
func profiled(t testing.TB, stacks map[string]float64) *Side {
	t.Helper()
	of := map[string]float64{}
	for frames, hits := range stacks {
		of["net/http.(*conn).serve;net/http.HandlerFunc.ServeHTTP;"+frames] = hits
	}
	return sideOf(t, of)
}

// sideOf is a side that is one profile with these stacks, and 10,000 requests.
func sideOf(t testing.TB, stacks map[string]float64) *Side {
	t.Helper()
	profile := table(t, stacks)
	s, err := Of(t.Context(), &tree.Counter{}, profile, Piece{CPU: SampledCPU(profile), Elapsed: 60, Work: map[string]float64{"request": 10000}})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// poisson is a random count with that mean.
func poisson(r *rand.Rand, mean float64) float64 {
	if mean > 50 {
		return max(0, math.Round(mean+math.Sqrt(mean)*r.NormFloat64()))
	}
	n, limit := -1.0, math.Exp(-mean)
	for x := 1.0; x > limit; n++ {
		x *= r.Float64()
	}
	return max(n, 0)
}

func table(t testing.TB, stacks map[string]float64) *decode.Table {
	t.Helper()
	var text strings.Builder
	text.WriteString("cpu\n")
	for _, frames := range slices.Sorted(maps.Keys(stacks)) {
		n := stacks[frames]
		if n == 0 {
			continue
		}
		fmt.Fprintf(&text, "%s %.0f\n", frames, n)
	}
	table, err := new(decode.Decoder).Profile(folded.Must(text.String()))
	if err != nil {
		t.Fatal(err)
	}
	return table
}

func compare(t testing.TB, before, now *Side, per string) *Comparison {
	t.Helper()
	c, err := Compare(t.Context(), before, now, Options{Per: per})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// first is the function that is named first, and "" if none is.
func first(c *Comparison) string {
	if len(c.Functions) > 0 && c.Functions[0].Named {
		return c.Functions[0].Name
	}
	return ""
}

// find is the comparison of a function.
func find(t testing.TB, c *Comparison, name string) *Function {
	t.Helper()
	for i := range c.Functions {
		if c.Functions[i].Name == name {
			return &c.Functions[i]
		}
	}
	t.Fatalf("no function %s in %s", name, show(c))
	return nil
}

func show(c *Comparison) string {
	var b strings.Builder
	fmt.Fprintf(&b, "why %q, process %+.3f (%+.3f to %+.3f), scale %.3f (%.3f to %.3f), samples %.0f and %.0f\n",
		c.Why, c.Process.Value, c.Process.Low, c.Process.High, c.Scale.Value, c.Scale.Low, c.Scale.High, c.Now.Samples, c.Before.Samples)
	for _, f := range c.Functions[:min(len(c.Functions), 12)] {
		fmt.Fprintf(&b, "  %-45s %-9s named %-5t %+.3f (%+.3f to %+.3f) moved %.3f, was %q\n", f.Name, f.Status, f.Named, f.Points.Value, f.Points.Low, f.Points.High, f.Moved, f.Was)
	}
	return b.String()
}
