package guard

import (
	"runtime/debug"
	"time"

	"github.com/profguard/profguard/internal/process"
)

const (
	// smallProcess is the resident memory up to which a window's 2.5 MB matter, most
	// of which the runtime allocates to take a profile. Collecting the garbage of a
	// process of this size took 1 ms of CPU, three times a window, and the most
	// memory that was resident was 1 MB less.
	smallProcess = 32 << 20
	// trimEvery is the least period of windows at which a process is trimmed. At
	// shorter ones the memory would be gone for a moment only, and so would what the
	// host keeps in a sync.Pool. At this one the repository measures small processes.
	trimEvery = 20 * time.Second
	// trimShare is how much of a core trimming may take, a third of what the guard
	// promises for all it does. A heap of 26 MiB, all of it small objects, took 22 ms
	// to collect, which once a window is too much, and such a heap stays so.
	trimShare = 0.001
)

// small tells whether giving memory back that the process does not use costs next
// to nothing. Of larger processes neither the garbage nor the memory is the
// guard's business, nor is it of one that has switched the collector off.
func (l *looper) small(now process.Snapshot) bool {
	return l.seams.release != nil && 0 < now.RSS && now.RSS <= smallProcess && !now.GCOff &&
		l.cfg.Every >= trimEvery && !l.dear
}

// trim gives back memory that a small process does not use: before a window, so
// that what the runtime needs for it finds room, and after it. A third time is while
// the profile is written: see capture.
func (l *looper) trim(now process.Snapshot) {
	if !l.small(now) {
		return
	}
	l.decoder.Release()
	l.giveBack()
}

// giveBack gives memory back, and notes what that cost. It is called by the hub,
// too, which may be at it still when a window has been given up.
func (l *looper) giveBack() { l.trimmed.Add(int64(l.seams.release())) }

// trimming is what trimming has cost since it was last asked. If that is too much,
// it was the last time.
func (l *looper) trimming() time.Duration {
	cost := time.Duration(l.trimmed.Swap(0))
	if cost > time.Duration(trimShare*float64(l.cfg.Every)) {
		l.dear = true
	}
	return cost
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
