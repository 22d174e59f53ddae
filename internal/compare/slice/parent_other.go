//go:build unix && !linux

package slice

import "syscall"

func dieWithParent(*syscall.SysProcAttr) {}
