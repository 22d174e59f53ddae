package guard

import (
	"context"
	"time"

	"github.com/profguard/profguard/internal/export"
)

// An Export says which profiles leave the process, and where they go. docs/export.md says what leaves,
// and what it costs.
type Export struct {
	// To gets the profiles of each dump. It works without a DumpDir. Default: none.
	// Without it, no profile leaves.
	//
	// With a DumpDir, the next process that opens it sends the profiles that this one has not sent.
	To Exporter

	// All exports each good window, too.
	All bool

	// Label reports whether a pprof label of samples may leave the process. Default: all may leave.
	//
	// The value of a numeric label comes as its digits. Profiles leave without the labels that Label refuses. In
	// events, metrics, status and page their values are "(hidden)", and so are those that would not be shown in
	// full: with more than 100 bytes, or with control characters. Dumps in DumpDir have all labels, and a process
	// without a Label does not send the dumps of one that had it. If Label panics, the profile is not sent.
	Label func(key, value string) bool

	// Attributes describe the process in exported profiles, with OpenTelemetry's names. They replace the
	// default attributes one by one, and "" removes one.
	//
	// The default attributes are service.name (the last part of the main module's path), service.version,
	// vcs.revision, host.name, service.instance.id (the host's name), process.runtime.name and
	// process.runtime.version.
	Attributes map[string]string
}

// An Exporter sends profiles to a place where they outlive the process: a collector, Pyroscope, a
// bucket. The modules below github.com/profguard/profguard/export have some.
//
// A guard calls it on one goroutine, one profile at a time, and never waits for it. Export should
// return when ctx ends. If it panics or hangs, that is counted, and the program and the
// guard go on. A profile is sent twice, with the same ID, only after a crash, or if an answer was
// lost. After an error the profile is sent again later, unless the error wraps
// [ErrPermanent]. If an error has a method RetryAfter() time.Duration, nothing is sent for that long,
// and for an hour at most.
//
// If an exporter has a method Validate() error, [Start] calls it and returns its error. If it has a
// method URL(p Profile) string, the event about a dump has the address where a person finds the
// profile. URL is called before the profile is sent, and must not block.
type Exporter interface {
	Export(ctx context.Context, p Profile) error
}

// ErrPermanent is wrapped by an error of an [Exporter] about a profile that its destination will
// never take, such as one that is too large. The guard does not send it again.
var ErrPermanent = export.ErrPermanent

// A Profile is what an [Exporter] gets. It must not be modified.
type Profile struct {
	// ID is the same whenever this profile is sent, even by the next process. For a dump's profile
	// it is the dump's ID, a dot, and the kind.
	ID string
	// Kind is a kind of profile as budgets name it: "cpu", "heap", "allocs", "goroutine" ...
	Kind       string
	Data       []byte // gzipped profile.proto
	Start, End time.Time
	// Budget is the name of the broken budget in a dump, and "" in a window. A dump has the samples
	// of a window, and two budgets may have dumps of the same window. To add up CPU, take windows
	// only.
	Budget string
	// Attributes describe the process, with OpenTelemetry's names: service.name,
	// service.version, vcs.revision, host.name ... Those of a dump have the finding, too:
	// profguard.dump.id, profguard.budget.sentence, profguard.verdict, profguard.value ...
	Attributes map[string]string
}
