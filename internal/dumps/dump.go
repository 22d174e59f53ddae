// Package dumps keeps offending profiles on disk.
//
// # A dump
//
// A dump is one profile, others that help to understand it (goroutines, an execution
// trace) and a sidecar in JSON, which says which budget failed and by how much. The
// names of its files begin with the [ID] of the dump:
//
//	DumpDir/profguard/profguard-5f3a9c21/profguard-20261121T091500.123Z-checkout-tls-5f3a9c21-7b2d9e0f-first.cpu.pb.gz
//
// These are the time in UTC, so that names sort by age; the budget; the instance,
// which is one open [Store]; a random number; and a mark, if the dump is the first
// of an alert or was the worst when it was saved.
//
// # One folder per process
//
// DumpDir may belong to anybody, as a volume of Kubernetes does. The folder profguard in it belongs to the
// own user, nobody else may write to it, and it is no link: what is not so is refused. All that is read
// and written goes through a handle of that folder, so that nobody can turn it elsewhere by a link. Who
// may remove or replace the folder costs the dumps in it; the next dump makes it again.
//
// Each Store makes a folder of its own in it and writes only there. It holds the lock of that
// folder until the process ends, however it ends: who can take the lock knows that the owner is
// gone. Where folders cannot be locked, an owner that has written nothing for an hour counts as
// gone.
//
// A Store deletes its own dumps and those of processes that are gone, and never those of another
// open Store. Its caps ([Keep]) hold for both together. Files with other names than this package
// writes, and files that are not regular, are never opened, counted or deleted.
//
// # Writing
//
// Files are a dump only with a sidecar. The profiles are durable under their names before
// the sidecar gets its name, and removing begins with the sidecar. So a crash at any point
// leaves a whole dump, or files without a sidecar, which the next Store to open removes.
// After an error at any point, all files of the dump are removed.
package dumps

import (
	"cmp"
	"encoding/json"
	"errors"
	"io/fs"
	"slices"
	"time"
)

// Dump is what [Store.Offer] queues.
type Dump struct {
	Name       string          // of the budget, for the names of the files
	Start, End time.Time       // of the window; End zero: now
	Budget     json.RawMessage // see [Sidecar]
	Mark       string          // First, Worst or ""
	Files      []File          // the profile of the budget, then the files that were taken with it
}

// The marks of dumps that are kept longer: the first of an alert, and one that is
// worse than all before it.
const (
	First = "first"
	Worst = "worst"
)

// File is a file of a dump. Its name is a lower-case word with the extension .pb.gz
// or .out: "cpu.pb.gz", "trace.out".
type File struct {
	Name string
	Data []byte
}

// Keep says how much is kept; zero fields mean the defaults.
type Keep struct {
	Dumps int           // their number, whatever number of files each has
	Bytes int64         // of all their files
	Age   time.Duration // since the end of its window
	// Free is the fraction of the disk that a save must leave free, if the platform says
	// how much is. Kubernetes evicts pods from a node that has less than a tenth left.
	Free float64
}

// withDefaults fills in the defaults. These are enough for a whole ordinary incident: six
// hours with one dump in ten minutes are 36 dumps, the dump of a busy service has less than
// 4 MiB, and a week covers a person's holiday.
func (k Keep) withDefaults() Keep {
	k.Dumps = cmp.Or(k.Dumps, 64)
	k.Bytes = cmp.Or(k.Bytes, 256<<20)
	k.Age = cmp.Or(k.Age, 7*24*time.Hour)
	k.Free = cmp.Or(k.Free, 0.10)
	return k
}

// Errors of this package. They are returned wrapped, with what was found and what to do.
// [Reason] sorts these and the system's errors into a few words.
var (
	// ErrLimit: the dump alone is larger than Keep.Bytes.
	ErrLimit = errors.New("retention limit reached")
	// ErrNoSpace: less than Keep.Free of the disk would be left.
	ErrNoSpace = errors.New("not enough free disk space")
	// ErrDropped: the queue is full.
	ErrDropped = errors.New("dropped")
	// ErrRefused: the directory, or something found in it, is not safe to use.
	ErrRefused = errors.New("refused as unsafe")
)

// reasons are words for errors. If two fit, the first counts. docs/reference.md has the comments.
var reasons = []struct {
	word string
	errs []error
}{
	{"limit", []error{ErrLimit}},                       // the dump alone is larger than DumpLimits.Bytes
	{"no_space", append(noSpace, ErrNoSpace)},          // less than a tenth of the disk would be left
	{"refused", []error{ErrRefused}},                   // the folder profguard in DumpDir is a link, belongs to another user, or others may write to it
	{"permission", append(readOnly, fs.ErrPermission)}, // the process may not write there, or the disk is read-only
	{"dropped", []error{ErrDropped}},                   // the disk is too slow
	{"other", nil},                                     // any other error
}

// Reasons are the words of [Reason].
func Reasons() (words []string) {
	for _, r := range reasons {
		words = append(words, r.word)
	}
	return words
}

// Reason sorts an error of this package into one of a few words, fit for a
// metric's label; "" for nil.
func Reason(err error) string {
	if err == nil {
		return ""
	}
	for _, r := range reasons {
		if slices.ContainsFunc(r.errs, func(e error) bool { return errors.Is(err, e) }) {
			return r.word
		}
	}
	return "other"
}
