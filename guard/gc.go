package guard

import (
	"strings"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/process"
)

// gcOf hands on what garbage collection took, or that it is not known. The runtime
// tells when a collection ends. Where none has, the CPU profile of the window shows
// whether one runs: t is nil where there is none.
func gcOf(used process.Figures, t *decode.Table, f *budget.Facts) {
	switch {
	case used.GCKnown:
		f.Figures["gc"] = used.GC
	case t != nil && !collects(t), t == nil && used.GCNone:
		f.Figures["gc"] = 0
	default:
		f.NoFigures = map[string]string{"gc": "no collection has ended, and what one costs is told at its end"}
	}
}

// collects reports whether a collection was under way: its workers take a quarter of
// all processors while it is.
func collects(t *decode.Table) bool {
	for _, line := range t.Lines {
		name := t.Symbols.Name(line.Name)
		if strings.HasPrefix(name, "runtime.gcBgMarkWorker") || strings.HasPrefix(name, "runtime.gcDrain") || strings.HasPrefix(name, "runtime.gcAssistAlloc") {
			return true
		}
	}
	return false
}
