package rollout

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/profguard/profguard/internal/release"
)

// A life is the part of a process that Prometheus has seen. Two processes at one address are two lives: the counters
// begin anew, or the build is another one.
type life struct {
	process     string // its labels: see identity
	instance    string // of these, to ask for it
	build       release.Build
	first, last time.Time // steps in which it was seen
	samples     float64   // at the last
	steps       int
}

// differing are the labels that metrics of one process differ in, and identity the others, by which it is known: its job and
// instance, and whatever else a Prometheus adds, as a cluster.
var differing = map[string]bool{"__name__": true, "function": true, "unit": true, "version": true, "revision": true, "goversion": true}

// own are labels with those of the process under their own names. Where a target has a label of such a name, too, as a version
// that was copied from its pod, Prometheus renames that of the process.
func own(labels map[string]string) map[string]string {
	for name := range differing {
		if value, renamed := labels["exported_"+name]; renamed {
			labels[name] = value
			delete(labels, "exported_"+name)
		}
	}
	return labels
}

func identity(labels map[string]string) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		if !differing[name] {
			b.WriteString(name + "\x00" + labels[name] + "\x00")
		}
	}
	return b.String()
}

func buildOf(labels map[string]string) release.Build {
	return release.Build{Version: labels["version"], Revision: labels["revision"]}
}

// livesOf finds the lives in what processes have counted and in the builds of processes, both in the same steps. A
// step in which a process has two builds is left out: it was replaced while nobody scraped it, and nobody can tell whose
// counters these are.
func livesOf(counted, builds []series) (list []life) {
	type moment struct {
		process string
		at      time.Time
	}
	by := map[moment]release.Build{}
	twice := map[moment]bool{}
	for i := range builds {
		s := &builds[i]
		is := buildOf(s.labels)
		for _, p := range s.points {
			m := moment{identity(s.labels), p.at}
			if was, known := by[m]; known && was != is {
				twice[m] = true
			}
			by[m] = is
		}
	}
	for i := range counted {
		s := &counted[i]
		named := life{process: identity(s.labels), instance: s.labels["instance"]}
		now := named
		for _, p := range s.points {
			m := moment{now.process, p.at}
			build, known := by[m]
			if !known || twice[m] {
				continue
			}
			if now.steps > 0 && (p.value < now.samples || build != now.build) {
				list = append(list, now)
				now = named
			}
			if now.steps == 0 {
				now.build, now.first = build, p.at
			}
			now.last, now.samples, now.steps = p.at, p.value, now.steps+1
		}
		if now.steps > 0 {
			list = append(list, now)
		}
	}
	return list
}

// A seen is what was seen of a build.
type seen struct {
	build       release.Build
	first, last time.Time
	steps       int // of all its processes that count
}

// buildsOf are the builds, that which was first seen last at the end. One of which no process has counted yet has no
// steps: it is the newest all the same.
func buildsOf(lives []life, builds []series) (list []seen) {
	by := map[release.Build]*seen{}
	for i := range builds {
		b, first, last := buildOf(builds[i].labels), builds[i].points[0].at, builds[i].last().at
		s := by[b]
		if s == nil {
			s = &seen{b, first, last, 0}
			by[b] = s
		}
		if first.Before(s.first) {
			s.first = first
		}
		if last.After(s.last) {
			s.last = last
		}
	}
	for _, l := range lives {
		by[l.build].steps += l.steps
	}
	for _, s := range by {
		list = append(list, *s)
	}
	sortSeen(list)
	return list
}

func sortSeen(list []seen) {
	slices.SortFunc(list, func(a, b seen) int {
		return cmp.Or(a.first.Compare(b.first), cmp.Compare(a.steps, b.steps), cmp.Compare(a.build.String(), b.build.String()))
	})
}

// apart is how much later the newest build was first seen than all others. A Prometheus that has just begun sees what
// was there before, process by process, in the time of a scrape.
const apart = time.Minute

// is reports whether a name, as people give it, is that of a build: its version, or at least seven digits of its revision or,
// if it was modified, of its binary.
func is(b release.Build, name string) bool {
	return b.Version == name || b.Revision == name || len(name) >= 7 && (strings.HasPrefix(b.Revision, name) || strings.HasSuffix(b.Revision, "-"+name))
}

// choose finds the two builds to compare: those of the names, or the newest, and of the others the one that ran for most
// of the time. why says why there are none.
func choose(list []seen, base, build string) (was, now release.Build, why string) {
	named := func(name string) (b release.Build, why string) {
		for _, s := range list {
			switch {
			case !is(s.build, name):
			case b != release.Build{}:
				return b, "both " + b.String() + " and " + s.build.String() + " are " + name + ": name one by its revision"
			default:
				b = s.build
			}
		}
		if b == (release.Build{}) {
			return b, "no process of the build " + name + " was seen"
		}
		return b, ""
	}
	switch n := len(list); {
	case build != "":
		if now, why = named(build); why != "" {
			return was, now, why
		}
	case n == 0:
		return was, now, "no process of the job that counts functions was seen: check the job's name, and set FunctionSeries in guard.Config"
	case n > 1 && list[n-1].first.Sub(list[n-2].first) < apart:
		return was, now, "the newest build is unknown, as several were first seen within a minute: name it with -build"
	default:
		now = list[n-1].build
		if slices.ContainsFunc(list, func(s seen) bool { return s.last.After(list[n-1].last) }) {
			return was, now, "the newest build, " + now.String() + ", is gone"
		}
	}
	if !slices.ContainsFunc(list, func(s seen) bool { return s.build == now && s.steps > 0 }) {
		return was, now, "no process of " + now.String() + " has counted functions yet: wait, or set FunctionSeries in guard.Config"
	}
	if base != "" {
		if was, why = named(base); why == "" && was == now {
			why = "both builds are " + now.String()
		}
		return was, now, why
	}
	most := 0
	for _, s := range list {
		if s.build != now && s.steps > most {
			was, most = s.build, s.steps
		}
	}
	if most == 0 {
		why = "only " + now.String() + " was seen: there is no other build to compare it with"
	}
	return was, now, why
}
