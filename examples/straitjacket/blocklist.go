package main

import (
	"bufio"
	"bytes"
	"hash/maphash"
	"slices"
	"strings"
)

// names is a blocklist as one writes it first.
type names map[string]bool

func (n names) add(text []byte) {
	for line := bufio.NewScanner(bytes.NewReader(text)); line.Scan(); {
		n[strings.ToLower(line.Text())] = true // 70 bytes a name
	}
}

func (n names) has(name string) bool { return n[name] }

// hashes is a blocklist that fits: 8 bytes a name, sorted. With 16,000 of them, one
// name in 10^15 is blocked by mistake.
type hashes struct {
	seed   maphash.Seed
	sorted []uint64
}

func (h *hashes) add(text []byte) {
	for line := bufio.NewScanner(bytes.NewReader(text)); line.Scan(); {
		h.sorted = append(h.sorted, maphash.Bytes(h.seed, line.Bytes()))
	}
	slices.Sort(h.sorted)
}

func (h *hashes) has(name string) bool {
	_, found := slices.BinarySearch(h.sorted, maphash.String(h.seed, name))
	return found
}
