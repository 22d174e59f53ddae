package dump

import (
	"os"

	"golang.org/x/sys/windows"
)

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
