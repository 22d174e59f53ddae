package datadog_test

import (
	"fmt"

	"github.com/profguard/profguard/export/datadog"
	"github.com/profguard/profguard/guard"
)

// Datadog's profiler has the CPU profiler, and feeds the guard.
func ExampleClient() {
	g, err := guard.Start(guard.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer g.Stop()
	client := datadog.Client(g, nil)
	// profiler.Start(profiler.WithHTTPClient(client), ...)
	fmt.Println(client != nil, g.Status().State)
	// Output: true running
}
