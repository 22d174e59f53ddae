package web

import (
	"bytes"
	"math"
	"net/http"
	"slices"

	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/names"
)

// A Pair is what the running build did, and another one before it.
type Pair struct {
	Title       string
	Now, Before *decode.Table // of CPU
	// Scale is what everything costs now in parts of what it cost before.
	Scale float64
	// Encode writes the profile of one of them.
	Encode func(before bool) []byte
}

// newDifference is the flame graph of the profile now, in which each frame has what it was worth before,
// for the same work. Functions have the names that both builds have: closures are part of the function
// that holds them.
func newDifference(p Pair, module string) flame {
	f, s := flame{Module: module, Title: p.Title}, &stackSet{number: map[string]int{}}
	now, before := shown(p.Now), shown(p.Before)
	if now < 0 || before < 0 || !(p.Scale > 0) {
		return f
	}
	f.Unit = p.Now.Types[now].Unit
	s.add(p.Now, now, names.Fold, func(one *stack, v float64) { one.value = v; f.Total += v })
	is, was := map[string]bool{}, map[string]bool{}
	for _, name := range s.names {
		is[name] = true
	}
	for _, fn := range p.Before.Funcs {
		was[names.Fold(p.Before.Symbols.Name(fn.Name))] = true
	}
	renamed := map[string]string{}
	for name, old := range names.Pair(without(was, is), without(is, was)) {
		renamed[old] = name
	}
	total, from := 0.0, len(s.list)
	s.add(p.Before, before, func(name string) string {
		name = names.Fold(name)
		if now := renamed[name]; now != "" {
			return now
		}
		return name
	}, func(one *stack, v float64) { one.before = v; total += v })
	if !(total > 0) {
		return f
	}
	worth := f.Total / (p.Scale * total)
	for _, one := range s.list[from:] {
		one.before *= worth
	}
	perSample := func(t *decode.Table, total float64) float64 { return total / max(1, float64(t.Count())) }
	a, b := perSample(p.Now, f.Total), worth*perSample(p.Before, total)
	for _, n := range f.draw(s) {
		f.Before, f.Change = append(f.Before, n.before), append(f.Change, change(n.value, n.before, a, b))
	}
	return f
}

// without are the names that others has not.
func without(names, others map[string]bool) (list []string) {
	for name := range names {
		if !others[name] {
			list = append(list, name)
		}
	}
	slices.Sort(list)
	return list
}

// change is how surely and how much two values differ, each of samples that are worth so much: 0 if that may be
// noise, and else 1 to 3, or -1 to -3 for less. It is for the eye: samples vary twice as much as independent
// ones, and of a thousand frames one or two are coloured by chance.
func change(now, before, perSample, perSampleBefore float64) int {
	const sigmas, spread = 3.3, 2
	noise := math.Sqrt(spread * (now*perSample + before*perSampleBefore))
	if difference := math.Abs(now - before); difference <= sigmas*noise {
		return 0
	}
	level := 1
	for _, ratio := range []float64{1.25, 2} {
		if max(now, before) >= ratio*min(now, before) {
			level++
		}
	}
	if now < before {
		return -level
	}
	return level
}

// What the page says where there is nothing to draw. That is no error: browsers would log one.
const (
	noPair   = "there is no build to compare with, or too little is known yet"
	noWindow = "there was no good window yet since the page was mounted"
)

// release answers with the difference to the build before, or with the profile of one of them.
func (h *Handler) release(w http.ResponseWriter, r *http.Request, name string) {
	h.heavy.use(w, busyHeavy, func(release func()) {
		var f flame
		var data []byte
		var known bool
		if h.Releases != nil {
			known = h.Releases(r.Context(), func(p Pair) {
				if name == "release.flame.json" {
					f = newDifference(p, h.Module)
				} else {
					data = p.Encode(name == "before.pb.gz")
				}
			})
		}
		switch {
		case !known && name == "release.flame.json":
			sendJSON(w, r, flame{Warning: noPair}, release)
		case !known:
			refuse(w, http.StatusNotFound, noPair)
		case data != nil:
			w.Header().Set("Content-Disposition", `attachment; filename="`+name+`"`)
			send(w, r, "application/octet-stream", bytes.NewReader(data), release)
		default:
			sendJSON(w, r, f, release)
		}
	})
}

// lastWindow answers with the profile of the last good window, as it is or as a flame graph.
func (h *Handler) lastWindow(w http.ResponseWriter, r *http.Request, draw bool) {
	h.heavy.use(w, busyHeavy, func(release func()) {
		var profile decode.Source
		if h.Window != nil {
			profile = h.Window()
		}
		switch {
		case profile.IsEmpty() && draw:
			sendJSON(w, r, flame{Warning: noWindow}, release)
		case profile.IsEmpty():
			refuse(w, http.StatusNotFound, noWindow)
		case draw:
			f, err := h.draw(profile.Table)
			if err != nil {
				refuse(w, http.StatusInternalServerError, "the profile cannot be drawn: "+err.Error())
				return
			}
			sendJSON(w, r, f, release)
		default:
			w.Header().Set("Content-Disposition", `attachment; filename="window.pb.gz"`)
			send(w, r, "application/octet-stream", bytes.NewReader(profile.Bytes()), release)
		}
	})
}
