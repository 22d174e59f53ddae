// Package service is the JSON service that all hosts of command memory are. It
// imports nothing that a small service would not have.
package service

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
)

// Run serves on an address of its own, which it prints, until standard input ends.
// start, which may be nil, is called before that, with the mux.
func Run(start func(mux *http.ServeMux) error) {
	if err := run(start); err != nil {
		fmt.Fprintln(os.Stderr, "host:", err)
		os.Exit(1)
	}
}

func run(start func(mux *http.ServeMux) error) error {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /", answer)
	if start != nil {
		if err := start(mux); err != nil {
			return err
		}
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	go http.Serve(l, mux)
	fmt.Println(l.Addr())
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// answer decodes and encodes JSON.
func answer(w http.ResponseWriter, r *http.Request) {
	var order struct {
		Items []struct {
			Name  string
			Price float64
		}
	}
	if err := json.NewDecoder(r.Body).Decode(&order); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	json.NewEncoder(w).Encode(order)
}
