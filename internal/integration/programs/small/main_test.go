package main

import (
	"flag"
	"testing"
)

var requests = flag.Int("requests", 1, "serve so many")

// TestServe is the program as go test builds it.
func TestServe(t *testing.T) { serve(*requests) }
