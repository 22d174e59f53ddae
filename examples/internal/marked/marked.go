// Package marked finds lines in the sources of the examples, so that their tests
// can hold the line that a report blames against the one that is at fault.
package marked

import (
	"os"
	"strings"
	"testing"
)

// Line is the number of the first line of a file that has the text.
func Line(t testing.TB, file, text string) int {
	t.Helper()
	source, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, _, found := strings.Cut(string(source), text)
	if !found {
		t.Fatalf("%s has no line with %q", file, text)
	}
	return 1 + strings.Count(before, "\n")
}
