package guard

import (
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/profguard/profguard/budget"
)

func TestSetBudgetsAfterStop(t *testing.T) {
	g, err := Start(Config{Registerer: prometheus.NewRegistry()})
	if err != nil {
		t.Fatal(err)
	}
	if err := g.SetBudgets(budget.Must("portlist absent")); err != nil {
		t.Errorf("while it runs: %v", err)
	}
	g.Stop()
	if err := g.SetBudgets(budget.Must("portlist absent")); err == nil || !strings.Contains(err.Error(), "stopped") {
		t.Errorf("after Stop: %v", err)
	}
}
