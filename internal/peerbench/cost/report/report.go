// Package report is what a process that is watched says about itself when it
// ends: it is the host that fills it in, and the program that started the host that
// compares it with another.
package report

import "time"

// A Report is a line of JSON on the host's standard output, after the line with the
// address that the host serves at.
type Report struct {
	Elapsed    time.Duration
	CPU        time.Duration // of the process
	Background time.Duration // of that, beyond the spinning threads
	RSS        int64         // the largest that the kernel has seen
	Steady     int64         // the median
	Requests   int64
	GuardCPU   time.Duration // by the guard's own account
	Windows    map[string]int
}
