package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/profguard/profguard/internal/judge"
	"github.com/profguard/profguard/internal/kinds"
	"github.com/profguard/profguard/internal/unit"
)

// guardPeriod is the default period of a guard. Limits on what is allocated are for one.
const guardPeriod = time.Minute

// busyFor is how long a guard's profile keeps the profiler of a service by default, and a little more.
const busyFor = 11 * time.Second

// pprofAt is the root of the service whose net/http/pprof an address is in, nil if it is in none, and the name of the
// profile there, "" for the service as a whole.
func pprofAt(arg string) (root *url.URL, name string) {
	u, err := url.Parse(arg)
	if err != nil || u.Host == "" {
		return nil, ""
	}
	path := strings.TrimRight(u.Path, "/")
	before, name, found := strings.Cut(path+"/", "/debug/pprof/")
	if !found && path != "" {
		return nil, ""
	}
	u.Path = strings.TrimRight(before, "/") + "/"
	return u, strings.TrimRight(name, "/")
}

// inputsFor are the profiles that decide the rules and their conditions. It is that of CPU if there are
// none.
func inputsFor(rules []judge.Rule, from string) (list []*input) {
	for i := range rules {
		for _, kind := range []string{rules[i].SampledBy(), judge.FigureKinds[judge.FigureOf(rules[i].When.Figure)].Total} {
			if kind != "" && !slices.ContainsFunc(list, func(in *input) bool { return in.kind == kind }) {
				list = append(list, &input{from: from, kind: kind})
			}
		}
	}
	if list == nil {
		list = []*input{{from: from, kind: kinds.CPU}}
	}
	return list
}

// lasts reports whether the profile is of some time, and not of a moment.
func (in *input) lasts() bool { return kinds.Of(in.kind).Taken != kinds.State }

// survey asks a service for all that the rules need, and says what it lacks.
func (s *source) survey(ctx context.Context, root *url.URL, rules []judge.Rule, facts judge.Facts) ([]*input, error) {
	if n, err := strconv.Atoi(root.Query().Get("seconds")); err == nil {
		s.seconds = n
	}
	if err := s.checkSeconds(); err != nil {
		return nil, err
	}
	root.RawQuery = ""
	list := inputsFor(rules, strings.TrimSuffix(root.Redacted(), "/"))
	if slices.ContainsFunc(list, (*input).lasts) {
		fmt.Fprintf(s.err, "profiling for %v\n", time.Duration(s.seconds)*time.Second)
	}
	units := unitsOf(rules)
	a, err := s.ask(ctx, root, list, units, facts)
	if slices.ContainsFunc(list, func(in *input) bool { return isBusy(in.err) }) {
		fmt.Fprintf(s.err, "the service is being profiled, as by a guard in it: asking again in %v\n", s.pause)
		select {
		case <-time.After(s.pause):
			a, err = s.ask(ctx, root, list, units, facts) // also for metrics, which are of the time of the profiles
		case <-ctx.Done():
		}
	}
	if err != nil {
		return nil, err
	}
	if a.failed != nil && slices.ContainsFunc(rules, func(r judge.Rule) bool { return r.Per != "" || r.Subject == "rss" || r.When.Figure == "rss" }) {
		fmt.Fprintf(s.err, "no metrics: %v; -metrics says where they are\n", a.failed)
	}
	for _, text := range units {
		if _, given := facts.Work[text]; given || a.failed != nil {
			continue
		}
		if _, known := a.grown(text); !known && a.grownBy(text) == nil {
			fmt.Fprintf(s.err, "no counter %s in %s\n", text, a.at.Redacted())
		}
	}
	return list, nil
}

// unitsOf are the units of work of rules.
func unitsOf(rules []judge.Rule) (units []string) {
	for i := range rules {
		if _, ok := unit.ParseWork(rules[i].Per); ok && !slices.Contains(units, rules[i].Per) {
			units = append(units, rules[i].Per)
		}
	}
	return units
}

// An answer is what a service has answered beside its profiles: its metrics at the beginning and
// at the end, or why there are none.
type answer struct {
	at            *url.URL
	before, after *metrics
	failed        error
}

// grown is the work that was done in between, by a unit. A series begins with its first event, so one that was not there
// counts 0. It is not known if there is none now, or if it went back.
func (a *answer) grown(text string) (n float64, known bool) {
	u, ok := unit.ParseWork(text)
	if !ok || a.failed != nil || u.By != "" {
		return 0, false
	}
	then, _ := a.before.sum(u)
	now, known := a.after.sum(u)
	return now - then, known && now >= then
}

// grownBy is the work of each value of the label behind "by", nil if the unit has none. A value that is not in both is not
// known.
func (a *answer) grownBy(text string) map[string]float64 {
	u, ok := unit.ParseWork(text)
	if !ok || u.By == "" || !a.after.has(u) {
		return nil
	}
	grown, was := map[string]float64{}, a.before.by(u)
	for value, now := range a.after.by(u) {
		if then, known := was[value]; known && now >= then {
			grown[value] = now - then
		}
	}
	return grown
}

// ask asks a service for the profiles of a list, at the same time, and for its metrics at the
// beginning and at the end. It fails if there is no profile at all.
func (s *source) ask(ctx context.Context, root *url.URL, list []*input, units []string, facts judge.Facts) (*answer, error) {
	asked := namesOf(units)
	a, err := s.begin(ctx, root, asked)
	if err != nil {
		return nil, err
	}
	s.take(ctx, root, list)
	if in := list[0]; !slices.ContainsFunc(list, func(in *input) bool { return in.err == nil }) {
		return a, fmt.Errorf("%s: %w", in.from, in.err)
	}
	s.end(ctx, a, asked)
	for _, in := range list {
		in.facts = facts
		in.facts.Kind = in.kind
		in.facts.Figures, in.facts.Work, in.facts.WorkBy = maps.Clone(facts.Figures), maps.Clone(facts.Work), map[string]map[string]float64{}
		if in.table != nil && kinds.Of(in.kind).Taken == kinds.Difference {
			in.facts.Periods = float64(in.table.DurationNanos) / float64(guardPeriod)
		}
		if a.failed == nil {
			in.learn(a, units)
		}
		in.learnFrom(list)
	}
	return a, nil
}

// begin reads a service's metrics before its profiles are taken.
func (s *source) begin(ctx context.Context, root *url.URL, asked func(name []byte) bool) (*answer, error) {
	if err := s.credentials.load(); err != nil {
		return nil, err
	}
	a := &answer{at: root.JoinPath("metrics")}
	if s.metrics != "" {
		var err error
		if a.at, err = root.Parse(s.metrics); err != nil {
			return nil, fmt.Errorf("-metrics: %w", err)
		}
	}
	a.before, a.failed = s.readMetrics(ctx, a.at, asked)
	return a, nil
}

// end reads them again.
func (s *source) end(ctx context.Context, a *answer, asked func(name []byte) bool) {
	if a.failed == nil {
		a.after, a.failed = s.readMetrics(ctx, a.at, asked)
	}
	if a.failed == nil && !a.after.sameProcess(a.before) { // what they count cannot be compared
		a.failed = errors.New("they are of two processes: the service has restarted, or a load balancer switches between them")
	}
}

// take takes the profiles of a service, at the same time.
func (s *source) take(ctx context.Context, root *url.URL, list []*input) {
	silent := *s
	silent.err = io.Discard
	var taken sync.WaitGroup
	for _, in := range list {
		name := in.kind
		if name == kinds.CPU {
			name = "profile"
		}
		at := root.JoinPath("debug/pprof", name)
		if in.lasts() {
			at.RawQuery = "seconds=" + strconv.Itoa(s.seconds)
		}
		taken.Go(func() { in.table, _, in.err = silent.decode(ctx, at.String()) })
	}
	taken.Wait()
}

// figureMetrics are the metrics of client_golang that have a figure as a guard measures it.
var figureMetrics = map[string]string{"goroutines": "go_goroutines", "rss": "process_resident_memory_bytes", "heap": "go_memstats_heap_alloc_bytes"}

// learn adds what metrics say and was not given: the figures, and the work that was done while
// the profile was taken.
func (in *input) learn(a *answer, units []string) {
	give := func(facts map[string]float64, name string, value float64, known bool) {
		if _, given := facts[name]; known && !given {
			facts[name] = value
		}
	}
	for name, metric := range figureMetrics {
		v, known := a.after.value(metric)
		give(in.facts.Figures, name, v, known)
	}
	elapsed := a.after.at.Sub(a.before.at).Seconds()
	cpu, known := a.grown(cpuTotal)
	give(in.facts.Figures, "cores", cpu/elapsed, known && elapsed >= 1)
	if in.table == nil || !in.lasts() {
		return
	}
	part := float64(in.table.DurationNanos) * 1e-9 / elapsed
	for _, text := range units {
		if by := a.grownBy(text); by != nil {
			for value := range by {
				by[value] *= part
			}
			in.facts.WorkBy[text] = by
			continue
		}
		n, known := a.grown(text)
		give(in.facts.Work, text, n*part, known)
	}
}

// learnFrom adds the figures that other profiles show and that are not known, for conditions.
func (in *input) learnFrom(list []*input) {
	for _, other := range list {
		name, value := "", 0.0
		switch {
		case other == in || other.table == nil:
		case other.kind == kinds.CPU:
			name, value = "cores", coresOf(other.table)
		case other.kind == kinds.Goroutine:
			name, value = "goroutines", float64(other.table.Count())
		case other.kind == kinds.Heap:
			name, value = "heap", total(other.table, kinds.Of(kinds.Heap).Amount)
		}
		if _, known := in.facts.Figures[name]; name != "" && !known {
			in.facts.Figures[name] = value
		}
	}
}
