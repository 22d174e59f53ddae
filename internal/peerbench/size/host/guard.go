//go:build guard

package main

import (
	"net/http"

	"github.com/profguard/profguard/guard"
)

var started *guard.Guard

func init() {
	parts = append(parts, func(*http.ServeMux) (err error) {
		started, err = guard.Start(guard.Config{})
		return err
	})
}
