package main

import "testing"

// TestPlace: files of Go and of other modules are told by their last directory, as in reports of check.
func TestPlace(t *testing.T) {
	for file, want := range map[string]string{
		"": "",
		"/go/pkg/mod/golang.org/toolchain@v0.0.1-go1.27.4.linux-amd64/src/net/http/server.go": "http/server.go:742",
		"/usr/local/go/src/net/http/server.go":                                                "http/server.go:742",
		"/go/pkg/mod/github.com/go-chi/chi/v5@v5.5.0/mux.go":                                  "v5@v5.5.0/mux.go:742",
		"store/store.go":      "store/store.go:742",
		"/shop/store/cart.go": "/shop/store/cart.go:742",
	} {
		if got := (place{"f", file, 742}).String(); got != want {
			t.Errorf("%q: got %q, want %q", file, got, want)
		}
	}
}
