package main

import (
	"fmt"
	"os"
	"strings"
)

// peak says how much memory the process has had at most: between the ends of
// windows it may be more than at them. Only Linux tells.
func peak() string {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return ""
	}
	var kib float64
	_, line, _ := strings.Cut(string(status), "VmHWM:")
	if _, err := fmt.Sscan(line, &kib); err != nil {
		return ""
	}
	return fmt.Sprintf(" (at most %.1fMiB so far)", kib/1024)
}
