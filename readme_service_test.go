package profguard_test

// README: start
import (
	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/guard"
)

func run() error {
	g, err := guard.Start(guard.Config{
		Budgets: budget.Must(
			"no function above 20% cumulative except encoding/json when process above 0.1 cores",
			"portlist absent",
		),
	})
	if err != nil {
		return err
	}
	defer g.Stop()
	return serve() // what the service does
}

// README: end
