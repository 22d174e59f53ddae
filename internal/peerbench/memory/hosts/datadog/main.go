// Command datadog is the service with Datadog's profiler and what it profiles by default.
//
//	datadog http://localhost:8126
package main

import (
	"net/http"
	"os"
	"strings"

	"github.com/DataDog/dd-trace-go/v2/profiler"

	"github.com/profguard/profguard/internal/peerbench/memory/service"
)

func main() {
	service.Run(func(*http.ServeMux) error {
		return profiler.Start(profiler.WithService("host"), profiler.WithAgentAddr(strings.TrimPrefix(os.Args[1], "http://")), profiler.WithLogStartup(false))
	})
}
