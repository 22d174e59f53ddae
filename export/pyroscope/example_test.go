package pyroscope_test

import (
	"fmt"
	"time"

	"github.com/profguard/profguard/export/pyroscope"
	"github.com/profguard/profguard/guard"
)

// Without an agent, all windows go to Pyroscope.
func ExampleExporter() {
	g, err := guard.Start(guard.Config{
		Every: 15 * time.Second, Window: 15 * time.Second, // without a pause
		Export: guard.Export{
			To:         &pyroscope.Exporter{Address: "http://pyroscope:4040"},
			All:        true,
			Attributes: map[string]string{"service.name": "shop"},
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer g.Stop()
	fmt.Println(g.Status().State)
	// Output: running
}

// Pyroscope's agent has the CPU profiler, and feeds the guard.
func ExampleClient() {
	g, err := guard.Start(guard.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer g.Stop()
	client := pyroscope.Client(g, nil)
	// agent.Start(agent.Config{HTTPClient: client, ServerAddress: "http://pyroscope:4040", ...})
	fmt.Println(client.Timeout)
	// Output: 30s
}
