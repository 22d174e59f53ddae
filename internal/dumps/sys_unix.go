//go:build linux || darwin || freebsd

package dumps

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// Errors of the system that have a reason of their own.
var (
	noSpace  = []error{unix.ENOSPC, unix.EDQUOT, unix.EFBIG}
	readOnly = []error{unix.EROFS}
)

// openFlags make an open that is tricked into a symlink or a FIFO fail at once.
const openFlags = unix.O_NOFOLLOW | unix.O_NONBLOCK

func isOwn(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Geteuid()
}

// lock fails with ErrUnsupported where there are no locks. Some network file systems lock only
// what is open for writing, as directories never are.
func lock(dir *os.File) error {
	err := unix.Flock(int(dir.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if err != nil && !errors.Is(err, unix.EWOULDBLOCK) {
		return fmt.Errorf("%w: flock: %w", errors.ErrUnsupported, err)
	}
	return err
}

// syncDir is a no-op where the file system has no such thing.
func syncDir(dir *os.File) error {
	err := dir.Sync()
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.EOPNOTSUPP) {
		return nil
	}
	return err
}

// space counts what an ordinary user may still take (Bavail), not what is
// reserved for root.
func space(dir *os.File) (free, total uint64, err error) {
	var st unix.Statfs_t
	if err := unix.Fstatfs(int(dir.Fd()), &st); err != nil {
		return 0, 0, os.NewSyscallError("fstatfs", err)
	}
	size := uint64(st.Bsize)
	// FreeBSD's Bavail goes below zero when root has eaten into the reserve.
	return uint64(max(int64(st.Bavail), 0)) * size, st.Blocks * size, nil
}
