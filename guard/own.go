package guard

import (
	"github.com/profguard/profguard/internal/charge"
	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/profiles"
)

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
// accuse itself. The profile that a dump keeps still has it.
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

// isOurs reports whether a sample is of profguard's own making.
func isOurs(t *decode.Table, s decode.Sample) bool {
	if s.StackLo == s.StackHi {
		return false
	}
	stack := t.Stacks[s.StackLo:s.StackHi]
	bottom := t.Locations[stack[len(stack)-1]]
	if bottom.LineLo == bottom.LineHi {
		return false
	}
	switch charge.Started(t.Symbols.Name(t.Lines[bottom.LineHi-1].Name)) {
	case charge.Theirs:
		return false
	case charge.Ours:
		return true
	}
	for _, at := range stack {
		for _, line := range t.Lines[t.Locations[at].LineLo:t.Locations[at].LineHi] {
			if charge.Lends(t.Symbols.Name(line.Name)) {
				return false
			}
		}
	}
	return true
}
