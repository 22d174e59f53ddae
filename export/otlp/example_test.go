package otlp_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"time"

	"github.com/profguard/profguard/export/otlp"
	"github.com/profguard/profguard/guard"
)

// The profiles of broken budgets go to a collector, the last ones when the service ends.
func ExampleExporter() {
	g, err := guard.Start(guard.Config{
		Export: guard.Export{
			To: &otlp.Exporter{
				Endpoint: "https://collector.example:4318",
				Header:   http.Header{"Authorization": {"Bearer " + os.Getenv("OTLP_TOKEN")}},
				Link:     func(p guard.Profile) string { return "https://profiles.example/?id=" + p.ID },
			},
			Label: func(key, value string) bool { return key == "endpoint" }, // no other label leaves
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(g.Status().State)

	// After SIGTERM:
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	fmt.Println(g.Flush(ctx))
	g.Stop()
	// Output:
	// running
	// <nil>
}
