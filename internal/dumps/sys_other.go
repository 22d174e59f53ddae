//go:build !linux && !darwin && !freebsd

package dumps

import (
	"errors"
	"io/fs"
	"os"
)

var noSpace, readOnly []error

// openFlags: symlinks are handled by os.Root.
const openFlags = 0

// isOwn: the mode of the directory is still checked, but on Windows, where access
// lists decide who may write, and Go does not read them.
func isOwn(fs.FileInfo) bool { return true }

func lock(*os.File) error { return errors.ErrUnsupported }

// syncDir: Windows cannot flush a directory; NTFS journals its renames.
func syncDir(*os.File) error { return nil }

func space(*os.File) (free, total uint64, err error) { return 0, 0, errors.ErrUnsupported }
