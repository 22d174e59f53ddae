// Package dump keeps offending profiles on disk: a bounded, crash-safe store
// that any number of processes may share.
//
// # A dump
//
// A dump is one profile, the companions taken with it (goroutines, execution
// trace) and a JSON sidecar that says which budget it broke and by how much.
// Its files share a stem, which is the dump's [ID]:
//
//	profguard-20261121T091500.123Z-checkout-tls-5f3a9c21-7b2d9e0f.cpu.pb.gz
//	profguard-20261121T091500.123Z-checkout-tls-5f3a9c21-7b2d9e0f.goroutine.pb.gz
//	profguard-20261121T091500.123Z-checkout-tls-5f3a9c21-7b2d9e0f.json
//
// that is UTC time (so names sort by age), the budget made safe for a file
// name, the instance (one per open [Store]) and a random part (so names stay
// unique when the wall clock jumps back).
//
// # Protocol
//
// Every file is written under a random temporary name (O_EXCL, 0600), synced
// and closed. Then companions and profile are renamed to their names, the
// directory is synced, the sidecar is renamed, and the directory is synced
// again. A dump exists only when its sidecar does, and the sidecar comes last
// and is removed first, so a crash at any point leaves either a whole dump or
// remains that are recognised and reaped: temporary files and files without a
// sidecar. An error at any point removes what was written.
//
// The directory is created 0700, refused when group or others may write to it,
// and held by an [os.Root], so that it cannot be swapped for a symlink later.
// Names that are not exactly of the form above, and anything but regular files,
// are never opened, counted or deleted.
//
// # Sharing a directory
//
// Two advisory locks keep processes apart, and the kernel drops both when a
// process dies, however it dies and whichever container or PID namespace it
// was in:
//
//   - profguard.lock is held for the length of one save or clean-up. So whoever
//     holds it knows that every temporary file is the remains of a crash.
//   - profguard-<instance>.live is held for the life of a Store. Whoever can take
//     it knows that its owner is dead.
//
// A process deletes its own dumps and those of dead instances, never those of a
// live one. The caps of [Keep] hold for the whole directory: a save that would
// exceed them, with nothing left that this process may delete, is refused. So
// that one process cannot starve the others, each that holds more than its
// share (cap / live instances) keeps an eighth of the caps free for them.
//
// On a file system or platform without such locks the store cannot tell who is
// alive: the caps still hold, but anybody's oldest dump may go, and remains
// are reaped only after an hour.
//
// # Retention
//
// Dumps leave by age, and oldest first when there are too many or too large.
// The first and the worst dump of each budget's current violation leave last:
// only age, or the byte cap when a first or worst dump needs the room, removes
// them. Those of earlier violations leave after all ordinary dumps.
//
// # Blocking
//
// Store is synchronous and waits for the disk. [Writer] puts one goroutine and
// a small queue in front of it, so that a hung disk costs dumps and never the
// caller's time. Reading ([Store.List], [Store.Open]) takes no lock at all.
package dump
