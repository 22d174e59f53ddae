package guard

import (
	"time"

	"github.com/profguard/profguard/internal/charge"
	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/profiles"
)

// kindTaker takes the profiles of the kinds other than cpu. Those that are
// differences (allocs, mutex, block) reach from one window's end to the next's:
// nothing is lost between windows, and nothing is paid at their starts.
type kindTaker struct {
	taker   profiles.Taker
	work    map[string]readings // by kind: the host's counters when its profile began
	refused map[string]error    // by kind: why it has not begun
}

func newKindTaker() *kindTaker {
	return &kindTaker{work: map[string]readings{}, refused: map[string]error{}}
}

// A kindWindow is a profile of another kind, and the work done while it was
// taken.
type kindWindow struct {
	data    []byte // valid until the next profile is taken
	elapsed time.Duration
	work    map[string]float64
	notWork map[string]string // why some is not known
	// fraction of contentions that a mutex profile has observed: one in so many.
	fraction int
}

// begin notes where the first windows of the differences start, and those after a
// profile that could not be taken.
func (k *kindTaker) begin(p *panel, work readings) {
	for _, g := range p.groups {
		kind := profiles.Kind(g.kind)
		if !kind.Delta() || k.taker.Begun(kind) {
			continue
		}
		k.work[g.kind], k.refused[g.kind] = work, k.taker.Begin(kind)
	}
}

// end takes the profile of a kind. The error says why there is none.
func (k *kindTaker) end(kind string, work readings) (kindWindow, error) {
	if !profiles.Kind(kind).Delta() {
		p, err := k.taker.Take(profiles.Kind(kind))
		return kindWindow{data: p.Data}, err
	}
	if err := k.refused[kind]; err != nil && !k.taker.Begun(profiles.Kind(kind)) {
		return kindWindow{}, err
	}
	p, err := k.taker.End(profiles.Kind(kind))
	if err != nil {
		return kindWindow{}, err
	}
	w := kindWindow{data: p.Data, elapsed: p.Elapsed}
	w.work, w.notWork = between(k.work[kind], work)
	k.work[kind] = work
	if p.Kind == profiles.Mutex {
		w.fraction = int(p.Rate)
	}
	return w, nil
}

func (k *kindTaker) close() { k.taker.Close() }

// table decodes a profile of a kind other than cpu, of which profguard's own part
// is not judged.
func (l *looper) table(kind string, data []byte) (*decode.Table, error) {
	t, err := l.decoder.Bytes(data)
	if err == nil && kind != string(profiles.Goroutine) && kind != kindLeaks {
		disown(t)
	}
	return t, err
}

// disown takes what profguard has done on goroutines of its own out of a profile
// of memory or contention, parts and total. Otherwise, in a process that only
// computes, taking profiles is nearly all that allocates, and the guard would
// name itself. The profile that a dump keeps still has it.
//
// In goroutine profiles it is up to package charge, and CPU profiles need it not: a
// budget asks how busy the process is, and a busy process does not see the guard.
func disown(t *decode.Table) {
	types := len(t.Types)
	for i := range t.Samples {
		if isOurs(t, t.Samples[i]) {
			clear(t.Values[i*types : (i+1)*types]) // nothing is what such a sample counts as
		}
	}
}

// isOurs reports whether a sample is of profguard's own making: of a goroutine of its
// own, and of no callback that it runs.
func isOurs(t *decode.Table, s decode.Sample) bool {
	ours := false
	for _, at := range t.Stacks[s.StackLo:s.StackHi] {
		for _, line := range t.Lines[t.Locations[at].LineLo:t.Locations[at].LineHi] {
			name := t.Symbols.Name(line.Name)
			if charge.Lends(name) {
				return false
			}
			ours = ours || charge.IsOurs(name)
		}
	}
	return ours
}
