package guard

import (
	"runtime/debug"
	"time"

	"github.com/profguard/profguard/internal/process"
)

const (
	// smallProcess is the resident memory up to which what a window leaves matters.
	// Collecting the garbage of a process of this size took 1 ms of CPU, and 0.2 MiB
	// less were resident in the median.
	smallProcess = 32 << 20
	// trimEvery is the least period of windows at which a process is trimmed. At
	// shorter ones the memory would be gone for a moment only, and so would what the
	// host keeps in a sync.Pool. At this one the repository measures small processes.
	trimEvery = 20 * time.Second
	// trimShare is how much of a core trimming may take, a third of what the guard
	// promises for all it does. A large heap of small objects takes longer to collect,
	// and stays so.
	trimShare = 0.001
)

// trim gives memory back that a small process does not use, after a window. It is left
// alone where that costs too much, where the process is large, and in one that has
// switched the collector off.
func (l *looper) trim(now process.Snapshot) {
	l.trimmed = 0
	if l.seams.release == nil || now.RSS <= 0 || now.RSS > smallProcess || now.GCOff || l.cfg.Every < trimEvery || l.dear {
		return
	}
	l.decoder.Release()
	l.trimmed = l.seams.release()
	l.dear = l.trimmed > time.Duration(trimShare*float64(l.cfg.Every))
}

// freeMemory gives memory back to the system, and returns what that cost: what this
// thread did, and what the collector did on others. The runtime counts the collector's
// waiting for a core as well, and on a busy machine that was 20 times what the whole
// process used meanwhile, so that is the most that is believed.
func freeMemory() time.Duration {
	before := process.ProcessCPU()
	var own time.Duration
	collector := process.Force(1, func() { own = onThread(debug.FreeOSMemory) })
	return min(own+collector, max(own, process.ProcessCPU()-before))
}
