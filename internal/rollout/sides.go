package rollout

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/profguard/profguard/internal/pattern"
	"github.com/profguard/profguard/internal/release"
	"github.com/profguard/profguard/internal/tree"
)

// A Process is what one process has counted, in all its windows.
type Process struct {
	Name    string // its identity: a process that is started again on the same machine, for the same traffic, keeps it
	Samples float64
	Seconds float64            // of the windows
	Work    map[string]float64 // by unit
	Hits    map[string]float64 // by function; those that are missing have no series
	Rest    float64            // a share that no function without a series exceeds
}

const (
	// recent is how far back the last scrape of a process is looked for, as Prometheus does by itself.
	recent = 5 * time.Minute
	// mostTimes is at how many times lives are read that have ended. Those with the most samples are.
	mostTimes = 60
	// period is how much CPU time a sample stands for, in seconds: runtime/pprof takes a hundred a second.
	period = 0.01
)

// The metrics of a guard that are read.
const (
	metricCounted = "profguard_function_samples_total"
	metricBuild   = "profguard_build_info"
	metricHits    = "profguard_function_hits_total"
	metricRest    = "profguard_function_rest_ratio"
	metricWork    = "profguard_window_work_total"
	metricSeconds = "profguard_window_seconds_total"
)

// selector selects series of metrics of a job. match are more conditions, as they stand between braces, or "".
func selector(job, match string, metrics ...string) string {
	text := "{__name__=~" + strconv.Quote(strings.Join(metrics, "|")) + ",job=" + strconv.Quote(job)
	if match != "" {
		text += "," + match
	}
	return text + "}"
}

// read reads what lives have counted at their ends. left is the number of those that are left out.
func (c *Client) read(ctx context.Context, job, match string, lives []life) (list map[release.Build][]Process, left int, err error) {
	byTime := map[time.Time][]life{}
	weight := map[time.Time]float64{}
	for _, l := range lives {
		byTime[l.last] = append(byTime[l.last], l)
		weight[l.last] += l.samples
	}
	times := slices.SortedFunc(maps.Keys(byTime), func(a, b time.Time) int { return b.Compare(a) })
	if len(times) > mostTimes { // the newest has what runs now
		ended := times[1:]
		slices.SortStableFunc(ended, func(a, b time.Time) int { return cmp.Compare(weight[b], weight[a]) })
		for _, t := range ended[mostTimes-1:] {
			left += len(byTime[t])
		}
		times = times[:mostTimes]
	}
	list = map[release.Build][]Process{}
	for _, t := range times {
		query := selector(job, matching(match, byTime[t]), metricCounted, metricHits, metricRest, metricWork, metricSeconds) + fmt.Sprintf("[%.0fs]", recent.Seconds())
		answer, err := c.at(ctx, query, t)
		if err != nil {
			return nil, 0, err
		}
		found := processesOf(answer)
		for _, l := range byTime[t] {
			if p, known := found[l.process]; known {
				list[l.build] = append(list[l.build], p)
			} else {
				left++
			}
		}
	}
	return list, left, nil
}

// matching are conditions for the instances of lives alone, if they are few: a Prometheus need not read a hundred functions of
// a thousand processes because one has ended.
func matching(match string, lives []life) string {
	const longest = 2000 // bytes of an address are taken everywhere
	var names []string
	for _, l := range lives {
		names = append(names, regexp.QuoteMeta(l.instance))
	}
	text := strings.Join(names, "|")
	if len(text) > longest {
		return match
	}
	text = "instance=~" + strconv.Quote(text)
	if match != "" {
		text += "," + match
	}
	return text
}

// processesOf are the processes at their last scrapes, by their identities. What was not there at the last scrape
// is of the process before, or not its own any more.
func processesOf(list []series) map[string]Process {
	scrapes := map[string][]point{}
	for i := range list {
		if s := &list[i]; s.labels["__name__"] == metricCounted {
			scrapes[identity(s.labels)] = s.points
		}
	}
	by := map[string]Process{}
	for process, points := range scrapes {
		by[process] = Process{Name: process, Samples: points[len(points)-1].value, Rest: 1, Work: map[string]float64{}, Hits: map[string]float64{}}
	}
	for i := range list {
		s := &list[i]
		process := identity(s.labels)
		points, v := scrapes[process], s.last()
		if points == nil || len(points) > 1 && !v.at.After(points[len(points)-2].at) || len(points) == 1 && v.at.Before(points[0].at) {
			continue
		}
		p := by[process]
		switch s.labels["__name__"] {
		case metricHits:
			p.Hits[s.labels["function"]] = v.value
		case metricWork:
			p.Work[s.labels["unit"]] = v.value
		case metricSeconds:
			p.Seconds = v.value
		case metricRest:
			p.Rest = min(v.value, 1)
		}
		by[process] = p
	}
	for process, p := range by {
		if len(p.Hits) == 0 { // a function that has most of the samples has a series: somebody has dropped it
			p.Rest = 1
			by[process] = p
		}
	}
	return by
}

// twice says which process is in the list under two names, "" if none is: one that two of Prometheus scrape, or that has two
// ports. Each half would seem to confirm the other. No two processes have measured for the same nanoseconds.
func twice(list []Process) (why string) {
	by := map[[2]float64]*Process{}
	for i := range list {
		p := &list[i]
		key := [2]float64{p.Samples, p.Seconds}
		if q := by[key]; q != nil && p.Samples > 0 && q.Name != p.Name && maps.Equal(p.Work, q.Work) && maps.Equal(p.Hits, q.Hits) {
			a, b := unlike(q.Name, p.Name)
			return fmt.Sprintf("a process is there twice, by %s and by %s: leave one out with -match", a, b)
		}
		by[key] = p
	}
	return ""
}

// unlike are the first labels in which two identities differ.
func unlike(a, b string) (string, string) {
	x, y := strings.Split(a, "\x00"), strings.Split(b, "\x00")
	i := 0
	for i+3 < min(len(x), len(y)) && x[i] == y[i] && x[i+1] == y[i+1] {
		i += 2
	}
	return fmt.Sprintf("%s=%q", x[i], x[i+1]), fmt.Sprintf("%s=%q", y[i], y[i+1])
}

// gathered is a build with what its processes have counted.
type gathered struct {
	build Build
	side  *release.Side
	rest  map[string]float64 // see rest
	list  []Process
}

// least is the work of a process that has done none, such as one that hangs in a loop.
const least = 1e-9

// gather adds up the processes that count work in a unit. Those of one name are one piece: they differ from the
// others in the same way, so there is no more to learn of them about how processes differ.
func gather(b release.Build, list []Process, unit string) *gathered {
	list = slices.DeleteFunc(slices.Clone(list), func(p Process) bool {
		_, counts := p.Work[unit]
		return !counts || !(p.Samples > 0) || !(p.Seconds > 0)
	})
	g := &gathered{build: Build{Version: b.Version, Revision: b.Revision}, side: &release.Side{Build: b}, rest: rest(list), list: list}
	pieces, hits := map[string]*release.Piece{}, map[string]float64{}
	for _, p := range list {
		x := pieces[p.Name]
		if x == nil {
			x = &release.Piece{Work: map[string]float64{}, Hits: map[string]float64{}}
			pieces[p.Name] = x
		}
		x.Samples, x.CPU, x.Elapsed = x.Samples+p.Samples, x.CPU+period*p.Samples, x.Elapsed+p.Seconds
		x.Work[unit] += p.Work[unit]
		for f, h := range p.Hits {
			x.Hits[f] += h
			hits[f] += h
		}
		g.build.Samples, g.build.Work = g.build.Samples+p.Samples, g.build.Work+p.Work[unit]
	}
	for _, name := range slices.Sorted(maps.Keys(pieces)) {
		if x := pieces[name]; !(x.Work[unit] > 0) { // what it costs is the build's all the same
			x.Work[unit] = least
		}
		g.side.Pieces.Add(*pieces[name])
	}
	g.side.Tree, g.build.Processes = *tree.Flat(g.build.Samples, hits), len(pieces)
	return g
}

// without is the side as a whole without functions that are accepted: in each process without the one that costs most,
// since others may be a part of it. unsure is the most that they can cost beyond that, as a share, where they have no series.
func (g *gathered) without(o Options) (side *release.Side, unsure float64, err error) {
	var accepted []*pattern.Pattern
	for _, text := range o.Except {
		p, err := pattern.Parse(text)
		if err != nil {
			return nil, 0, err
		}
		accepted = append(accepted, p)
	}
	list := slices.Clone(g.list)
	for i := range list {
		p, most := &list[i], 0.0
		for name, hits := range p.Hits {
			if hits > most && slices.ContainsFunc(accepted, func(p *pattern.Pattern) bool { return p.Match(name) }) {
				most = hits
			}
		}
		unsure += max(0, p.Rest*p.Samples-most) / g.build.Samples
		p.Samples, p.Hits = max(1, p.Samples-most), nil
	}
	return gather(release.Build{}, list, o.Per).side, unsure, nil
}

// rest is the most that each function can cost beyond its hits in processes that have no series of it, as a share of the
// side's samples: by function, and under "" of one that none has a series of.
func rest(list []Process) map[string]float64 {
	samples, all := 0.0, 0.0
	with := map[string]float64{} // what is the rest of processes that have a series
	for _, p := range list {
		samples, all = samples+p.Samples, all+p.Rest*p.Samples
		for f := range p.Hits {
			with[f] += p.Rest * p.Samples
		}
	}
	shares := map[string]float64{"": all / max(samples, 1)}
	for f, w := range with {
		shares[f] = max(0, all-w) / max(samples, 1)
	}
	return shares
}

// unitOf is the unit of work of which the build before has done most, of those that both have done; "" if there is none.
func unitOf(was, is []Process) (unit string) {
	sum := func(list []Process) map[string]float64 {
		work := map[string]float64{}
		for _, p := range list {
			for u, n := range p.Work {
				work[u] += n
			}
		}
		return work
	}
	before, now := sum(was), sum(is)
	for _, u := range slices.Sorted(maps.Keys(before)) {
		if now[u] > 0 && before[u] > before[unit] {
			unit = u
		}
	}
	return unit
}
