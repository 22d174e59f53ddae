package otlp_test

import (
	"context"
	"log"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/profguard/profguard/export/otlp"
	"github.com/profguard/profguard/guard"
)

// A service whose dumps go to a collector, and that sends the last ones when it is told to end.
func Example() {
	g, err := guard.Start(guard.Config{
		DumpDir: "/var/lib/profguard",
		Export: &otlp.Exporter{
			Endpoint: "https://collector.example:4318",
			Header:   http.Header{"Authorization": {"Bearer " + os.Getenv("OTLP_TOKEN")}},
			Link:     func(p guard.Profile) string { return "https://profiles.example/?id=" + p.ID },
		},
		ExportLabel: func(key, value string) bool { return key == "endpoint" },
	})
	if err != nil {
		log.Fatal(err)
	}
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM)
	<-stop
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if err := g.Flush(ctx); err != nil {
		log.Print(err)
	}
	g.Stop()
}
