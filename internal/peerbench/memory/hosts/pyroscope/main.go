// Command pyroscope is the service with pyroscope-go and what it profiles by default.
//
//	pyroscope http://localhost:4040
package main

import (
	"net/http"
	"os"

	"github.com/grafana/pyroscope-go"

	"github.com/profguard/profguard/internal/peerbench/memory/service"
)

func main() {
	service.Run(func(*http.ServeMux) error {
		_, err := pyroscope.Start(pyroscope.Config{ApplicationName: "host", ServerAddress: os.Args[1]})
		return err
	})
}
