package dump

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// hasModes: Go makes the bits up on Windows, where access lists decide.
const hasModes = false

// openFlags: symlinks are handled by os.Root, and there are no FIFOs.
const openFlags = 0

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

func isNoSpace(err error) bool {
	return errors.Is(err, windows.ERROR_DISK_FULL) || errors.Is(err, windows.ERROR_HANDLE_DISK_FULL)
}

func isReadOnly(err error) bool { return errors.Is(err, windows.ERROR_WRITE_PROTECT) }
