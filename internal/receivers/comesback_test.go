package receivers

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/export/otlp"
	"github.com/profguard/profguard/guard"
	"github.com/profguard/profguard/internal/waiting"
)

// A guard whose collector is away says so once, and again when it is back. Then the dump arrives.
func TestComesBack(t *testing.T) {
	addr, s := freePort(t), new(sink)
	var mu sync.Mutex
	var told []guard.EventName
	heard := func(name guard.EventName) func() bool {
		return func() bool { mu.Lock(); defer mu.Unlock(); return slices.Contains(told, name) }
	}
	g, err := guard.Start(guard.Config{
		Budgets: budget.Must("hot: receivers.planted absent"), Every: 2 * time.Second, Window: 2 * time.Second, Registerer: prometheus.NewRegistry(),
		Export: guard.Export{
			To:         &otlp.Exporter{Endpoint: "http://" + addr, Link: func(p guard.Profile) string { return "https://store/" + p.ID }},
			Attributes: map[string]string{"service.name": "shop"},
		},
		OnEvent: func(e guard.Event) { mu.Lock(); defer mu.Unlock(); told = append(told, e.Name) },
	})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Stop()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go planted(ctx)
	waiting.Until(t, "the failure", heard(guard.EventExportFailing))
	cancel()
	if st := g.Status(); st.Exports["failed"] < 3 || st.Exports["sent"] != 0 || st.Reason == "" || st.Budgets[0].DumpURL == "" {
		t.Errorf("exports %v, reason %q, at %q", st.Exports, st.Reason, st.Budgets[0].DumpURL)
	}
	defer listening(t, addr, s)()
	waiting.Until(t, "the recovery", heard(guard.EventExportWorking))
	if err := g.Flush(t.Context()); err != nil {
		t.Error(err)
	}
	found := false
	for _, p := range s.received() {
		for _, of := range ofOTLP(t, p) {
			for stack := range of {
				found = found || len(stack) > 0
			}
		}
		if name, _ := p.ResourceProfiles().At(0).Resource().Attributes().Get("service.name"); name.AsString() != "shop" {
			t.Errorf("of service %q", name.AsString())
		}
	}
	if st := g.Status(); !found || st.Reason != "" || st.Exports["failed"] == 0 || int64(len(s.received())) > st.Exports["sent"] {
		t.Errorf("%d arrived; exports %v, reason %q", len(s.received()), st.Exports, st.Reason)
	}
}
