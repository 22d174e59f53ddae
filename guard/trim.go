package guard

import (
	"time"

	"github.com/profguard/profguard/internal/figures"
)

const (
	// smallProcess is the resident memory up to which a window's 2.5 MB matter, most
	// of which the runtime allocates to take a profile. Collecting the garbage of a
	// process of this size took 1 ms of CPU, three times a window, and the most
	// memory that was resident was 1 MB less.
	smallProcess = 32 << 20
	// trimEvery is the least period of windows at which a process is trimmed. At
	// shorter ones the memory would be gone for a moment only.
	trimEvery = 10 * time.Second
)

// small tells whether giving memory back that the process does not use costs next
// to nothing. Of larger processes neither the garbage nor the memory is the
// guard's business.
func (l *looper) small(now figures.Snapshot) bool {
	return l.seams.release != nil && 0 < now.RSS && now.RSS <= smallProcess && l.cfg.Every >= trimEvery
}

// trim gives back memory that a small process does not use: before a window, so
// that what the runtime needs for it finds room, and after it. A third time is while
// the profile is written: see capture.
func (l *looper) trim(now figures.Snapshot) {
	if !l.small(now) {
		return
	}
	l.decoder.Release()
	l.seams.release()
}
