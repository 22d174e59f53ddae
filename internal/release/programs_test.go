package release

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/names"
)

// pick is a charged function with a share between two, "" if there is none.
func (p *program) pick(t *testing.T, r *rand.Rand, low, high float64) string {
	share := map[string]float64{}
	for _, c := range p.stacks {
		for _, name := range charged(t, c.frames) {
			share[name] += c.cost / p.unit()
		}
	}
	maps.DeleteFunc(share, func(_ string, x float64) bool { return x < low || x > high })
	list := slices.Sorted(maps.Keys(share))
	if len(list) == 0 {
		return ""
	}
	return list[r.IntN(len(list))]
}

// below adds points of a unit's cost to the body of a function, or to others that it calls, on all ways to it.
func (p *program) below(f string, points float64, callees ...string) *program {
	of := 0.0
	ways := map[string]float64{}
	for _, c := range p.stacks {
		if to := through(c.frames, f); to != "" {
			ways[to], of = ways[to]+c.cost, of+c.cost
		}
	}
	q := p.edit(func(*costly) {})
	for _, to := range slices.Sorted(maps.Keys(ways)) {
		q.stacks = append(q.stacks, costly{strings.Join(append([]string{to}, callees...), ";"), ways[to] / of * points * p.unit()})
	}
	return q
}

// through are the frames of a stack through the innermost of a function, "" if there is none.
func through(frames, f string) string {
	list := strings.Split(frames, ";")
	for i := len(list); i > 0; i-- {
		if fold(list[i-1]) == f {
			return strings.Join(list[:i], ";")
		}
	}
	return ""
}

var folds = map[string]string{}

// fold is [names.Fold], which knows what it was asked before.
func fold(name string) string {
	folded, known := folds[name]
	if !known {
		folded = names.Fold(name)
		folds[name] = folded
	}
	return folded
}

// sixPrograms are small and large ones, with few callers and with many, and two that were recorded.
func sixPrograms(t *testing.T) []*program {
	list := []*program{
		shop(), entered(),
		drawnProgram(1, root),
		drawnProgram(2, root+";main.logged;main.authorized;example.com/mux.(*Mux).ServeHTTP;main.counted"),
		recorded(t, "../../budget/testdata/json-go1.26.pb.gz"),
		recorded(t, "../integration/programs/testdata/small.pgo"),
	}
	for i, p := range list {
		unit := p.unit()
		list[i] = p.edit(func(c *costly) { c.cost *= 0.01 / unit })
		list[i].fixed = nil
	}
	return list
}

// drawnProgram has functions that call each other, drawn by chance.
func drawnProgram(seed uint64, above string) *program {
	r, p := rand.New(rand.NewPCG(seed, seed)), &program{}
	var call func(frames string, cost float64, depth int)
	call = func(frames string, cost float64, depth int) {
		own := cost * (0.1 + 0.3*r.Float64())
		if depth == 6 || cost < 0.01 {
			own = cost
		}
		p.stacks = append(p.stacks, costly{frames, own})
		for rest := cost - own; rest > 0; {
			part := max(min(rest, cost*(0.2+0.5*r.Float64())), 0.004)
			call(fmt.Sprintf("%s;main.layer%dStep%d", frames, depth, r.IntN(6)), part, depth+1)
			rest -= part
		}
	}
	call(above, 1, 0)
	return p
}

// recorded is a program as one profile shows it, with one stack for each way that is charged.
func recorded(t *testing.T, file string) *program {
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	profile, err := new(decode.Decoder).Bytes(b)
	if err != nil {
		t.Fatal(err)
	}
	p, ways := &program{}, map[string]int{}
	for i, s := range profile.Samples {
		var frames []string
		for _, l := range slices.Backward(profile.Stacks[s.StackLo:s.StackHi]) {
			for line := profile.Locations[l].LineHi; line > profile.Locations[l].LineLo; line-- {
				frames = append(frames, strings.ReplaceAll(profile.Symbols.Name(profile.Lines[line-1].Name), ";", ","))
			}
		}
		c := costly{strings.Join(frames, ";"), float64(profile.Values[i*len(profile.Types)])}
		way := strings.Join(charged(t, c.frames), ";")
		at, known := ways[way]
		if !known {
			at, ways[way] = len(p.stacks), len(p.stacks)
			p.stacks = append(p.stacks, costly{frames: c.frames})
		}
		p.stacks[at].cost += c.cost
	}
	return p
}
