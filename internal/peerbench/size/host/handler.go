//go:build handler

package main

import "net/http"

func init() {
	parts = append(parts, func(mux *http.ServeMux) error {
		mux.Handle("/debug/profguard/", started.Handler())
		return nil
	})
}
