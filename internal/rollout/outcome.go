package rollout

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/profguard/profguard/internal/evidence"
	"github.com/profguard/profguard/internal/release"
	"github.com/profguard/profguard/internal/unit"
)

// A State says what is known of a rollout.
type State string

const (
	Equal     State = "equal"     // or cheaper: nothing costs more by the limit
	Dearer    State = "dearer"    // something surely costs more
	Undecided State = "undecided" // it may
)

// leastPoints is the growth from which a function is told of, in parts of what a unit of work did cost: a tenth of a point.
const leastPoints = 0.001

// Options say what is compared.
type Options struct {
	Job, Match  string
	Build, Base string        // names of builds; "" for those that are found
	Per         string        // the unit of work; "" for the one of which the build before has done most
	Limit       float64       // the growth of a function, in parts of the process, that an equal build surely has not
	Process     float64       // the same of the whole process
	Since       time.Duration // how far back builds are looked at
	Except      []string      // patterns of functions whose cost is accepted
}

// An Outcome is what a build costs against another one.
type Outcome struct {
	Job       string     `json:"job"`
	State     State      `json:"state"`
	Text      string     `json:"text"` // in a line
	Why       string     `json:"why,omitempty"`
	Before    Build      `json:"before"`
	Now       Build      `json:"now"`
	Unit      string     `json:"unit,omitempty"`
	Process   *Change    `json:"process,omitempty"` // the whole process
	Functions []Function `json:"functions"`         // that cost more for sure, and then others that may, or that cost less
	Notes     []string   `json:"notes,omitempty"`
}

// A Build is one of the two, with what is known of it.
type Build struct {
	Version   string  `json:"version"`
	Revision  string  `json:"revision"`
	Processes int     `json:"processes"` // that have counted
	Samples   float64 `json:"samples"`
	Work      float64 `json:"work"`
}

func (b Build) String() string {
	return release.Build{Version: b.Version, Revision: b.Revision}.String()
}

func (b Build) is(name string) bool {
	return is(release.Build{Version: b.Version, Revision: b.Revision}, name)
}

// A Change is by how much more something costs, in parts of what a unit of work did cost before, with bounds.
type Change struct {
	Value float64 `json:"value"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
}

func (c Change) String() string {
	high := fmt.Sprintf("%+.2f", 100*c.High)
	if c.High > 10 {
		high = "any number"
	}
	return fmt.Sprintf("%+.2f points (%+.2f to %s)", 100*c.Value, 100*c.Low, high)
}

// A Function is one of the service.
type Function struct {
	Name   string  `json:"function"`
	State  State   `json:"state"`
	Points Change  `json:"points"`
	Before float64 `json:"before"` // CPU seconds for a unit of work
	Now    float64 `json:"now"`
	Moved  string  `json:"moved_from,omitempty"` // the function that it was before, or a part of
	// MayMove says that it costs more, but has a new name, and what it costs may have been another's.
	MayMove bool `json:"may_have_moved,omitempty"`
}

// Costs is what it costs more, in words.
func (f *Function) Costs() string {
	if f.MayMove {
		return f.Points.String() + ", unless it only moved"
	}
	return f.Points.String()
}

// Judge compares what the processes of two builds have counted.
func Judge(ctx context.Context, before, now release.Build, was, is []Process, o Options) (*Outcome, error) {
	if o.Per == "" {
		o.Per = unitOf(was, is)
	}
	return judge(ctx, gather(before, was, o.Per), gather(now, is, o.Per), o)
}

// judge compares two builds.
func judge(ctx context.Context, was, is *gathered, o Options) (*Outcome, error) {
	r := &Outcome{Job: o.Job, State: Undecided, Before: was.build, Now: is.build, Unit: o.Per}
	if !(was.build.Work > 0) || !(is.build.Work > 0) {
		why := "there is no unit of work that both builds have done: set Work in guard.Config, or wait until both have counted"
		if o.Per != "" {
			why = fmt.Sprintf("the two builds have not both done work of the unit %q: wait until they have, or name another one with -per", o.Per)
		}
		r.undecided(why)
		return r, nil
	}
	c, err := release.Compare(ctx, was.side, is.side, release.Options{Per: r.Unit, Limit: o.Limit, Except: o.Except, Fleet: true})
	if err != nil {
		return nil, err
	}
	if c.Why != "" || !c.Known {
		r.undecided(c.Why)
		return r, nil
	}
	r.Notes = c.Notes
	r.Process = &Change{c.Process.Value, c.Process.Low, c.Process.High}
	if len(o.Except) > 0 {
		if r.Process, err = processWithout(ctx, was, is, o); err != nil {
			return nil, err
		}
		r.Notes = append(r.Notes, "the process is compared without the functions that are accepted")
	}
	// With less work than before, what costs the same all the time costs more for each unit.
	fixed := max(0, c.Before.Load/max(c.Now.Load, 1e-9)-1)
	r.State = stateOf(r.Process.Low-fixed > o.Process, r.Process.High < evidence.Edge(o.Process))
	for i := range c.Functions {
		f := functionOf(&c.Functions[i], o.Limit, restOf(was.rest, c.Functions[i].Name), restOf(is.rest, c.Functions[i].Name)*c.Scale.Value)
		r.Functions = append(r.Functions, f)
		r.State = worse(r.State, f.State)
	}
	if most := is.rest[""] * c.Scale.Value; r.State == Equal && most >= evidence.Edge(o.Limit) {
		r.State = Undecided
		r.Why = fmt.Sprintf("functions without a series may cost %.1f points each: set FunctionSeries in guard.Config to more, and let Prometheus keep the series", 100*most)
	}
	slices.SortStableFunc(r.Functions, func(a, b Function) int { return rank(a.State) - rank(b.State) })
	r.Text = r.sentence()
	return r, nil
}

// processWithout compares the processes without the functions that are accepted.
func processWithout(ctx context.Context, was, is *gathered, o Options) (*Change, error) {
	before, missing, err := was.without(o)
	if err != nil {
		return nil, err
	}
	now, unseen, err := is.without(o)
	if err != nil {
		return nil, err
	}
	c, err := release.Compare(ctx, before, now, release.Options{Per: o.Per, Fleet: true})
	if err != nil {
		return nil, err
	}
	return &Change{c.Process.Value, c.Process.Low - unseen, c.Process.High + missing}, nil
}

// restOf is the rest of a function.
func restOf(rest map[string]float64, name string) float64 {
	if share, known := rest[name]; known {
		return share
	}
	return rest[""]
}

// functionOf is a function of a comparison. missing is what it may have cost before, and unseen what it may cost now, in
// processes that have no series of it.
func functionOf(f *release.Function, limit, missing, unseen float64) Function {
	x := Function{Name: f.Name, Points: Change{f.Points.Value, f.Points.Low - missing, f.Points.High + unseen}, Before: f.Before, Now: f.Now}
	dearer := (f.Named || f.Above) && !f.MayMove && x.Points.Low > 0 && x.Points.Value >= leastPoints
	x.State = stateOf(dearer, x.Points.High < evidence.Edge(limit))
	x.MayMove = x.State == Undecided && f.MayMove && x.Points.Low > 0
	if f.Status == release.Moved {
		x.State, x.Moved, x.MayMove = Equal, f.From, false
	}
	return x
}

func stateOf(dearer, equal bool) State {
	switch {
	case dearer:
		return Dearer
	case equal:
		return Equal
	}
	return Undecided
}

func rank(s State) int { return slices.Index([]State{Dearer, Undecided, Equal}, s) }

// worse is the one of two states that counts for both.
func worse(a, b State) State {
	if rank(b) < rank(a) {
		return b
	}
	return a
}

func (r *Outcome) undecided(why string) {
	r.State, r.Why = Undecided, why
	r.Text = r.sentence()
}

// Dearer are the functions that surely cost more.
func (r *Outcome) Dearer() (list []Function) {
	for _, f := range r.Functions {
		if f.State == Dearer {
			list = append(list, f)
		}
	}
	return list
}

// mostNamed is how many functions are in a line.
const mostNamed = 5

// sentence is the outcome in a line.
func (r *Outcome) sentence() string {
	if r.Process == nil {
		return fmt.Sprintf("%s: undecided: %s", r.Job, r.Why)
	}
	text := fmt.Sprintf("%s %s ", r.Job, r.Now)
	more := r.Dearer()
	switch {
	case len(more) > 0:
		var names []string
		for _, f := range more[:min(len(more), mostNamed)] {
			names = append(names, fmt.Sprintf("%s %+.2f points", f.Name, 100*f.Points.Value))
		}
		if n := len(more) - mostNamed; n > 0 {
			names = append(names, fmt.Sprintf("%d more functions", n))
		}
		text += "costs more: " + strings.Join(names, ", ")
	case r.State == Dearer:
		text += "costs more as a whole, with no function to name"
	case r.State == Equal:
		text += "costs no more"
	default:
		text += "is undecided"
	}
	text += fmt.Sprintf("; each %s takes %.1f%% of the CPU that it took in %s (%.1f%% to ", r.Unit, 100*(1+r.Process.Value), r.Before, 100*(1+r.Process.Low))
	if r.Process.High > 10 {
		text += "any)"
	} else {
		text += fmt.Sprintf("%.1f%%)", 100*(1+r.Process.High))
	}
	text += fmt.Sprintf(", by %s of %s, %s of %s before", unit.Plural(int64(r.Now.Samples), "sample"), processes(r.Now.Processes), unit.Plural(int64(r.Before.Samples), "sample"), processes(r.Before.Processes))
	if r.Why != "" {
		text += "; " + r.Why
	}
	return text
}

func processes(n int) string {
	if n == 1 {
		return "1 process"
	}
	return fmt.Sprintf("%d processes", n)
}
