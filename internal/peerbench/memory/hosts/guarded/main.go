// Command guarded is the service with Prometheus' client, its /metrics, and a guard.
//
//	guarded 1m
//
// The argument is how often a window starts.
package main

import (
	"net/http"
	"os"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/profguard/profguard/guard"
	"github.com/profguard/profguard/internal/peerbench/memory/service"
)

func main() {
	service.Run(func(mux *http.ServeMux) error {
		mux.Handle("GET /metrics", promhttp.Handler())
		var c guard.Config
		var err error
		if c.Every, err = time.ParseDuration(os.Args[1]); err != nil {
			return err
		}
		_, err = guard.Start(c)
		return err
	})
}
