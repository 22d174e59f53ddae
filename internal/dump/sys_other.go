//go:build !windows && (!unix || aix || solaris)

package dump

import (
	"errors"
	"os"
)

const hasModes = false

const openFlags = 0

func tryLock(*os.File) (bool, error) { return false, errors.ErrUnsupported }

func syncDir(*os.File) error { return nil }

func isNoSpace(error) bool { return false }

func isReadOnly(error) bool { return false }
