// Command host is a minimal service. Build tags add its parts: client (client_golang),
// guard (profguard's Start), handler (its debug page).
package main

import (
	"fmt"
	"net/http"
	"os"
)

// parts are what the build tags add.
var parts []func(*http.ServeMux) error

func main() {
	mux := http.NewServeMux()
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "hello") })
	for _, add := range parts {
		if err := add(mux); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	fmt.Fprintln(os.Stderr, http.ListenAndServe("127.0.0.1:0", mux))
}
