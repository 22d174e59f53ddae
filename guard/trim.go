package guard

import (
	"time"

	"github.com/profguard/profguard/internal/figures"
)

const (
	// smallProcess is the resident memory up to which a window's 2.5 MB matter, most
	// of which the runtime allocates to take a profile. Collecting the garbage of a
	// process of this size took 1 ms of CPU, twice a window, and its resident memory
	// was 1 MB less.
	smallProcess = 32 << 20
	// trimEvery is the least period of windows at which a process is trimmed. At
	// shorter ones the memory would be gone for a moment only.
	trimEvery = 10 * time.Second
)

// trim gives back memory that the process does not use, if the process is so
// small that this costs next to nothing: before a window, so that what the runtime
// needs for it finds room, and after it. Of larger ones neither the garbage nor
// the memory is the guard's business.
func (l *looper) trim(now figures.Snapshot) {
	if l.seams.release == nil || now.RSS <= 0 || now.RSS > smallProcess || l.cfg.Every < trimEvery {
		return
	}
	l.decoder.Release()
	l.seams.release()
}
