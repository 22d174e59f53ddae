package main

import "testing"

// TestSize holds what profguard adds to a binary.
func TestSize(t *testing.T) {
	if testing.Short() {
		t.Skip("links four binaries")
	}
	if err := measure(); err != nil {
		t.Error(err)
	}
}
