package main

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// TestSize holds what profguard adds to a binary. What a service does not use is not in
// its binary: the names of all its functions are, also in one that is stripped.
func TestSize(t *testing.T) {
	if testing.Short() {
		t.Skip("links four binaries")
	}
	dir := t.TempDir()
	if err := measure(dir); err != nil {
		t.Error(err)
	}
	const (
		parser = "profguard/budget.Parse\x00"
		page   = "profguard/internal/web.static\x00"
	)
	tests := []string{"profguard/internal/check.", "profguard/internal/work."} // what only a test needs
	// Since Go 1.27 encoding/json keeps UnmarshalText of what is only written, and that parses.
	parses := !strings.HasPrefix(runtime.Version(), "go1.26")
	for _, test := range []struct {
		tags string
		has  map[string]bool
	}{
		{"client,guard", map[string]bool{"profguard/guard.Start\x00": true, parser: parses, page: false}},
		{"client,guard,handler", map[string]bool{page: true, parser: parses}},
	} {
		data, err := os.ReadFile(filepath.Join(dir, test.tags))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range tests {
			if bytes.Contains(data, []byte(name)) {
				t.Errorf("%s: the binary has %q, which is for tests: find what links it with go tool nm", test.tags, name)
			}
		}
		for name, want := range test.has {
			if got := bytes.Contains(data, []byte(name)); got != want {
				t.Errorf("%s: the binary has %q: %t, want %t", test.tags, name, got, want)
			}
		}
	}
}
