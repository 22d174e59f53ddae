package pyroscope_test

import (
	"log"
	"time"

	"github.com/profguard/profguard/export/pyroscope"
	"github.com/profguard/profguard/guard"
)

// In the place of an agent, all windows go to Pyroscope.
func ExampleExporter() {
	g, err := guard.Start(guard.Config{
		Every: 15 * time.Second, Window: 15 * time.Second,
		Export:     &pyroscope.Exporter{Address: "http://pyroscope:4040"},
		ExportAll:  true,
		Attributes: map[string]string{"service.name": "shop"},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer g.Stop()
}

// Beside the agent, it feeds the guard.
func ExampleClient() {
	g, err := guard.Start(guard.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer g.Stop()
	client := pyroscope.Client(g, nil)
	_ = client // agent.Start(agent.Config{HTTPClient: client, ServerAddress: "http://pyroscope:4040", ...})
}
