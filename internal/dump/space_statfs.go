//go:build linux || darwin || freebsd

package dump

import (
	"os"

	"golang.org/x/sys/unix"
)

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
