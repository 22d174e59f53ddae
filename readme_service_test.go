package profguard_test

// README: start
import (
	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/guard"
)

func run() error {
	g, err := guard.Start(guard.Config{
		Budgets: budget.Must(
			"no function above 20% cumulative when process above 0.1 cores",
			"portlist absent",
			"checkout: process below 2ms per request",
		),
		Work:    map[string]func() float64{"request": requests}, // a counter that you have
		DumpDir: profileDir,                                     // keeps profiles of broken budgets
	})
	if err != nil {
		return err
	}
	defer g.Stop()
	return serve() // what the service does
}

// README: end
