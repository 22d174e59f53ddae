// Package absent is linked into prog, but for one function that nothing calls.
package absent

// Called is in the program.
//
//go:noinline
func Called() int { return len("called") }

// NotCalled is dropped by the linker.
//
//go:noinline
func NotCalled() int { return len("not called") }
