//go:build unix && !aix && !solaris

package dump

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// hasModes: permission bits mean something here.
const hasModes = true

// openFlags make an open that is tricked into a symlink or a FIFO fail at once.
const openFlags = unix.O_NOFOLLOW | unix.O_NONBLOCK

func tryLock(f *os.File) (bool, error) {
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		switch {
		case err == nil:
			return true, nil
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.EWOULDBLOCK):
			return false, nil
		case errors.Is(err, unix.ENOLCK) || errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.ENOSYS):
			return false, errors.ErrUnsupported
		default:
			return false, os.NewSyscallError("flock", err)
		}
	}
}

// syncDir is a no-op where the file system has no such thing.
func syncDir(dir *os.File) error {
	err := dir.Sync()
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.EOPNOTSUPP) {
		return nil
	}
	return err
}

func isNoSpace(err error) bool {
	return errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) || errors.Is(err, unix.EFBIG)
}

func isReadOnly(err error) bool { return errors.Is(err, unix.EROFS) }
