package main

import (
	"fmt"
	"strings"
)

// notes is how many pages there are.
const notes = 20

// pages are what both servers serve, by path.
type pages map[string]string

// newPages writes notes of 4 kB each.
func newPages() pages {
	p := pages{}
	for i := range notes {
		p[fmt.Sprintf("/notes/%d", i)] = fmt.Sprintf("# Note %d\r\n\r\n", i) +
			strings.Repeat("The quiet corners of the net are still there.\r\n", 85)
	}
	return p
}
