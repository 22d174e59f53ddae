package service

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/judge"
	"github.com/profguard/profguard/internal/kinds"
	"github.com/profguard/profguard/internal/release"
	"github.com/profguard/profguard/internal/unit"
)

// guardPeriod is the default period of a guard. Limits on what is allocated are for one.
const guardPeriod = time.Minute

// A Question is what a service is asked for.
type Question struct {
	Kinds   []string // of profiles
	Units   []string // of work
	Seconds int      // how long profiles last that are not of a moment
	Facts   judge.Facts
}

// QuestionOf asks for the profiles that decide the rules and their conditions, that of CPU if there are none, and for
// their units of work.
func QuestionOf(rules []judge.Rule) (q Question) {
	for i := range rules {
		for _, kind := range []string{rules[i].SampledBy(), judge.FigureKinds[judge.FigureOf(rules[i].When.Figure)].Total} {
			if kind != "" && !slices.Contains(q.Kinds, kind) {
				q.Kinds = append(q.Kinds, kind)
			}
		}
		if _, ok := unit.ParseWork(rules[i].Per); ok && !slices.Contains(q.Units, rules[i].Per) {
			q.Units = append(q.Units, rules[i].Per)
		}
	}
	if q.Kinds == nil {
		q.Kinds = []string{kinds.CPU}
	}
	return q
}

// Lasts reports whether a kind of profile is of some time, and not of a moment.
func Lasts(kind string) bool { return kinds.Of(kind).Taken != kinds.State }

// A Profile is what a service has answered for a kind.
type Profile struct {
	Kind  string
	Table *decode.Table
	Facts judge.Facts // about it
	Err   error       // why there is no table
}

// An Answer is what a service has answered: profiles, and its metrics before and after them.
type Answer struct {
	Profiles      []Profile
	At            *url.URL // of the metrics
	Before, After *Metrics
	Failed        error // why there are none that can be compared
}

// Of is the profile of a kind, without a table and an error if it was not asked for.
func (a *Answer) Of(kind string) Profile {
	for _, p := range a.Profiles {
		if p.Kind == kind {
			return p
		}
	}
	return Profile{}
}

// Counts reports whether it is known how much work was done in between, by a unit.
func (a *Answer) Counts(text string) bool {
	_, known := a.grown(text)
	return known || a.grownBy(text) != nil
}

// grown is the work that was done in between, by a unit. A series begins with its first event, so one that was not there
// counts 0. It is not known if there is none now, or if it went back.
func (a *Answer) grown(text string) (n float64, known bool) {
	u, ok := unit.ParseWork(text)
	if !ok || a.Failed != nil || u.By != "" {
		return 0, false
	}
	then, _ := a.Before.Sum(u)
	now, known := a.After.Sum(u)
	return now - then, known && now >= then
}

// grownBy is the work of each value of the label behind "by", nil if the unit has none. A value that is not in both is not
// known.
func (a *Answer) grownBy(text string) map[string]float64 {
	u, ok := unit.ParseWork(text)
	if !ok || a.Failed != nil || u.By == "" || !a.After.Has(u) {
		return nil
	}
	grown, was := map[string]float64{}, a.Before.by(u)
	for value, now := range a.After.by(u) {
		if then, known := was[value]; known && now >= then {
			grown[value] = now - then
		}
	}
	return grown
}

// Ask asks a service for profiles, at the same time, and for its metrics at the beginning and at the end. It fails if
// there is no profile at all, with an answer that says why of each, or without one if there is nowhere to ask for metrics.
func (c *Client) Ask(ctx context.Context, root *url.URL, q *Question) (*Answer, error) {
	a, err := c.around(ctx, root, namesOf(q.Units), func(a *Answer) error {
		a.Profiles = c.take(ctx, root, q)
		if !slices.ContainsFunc(a.Profiles, func(p Profile) bool { return p.Err == nil }) {
			return a.Profiles[0].Err
		}
		return nil
	})
	if err != nil {
		return a, err
	}
	for i := range a.Profiles {
		p := &a.Profiles[i]
		p.Facts = q.Facts
		p.Facts.Kind = p.Kind
		p.Facts.Figures, p.Facts.Work, p.Facts.WorkBy = maps.Clone(q.Facts.Figures), maps.Clone(q.Facts.Work), map[string]map[string]float64{}
		if p.Table != nil && kinds.Of(p.Kind).Taken == kinds.Difference {
			p.Facts.Periods = float64(p.Table.DurationNanos) / float64(guardPeriod)
		}
		if a.Failed == nil {
			p.learn(a, q.Units)
		}
		p.learnFrom(a.Profiles)
	}
	return a, nil
}

// Meanwhile asks for the metrics of a service that may count work, before and after it is profiled.
func (c *Client) Meanwhile(ctx context.Context, root *url.URL, profile func() error) (*Answer, error) {
	asked := func(name []byte) bool { return countsWork(name) || string(name) == startTime }
	return c.around(ctx, root, asked, func(*Answer) error { return profile() })
}

// around reads the metrics of a service before and after something is done that takes a while, unless that fails.
func (c *Client) around(ctx context.Context, root *url.URL, asked func(name []byte) bool, do func(*Answer) error) (*Answer, error) {
	at, err := root.Parse(cmp.Or(c.Metrics, root.JoinPath("metrics").EscapedPath()))
	if err != nil {
		return nil, fmt.Errorf("-metrics: %w", err)
	}
	a := &Answer{At: at}
	a.Before, a.Failed = c.readMetrics(ctx, at, asked)
	if err := do(a); err != nil {
		return a, err
	}
	if a.Failed == nil {
		a.After, a.Failed = c.readMetrics(ctx, at, asked)
	}
	if a.Failed == nil {
		then, told := a.Before.Started()
		now, tells := a.After.Started()
		if told && tells && now != then { // what they count cannot be compared
			a.Failed = errors.New("they are of two processes: the service has restarted, or a load balancer switches between them")
		}
	}
	return a, nil
}

// take takes the profiles of a service, at the same time.
func (c *Client) take(ctx context.Context, root *url.URL, q *Question) []Profile {
	list := make([]Profile, len(q.Kinds))
	var taken sync.WaitGroup
	for i, kind := range q.Kinds {
		name, took := kind, time.Duration(0)
		if kind == kinds.CPU {
			name = "profile"
		}
		at := root.JoinPath("debug/pprof", name)
		if Lasts(kind) {
			at.RawQuery, took = "seconds="+strconv.Itoa(q.Seconds), time.Duration(q.Seconds)*time.Second
		}
		list[i].Kind = kind
		taken.Go(func() {
			from, err := c.Open(ctx, at, took)
			if err == nil {
				defer from.Close()
				list[i].Table, err = new(decode.Decoder).Decode(from)
			}
			list[i].Err = err
		})
	}
	taken.Wait()
	return list
}

// figureMetrics are the metrics of client_golang that have a figure as a guard measures it.
var figureMetrics = map[string]string{"goroutines": "go_goroutines", "rss": "process_resident_memory_bytes", "heap": "go_memstats_heap_alloc_bytes"}

// learn adds what metrics say and was not given: the figures, and the work that was done while
// the profile was taken.
func (p *Profile) learn(a *Answer, units []string) {
	give := func(facts map[string]float64, name string, value float64, known bool) {
		if _, given := facts[name]; known && !given {
			facts[name] = value
		}
	}
	for name, metric := range figureMetrics {
		v, known := a.After.value(metric)
		give(p.Facts.Figures, name, v, known)
	}
	elapsed := a.After.At.Sub(a.Before.At).Seconds()
	cpu, known := a.grown(cpuTotal)
	give(p.Facts.Figures, "cores", cpu/elapsed, known && elapsed >= 1)
	if p.Table == nil || !Lasts(p.Kind) {
		return
	}
	part := float64(p.Table.DurationNanos) * 1e-9 / elapsed
	for _, text := range units {
		if by := a.grownBy(text); by != nil {
			for value := range by {
				by[value] *= part
			}
			p.Facts.WorkBy[text] = by
			continue
		}
		n, known := a.grown(text)
		give(p.Facts.Work, text, n*part, known)
	}
}

// learnFrom adds the figures that other profiles show and that are not known, for conditions.
func (p *Profile) learnFrom(list []Profile) {
	for _, other := range list {
		name, value := "", 0.0
		switch {
		case other.Kind == p.Kind || other.Table == nil:
		case other.Kind == kinds.CPU:
			name, value = "cores", release.Cores(other.Table)
		case other.Kind == kinds.Goroutine:
			name, value = "goroutines", float64(other.Table.Count())
		case other.Kind == kinds.Heap:
			name, value = "heap", total(other.Table, kinds.Of(kinds.Heap).Amount)
		}
		if _, known := p.Facts.Figures[name]; name != "" && !known {
			p.Facts.Figures[name] = value
		}
	}
}

// total adds up the values of a type.
func total(t *decode.Table, name string) (sum float64) {
	i := slices.IndexFunc(t.Types, func(v decode.ValueType) bool { return v.Type == name })
	for ; i >= 0 && i < len(t.Values); i += len(t.Types) {
		sum += float64(t.Values[i])
	}
	return sum
}
