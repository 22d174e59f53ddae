package rollout

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/profguard/profguard/internal/release"
)

// steps is in how many steps the lives of processes are looked for: one of five minutes, in a day.
const steps = 288

// Ask compares two builds of a job, by what the Prometheus knows now.
func (c *Client) Ask(ctx context.Context, o Options, now time.Time) (*Outcome, error) {
	step := max(o.Since/steps, time.Second)
	from := now.Add(-o.Since).Truncate(step) // so that the next question has the same steps
	counted, err := c.between(ctx, selector(o.Job, o.Match, metricCounted), from, now, step)
	if err != nil {
		return nil, err
	}
	builds, err := c.between(ctx, selector(o.Job, o.Match, metricBuild), from, now, step)
	if err != nil {
		return nil, err
	}
	lives := livesOf(counted, builds)
	list := buildsOf(lives, builds)
	if o.Build == "" {
		if list, err = c.inOrder(ctx, o, list, step); err != nil {
			return nil, err
		}
	}
	was, is, why := choose(list, o.Base, o.Build)
	var read map[release.Build][]Process
	left := 0
	if why == "" {
		lives = slices.DeleteFunc(lives, func(l life) bool { return l.build != was && l.build != is })
		if read, left, err = c.read(ctx, o.Job, o.Match, lives); err != nil {
			return nil, err
		}
		why = cmp.Or(twice(read[was]), twice(read[is]))
	}
	if why != "" {
		r := &Outcome{Job: o.Job, Before: Build{Version: was.Version, Revision: was.Revision}, Now: Build{Version: is.Version, Revision: is.Revision}}
		r.undecided(why)
		return r, nil
	}
	r, err := Judge(ctx, was, is, read[was], read[is], o)
	if err != nil {
		return nil, err
	}
	if left > 0 {
		r.Notes = append(r.Notes, fmt.Sprintf("%s that ended were left out", processes(left)))
	}
	if running := running(builds, is); 2*r.Now.Processes < running {
		lacks := fmt.Sprintf("%d of %d processes of %s have counted", r.Now.Processes, running, r.Now)
		if r.State == Equal {
			r.undecided(lacks)
		} else {
			r.Notes = append(r.Notes, lacks)
		}
	}
	return r, nil
}

// fine is the step in which builds are looked at that were first seen in one step of the whole time.
const fine = 10 * time.Second

// inOrder orders builds that were first seen in the last step at which a new one was, by when that was exactly: of a
// process that has begun there is its build before it has counted.
func (c *Client) inOrder(ctx context.Context, o Options, list []seen, step time.Duration) ([]seen, error) {
	n := len(list)
	if n < 2 || step <= fine || list[n-1].first.Sub(list[n-2].first) > step {
		return list, nil
	}
	from := list[n-2].first.Add(-step)
	builds, err := c.between(ctx, selector(o.Job, o.Match, metricBuild), from, list[n-1].first, fine)
	if err != nil {
		return nil, err
	}
	first := map[release.Build]time.Time{}
	for i := range builds {
		s := &builds[i]
		is, at := buildOf(s.labels), s.points[0].at
		if known, ok := first[is]; !ok || at.Before(known) {
			first[is] = at
		}
	}
	ordered := slices.Clone(list)
	for i := range ordered {
		if at, known := first[ordered[i].build]; known && ordered[i].first.After(from) {
			ordered[i].first = at
		}
	}
	sortSeen(ordered)
	return ordered, nil
}

// running is the number of processes of a build at the last step at which any was seen.
func running(builds []series, build release.Build) (n int) {
	var last time.Time
	for i := range builds {
		s := &builds[i]
		switch at := s.last().at; {
		case buildOf(s.labels) != build || at.Before(last):
		case at.After(last):
			last, n = at, 1
		default:
			n++
		}
	}
	return n
}
