package slice

import "syscall"

// dieWithParent has the kernel end a child whose parent was killed. The caller keeps its thread.
func dieWithParent(a *syscall.SysProcAttr) { a.Pdeathsig = syscall.SIGKILL }
