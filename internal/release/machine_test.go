package release

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// TestBusierMachine: where the machine was busier on one side, and all costs more there, equal builds are
// told neither as dearer nor as cheaper for sure, and the balance says why. Without knowing of it, they are.
func TestBusierMachine(t *testing.T) {
	r := rand.New(rand.NewPCG(13, 14))
	quiet, loaded := halfHour, halfHour
	quiet.busy, loaded.busy, loaded.speed = 0.02, 0.35, 1/1.13
	quiet.windows, loaded.windows = 200, 200
	misled, n := 0, *releases/6
	for i := range n {
		before, now, when := loaded, quiet, "the machine was busier before (threads waited 35% of the time for a core, now 2%)"
		if i%2 > 0 {
			before, now, when = quiet, loaded, "the machine is busier now (threads waited 35% of the time for a core, before 2%)"
		}
		was, is := shop().run(t, r, before), shop().run(t, r, now)
		c := compare(t, was, is, "request")
		_, less, _ := c.Lists()
		if c.Process.Low > 0 || c.Process.High < 0 || first(c) != "" || len(less) > 0 {
			t.Errorf("equal builds: %s", show(c))
		}
		if text := c.Balance(); !strings.Contains(text, " may cost ") || !strings.Contains(text, when) {
			t.Errorf("the balance: %s", text)
		}
		was.Pieces.Machine, is.Pieces.Machine = Machine{}, Machine{}
		if c := compare(t, was, is, "request"); c.Process.Low > 0 || c.Process.High < 0 {
			misled++
		}
	}
	if misled < n*9/10 {
		t.Errorf("%d of %d comparisons that know nothing of the machine are sure: the test shows nothing", misled, n)
	}
}

// TestGrowthOnBusierMachine: what costs 30% more is told on a machine that is somewhat busier, and so is what
// costs 30% less.
func TestGrowthOnBusierMachine(t *testing.T) {
	r := rand.New(rand.NewPCG(15, 16))
	quiet := load{windows: 60, work: 200, jitter: 0.1, busy: 0.05}
	loaded := load{windows: 60, work: 200, jitter: 0.1, busy: 0.2, speed: 1 / 1.05}
	dear := shop().dearer(0.3, "main.cart.step3", ";main.audit")
	for range *releases / 6 {
		c := compare(t, shop().run(t, r, quiet), dear.run(t, r, loaded), "request")
		if c.Process.Low < 0.1 || first(c) != "main.audit" || strings.Contains(c.Balance(), " may cost ") {
			t.Errorf("%s", show(c))
		}
		c = compare(t, dear.run(t, r, loaded), shop().run(t, r, quiet), "request")
		if c.Process.High > -0.05 || first(c) != "" || find(t, c, "main.audit").Status != Cheaper {
			t.Errorf("%s", show(c))
		}
	}
}

// TestMachineUnknown: a machine that is as busy, or of which one side says nothing, changes no bounds.
func TestMachineUnknown(t *testing.T) {
	for name, busy := range map[string][2]float64{"not known before": {0, 0.35}, "not known now": {0.35, 0}, "alike": {0.31, 0.35}} {
		before, now := hour, halfHour
		before.busy, now.busy = busy[0], busy[1]
		run := func() *Comparison {
			r := rand.New(rand.NewPCG(17, 18))
			return compare(t, shop().run(t, r, before), shop().run(t, r, now), "request")
		}
		c := run()
		before.busy, now.busy = 0, 0
		if plain := run(); c.Machine != "" || c.Process != plain.Process || c.Balance() != plain.Balance() {
			t.Errorf("%s: %s\n%s", name, c.Balance(), plain.Balance())
		}
	}
}

// TestBusy: each sign of a busy machine counts, and they may differ in both directions. A piece that does not know
// the machine counts for nothing.
func TestBusy(t *testing.T) {
	side := func(m Machine) *Side {
		s := &Side{}
		for _, m := range []Machine{m, {}, m} {
			s.Pieces.Add(Piece{CPU: 4, Machine: m})
		}
		return s
	}
	idle := Machine{Cores: 20}
	for _, test := range []struct {
		was, is     Machine
		now, before float64
		want        string
	}{
		{idle, idle, 1, 1, ""},
		{idle, Machine{Others: 1.1, Cores: 20}, 1, 1, ""},
		{idle, Machine{Others: 10, Cores: 20}, 1.3, 1, "the machine is busier now (other processes used 50% of its cores, before 0%), which may be up to 30% of the cost"},
		{Machine{Stolen: 5, Cores: 20}, idle, 1, 1.2, "the machine was busier before (the hypervisor took 25% of its cores, now 0%), which may be up to 20% of the cost"},
		{Machine{Waited: 4, Cores: 20}, idle, 1, 1.3, "the machine was busier before (threads waited 50% of the time for a core, now 0%), which may be up to 30% of the cost"},
		{Machine{Waited: 1, Cores: 20}, Machine{Others: 20, Cores: 20}, 1.3, 1.15, "the machine is busier now (other processes used 100% of its cores, before 0%), which may be up to 30% of the cost"},
		{Machine{Others: 20, Cores: 20}, Machine{}, 1, 1, ""},
	} {
		c := &comparing{sides: [2]*Side{side(test.was), side(test.is)}}
		now, before, said := c.machine()
		if now < test.now-0.001 || now > test.now+0.001 || before < test.before-0.001 || before > test.before+0.001 || said != test.want {
			t.Errorf("%+v and %+v: %v, %v, %q", test.was, test.is, now, before, said)
		}
	}
}
