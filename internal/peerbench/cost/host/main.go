//go:build linux

// Command host is the process that command cost watches: a service of some role,
// with or without a guard. It is a program of its own because a client, and what
// starts processes, would add 0.5 MB to what it has resident.
package main

import (
	"flag"
	"fmt"
	"os"
	"time"
)

func main() {
	length := flag.Duration("for", 2*time.Minute, "how long the process lives")
	every := flag.Duration("every", time.Minute, "how often a window starts")
	role := flag.String("role", "", "spinning, service or small")
	guarded := flag.Bool("guard", false, "whether a guard is started")
	flag.Parse()
	if err := runRole(*role, *guarded, *length, *every); err != nil {
		fmt.Fprintln(os.Stderr, "host:", err)
		os.Exit(1)
	}
}
