package dumps

import (
	"errors"
	"io/fs"
	"os"

	"golang.org/x/sys/windows"
)

// Errors of the system that have a reason of their own.
var (
	noSpace  = []error{windows.ERROR_DISK_FULL, windows.ERROR_HANDLE_DISK_FULL}
	readOnly = []error{windows.ERROR_WRITE_PROTECT}
)

// openFlags: symlinks are handled by os.Root, and there are no FIFOs.
const openFlags = 0

// isOwn: access lists decide who may write, and Go does not read them.
func isOwn(fs.FileInfo) bool { return true }

func tryLock(f *os.File) (bool, error) {
	// One byte far beyond the contents, because Windows locks are mandatory
	// and the contents must stay readable.
	at := &windows.Overlapped{OffsetHigh: 1}
	const flags = windows.LOCKFILE_EXCLUSIVE_LOCK | windows.LOCKFILE_FAIL_IMMEDIATELY
	err := windows.LockFileEx(windows.Handle(f.Fd()), flags, 0, 1, 0, at)
	switch {
	case err == nil:
		return true, nil
	case errors.Is(err, windows.ERROR_LOCK_VIOLATION) || errors.Is(err, windows.ERROR_IO_PENDING):
		return false, nil
	case errors.Is(err, windows.ERROR_NOT_SUPPORTED) || errors.Is(err, windows.ERROR_INVALID_FUNCTION):
		return false, errors.ErrUnsupported
	}
	return false, os.NewSyscallError("LockFileEx", err)
}

// syncDir: Windows cannot flush a directory; NTFS journals its renames.
func syncDir(*os.File) error { return nil }

func space(dir *os.File) (free, total uint64, err error) {
	path, err := windows.UTF16PtrFromString(dir.Name())
	if err != nil {
		return 0, 0, err
	}
	if err := windows.GetDiskFreeSpaceEx(path, &free, &total, nil); err != nil {
		return 0, 0, os.NewSyscallError("GetDiskFreeSpaceEx", err)
	}
	return free, total, nil
}
