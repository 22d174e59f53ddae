package guard

import (
	"time"

	"github.com/profguard/profguard/internal/charge"
	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/kinds"
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
	data    []byte
	elapsed time.Duration
	work    map[string]float64
	notWork map[string]string // why some is not known
	// fraction of contentions that were observed: one in so many, 0 if that is not known.
	fraction int
}

// begin notes where the first windows of the differences start, and those after a
// profile that could not be taken.
func (k *kindTaker) begin(p *panel, work readings) {
	for _, g := range p.groups {
		if kinds.Of(g.kind).Taken == kinds.Difference && !k.taker.Begun(g.kind) {
			k.work[g.kind], k.refused[g.kind] = work, k.taker.Begin(g.kind)
		}
	}
}

// end takes the profile of a kind. The error says why there is none.
func (k *kindTaker) end(kind string, work readings) (kindWindow, error) {
	if kinds.Of(kind).Taken == kinds.State {
		p, err := k.taker.Take(kind)
		return kindWindow{data: p.Data}, err
	}
	if err := k.refused[kind]; err != nil && !k.taker.Begun(kind) {
		return kindWindow{}, err
	}
	began, start := k.work[kind], k.taker.Start(kind)
	p, err := k.taker.End(kind)
	if err == nil || !k.taker.Start(kind).Equal(start) { // some windows end without a profile
		k.work[kind] = work
	}
	if err != nil {
		return kindWindow{}, err
	}
	w := kindWindow{data: p.Data, elapsed: p.Elapsed}
	w.work, w.notWork = between(began, work)
	if kinds.Of(kind).Sampling == kinds.Contention {
		w.fraction = int(p.Rate)
	}
	return w, nil
}

func (k *kindTaker) close() { k.taker.Close() }

// table decodes a profile of a kind other than cpu, of which profguard's own part
// is not judged.
func (l *looper) table(kind string, data []byte) (*decode.Table, error) {
	t, err := l.decoder.Bytes(data)
	if err == nil && kinds.Of(kind).Sampling != kinds.Counted {
		charge.Disown(t)
	}
	return t, err
}
