package main

import (
	"fmt"
	"os"
	"strings"
)

// peak says how much memory the process had at most: between windows it may have
// been more than in them. Only Linux tells.
func peak() string {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return "How much it was at most, this system does not tell."
	}
	var kib int64
	_, line, _ := strings.Cut(string(status), "VmHWM:")
	if _, err := fmt.Sscan(line, &kib); err != nil {
		return "How much it was at most, this system does not tell."
	}
	return fmt.Sprintf("At most it was %.1f MiB.", float64(kib)/1024)
}
