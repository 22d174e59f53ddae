package main

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"
)

// shop is the service. Its handler has a debug print that somebody forgot.
type shop struct {
	debug  atomic.Bool
	served atomic.Int64
	log    io.Writer
}

func newShop() *shop {
	s := &shop{log: io.Discard}
	s.debug.Store(true)
	return s
}

// requests is the counter that the service has anyway.
func (s *shop) requests() float64 { return float64(s.served.Load()) }

// An order is what a customer buys.
type order struct {
	ID    int
	Items map[string]int
	Notes []string
}

func (s *shop) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	o := order{ID: int(s.served.Add(1)), Items: map[string]int{}}
	for i := range 40 {
		o.Items[fmt.Sprintf("item-%02d", i)] = i
		o.Notes = append(o.Notes, "handle with care")
	}
	if s.debug.Load() {
		for range 20 {
			fmt.Fprintf(s.log, "DEBUG order %+v\n", o) // forgotten
		}
	}
	text, err := json.Marshal(o)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	fmt.Fprintf(w, "%x\n", sign(text))
}

// sign is the shop's honest work.
func sign(text []byte) [32]byte {
	sum := sha256.Sum256(text)
	for range 200 {
		sum = sha256.Sum256(append(sum[:], text...))
	}
	return sum
}
