package guard

import (
	"context"
	"time"

	"github.com/profguard/profguard/internal/export"
)

// An Exporter sends profiles to where they outlive the process: a collector, Pyroscope, a bucket.
// The modules below github.com/profguard/profguard/export have some.
//
// A guard calls it on one goroutine, one profile at a time, and never waits for it. Export should
// end when ctx does. One that panics or hangs costs the program a counter and, while it hangs,
// that one goroutine. A profile is sent twice only after a crash, or if an answer was lost; its ID
// is the same then. An error means that the profile is sent again later, unless it wraps
// [ErrRefused]. If an error has a method RetryAfter() time.Duration, nothing is sent for that long,
// or for an hour if that is shorter.
//
// If an exporter has a method Validate() error, [Start] calls it and returns its error.
type Exporter interface {
	Export(ctx context.Context, p Profile) error
}

// A Locator is an [Exporter] that knows where a person finds a profile that it exports. URL must
// not block: it is asked before the profile is sent, for the event that names the dump.
type Locator interface {
	URL(p Profile) string
}

// ErrRefused is wrapped by the errors of an [Exporter] about a profile that its destination will
// never take, such as one that is too large.
var ErrRefused = export.ErrRefused

// A Profile is what an [Exporter] gets. It must not be modified.
type Profile struct {
	// ID is the same whenever this profile is sent, also by the next process. That of a dump's
	// profile is the dump's ID, a dot, and the kind.
	ID string
	// Kind is a kind of profile as budgets name it: "cpu", "heap", "allocs", "goroutine" ...
	Kind       string
	Data       []byte // gzipped profile.proto
	Start, End time.Time
	// Budget is the name of the budget that it is a dump of, "" for a window. A dump has the
	// samples of a window, and two budgets may have dumps of the same: to add up CPU, take windows.
	Budget string
	// Attributes describe the process, with OpenTelemetry's names: service.name,
	// service.version, vcs.revision, host.name ...; and of a dump, what was found:
	// profguard.dump.id, profguard.budget.sentence, profguard.verdict, profguard.value ...
	Attributes map[string]string
}
