package judge

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/profguard/profguard/internal/alert"
	"github.com/profguard/profguard/internal/charge"
	"github.com/profguard/profguard/internal/evidence"
)

// A record is what a [Watch] remembers of one rule. What of it is used depends on the regime.
type record struct {
	alert.Proof

	streams
	clean clean // since the last hit of an "absent" budget
}

// with is the finding on a window with what all windows prove.
func (r *record) with(f Finding) Finding {
	if r.Proven != evidence.Pass {
		r.Kept = 0
	}
	f.Proof = r.Proof
	return f
}

// proven is with where one window is proof.
func (r *record) proven(f Finding) Finding {
	if f.Verdict != evidence.Inconclusive {
		r.Proven, r.Evidence = f.Verdict, 0
	}
	return r.with(f)
}

// ended drops the evidence for an excess whose alert has ended.
func (r *record) ended() {
	for _, f := range r.by {
		f.Forget()
	}
	if r.Evidence, r.unproven = 0, false; r.Proven == evidence.Fail {
		r.Proven = evidence.Inconclusive
	}
}

// clean are samples without a hit, and those of them in which the frames that may match were cut off.
type clean struct{ samples, unknown float64 }

func (c *clean) add(samples, unknown float64) {
	c.samples += samples
	c.unknown += unknown
}

// finding is that on k hits among as many samples.
func (c *clean) finding(k float64) evidence.Finding {
	return withUnknown(evidence.Absent(k, c.samples), c.unknown/c.samples)
}

// withUnknown is the finding f on "absent" where a further share of the samples may match.
func withUnknown(f evidence.Finding, share float64) evidence.Finding {
	if f.Verdict != evidence.Fail && share > 0 {
		if f.High = min(f.High+share, 1); f.High > evidence.AbsentShare {
			f.Verdict = evidence.Inconclusive
		}
	}
	return f
}

const (
	// maxStreams limits the functions that one rule remembers, to far more than can be over it.
	maxStreams = 256

	// leastStrength is a twentieth of the evidence of a proof: odds of nearly three to one.
	leastStrength = 0.05
)

// quiet is how long a value of a label that is judged by its own work may have no samples until it counts for
// nothing. It has no work then by which it could be proven to cost less.
const quiet = 10 * time.Minute

// isQuiet reports whether a value has had no samples for so long, and for longer than it had some now and then: a rare
// one comes back.
func (s *stream) isQuiet(at time.Duration) bool { return at-s.seen > quiet+s.seen-s.since }

// streams are the evidence of windows that are added up, by name. A rule about one subject has only
// the name "". A rule about each function has one for each function that came near the limit;
// there, "" is a function without samples.
type streams struct {
	lnA      float64
	by       map[string]*stream
	unproven bool          // an excess of a function ended without proof that it is below the limit
	lost     bool          // the stream of a function was forgotten that had not passed
	lostAt   time.Duration // when that of a value was which is judged by its own work, 0 for never
}

// add adds a window to the stream of every function that has at least so many hits (near), or had.
// The rule is proven to be exceeded if that is proven of one of them, and to be kept if that is
// proven of all; else nothing is proven of it. A function that comes near to the limit was among the
// others until now, which had less in each window. add reports whether an excess has ended without proof of
// the opposite.
func (r *record) add(c *charges, near float64, limit evidence.Limit) (unproven bool) {
	if r.by == nil {
		r.by = map[string]*stream{}
	}
	for name := range c.names(near) {
		if r.by[name] == nil {
			f := &stream{Stream: evidence.NewStream(limit, r.lnA), since: c.m.at, seen: c.m.at}
			if others := r.by[""]; others != nil && others.Verdict() == evidence.Pass && !r.lost {
				f.Assume()
				f.kept = others.kept
			}
			r.by[name] = f
		}
	}
	failed, passed, kept, active := false, true, c.m.at, 0
	r.Evidence = 0
	for name, f := range r.by {
		f.Retune(r.lnA)
		was := f.Verdict()
		if f.add(c, name) {
			f.kept = c.m.at
		}
		if c.own != nil && c.m.at-f.seen > quiet && f.Verdict() == evidence.Fail { // nothing costs too much any more
			f.Forget()
		}
		if c.own != nil && f.isQuiet(c.m.at) { // what it has proven is for when it comes back
			if len(r.by) > charge.MostValues {
				delete(r.by, name)
			}
			continue
		}
		active++
		kept = min(kept, f.kept)
		r.unproven = r.unproven || was == evidence.Fail && f.Verdict() == evidence.Inconclusive
		r.Evidence = max(r.Evidence, f.Strength())
		// A budget that has failed goes on failing while a function may be over the limit.
		failed = failed || f.Verdict() == evidence.Fail || r.Proven == evidence.Fail && f.Strength() >= leastStrength
		passed = passed && f.Verdict() == evidence.Pass
	}
	if c.own == nil {
		r.forget(maxStreams)
	} else { // what was forgotten is none of the others, and without any value nothing is proven
		if r.forget(charge.MostValues); r.lost {
			r.lost, r.lostAt = false, c.m.at
		}
		passed = passed && active > 0 && (r.lostAt == 0 || c.m.at-r.lostAt > quiet)
	}
	if failed {
		r.Proven = evidence.Fail
		return false
	}
	unproven, r.unproven, r.Proven = r.unproven && !passed, false, evidence.Inconclusive
	if passed {
		r.Proven, r.Kept = evidence.Pass, max(r.Kept, kept)
	}
	return unproven
}

// A stream is the evidence about one function. Where observations weigh differently, it
// takes one for what those of this function have weighed on average so far, see
// [charges.bounds].
type stream struct {
	*evidence.Stream
	values, squares float64
	kept            time.Duration // when it proved a pass last; 0 for never
	since, seen     time.Duration // when it began, and when it had samples last
	open            float64       // hits in windows without work, of what a later one counts
}

// add adds the charge of a name in a window, and reports whether it proves a pass.
func (s *stream) add(c *charges, name string) bool {
	n := c.exposure(name)
	now, unknown, weight := c.of(name)
	if now > 0 {
		s.seen = c.m.at
	}
	switch {
	case c.own != nil && s.since == c.m.at: // that it has samples made it begin
		return false
	case !(n > 0):
		s.open += c.hits(now)
		return false
	}
	if hit := perHit(c.sums, c.m.t); c.sums.Uneven() {
		s.values += float64(now)
		s.squares += float64(now) * weight * hit
		if s.values > 0 {
			weight = s.squares / s.values / hit
		}
	}
	more := c.hits(unknown+c.unseen) + s.open
	s.open = 0
	return s.Add(c.hits(now)/weight, more/weight, n/weight, c.m.soon)
}

// forget limits the memory. It keeps the streams with the most evidence for an excess, and of
// those without any the ones that have not passed: a function that has is one of the others again.
func (s *streams) forget(most int) {
	if len(s.by) <= most {
		return
	}
	open := func(f *stream) int { // 0 if it has passed
		if f.Verdict() == evidence.Pass {
			return 0
		}
		return 1
	}
	names := slices.SortedFunc(maps.Keys(s.by), func(a, b string) int {
		f, g := s.by[a], s.by[b]
		return cmp.Or(cmp.Compare(f.Strength(), g.Strength()), cmp.Compare(open(f), open(g)), cmp.Compare(a, b))
	})
	names = slices.DeleteFunc(names, func(name string) bool { return name == "" })
	for _, name := range names[:len(s.by)-most] {
		s.lost = s.lost || s.by[name].Verdict() != evidence.Pass
		delete(s.by, name)
	}
}
