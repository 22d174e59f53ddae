package guard

import (
	"regexp"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

// An exported metric, or event, as the documentation lists it.
type exported struct{ Name, Labels, Help string }

var descForm = regexp.MustCompile(`fqName: "([^"]*)", help: "([^"]*)",(?: unit: "[^"]*",)? constLabels: \{\}, variableLabels: \{([^}]*)\}`)

// exportedMetrics are the metrics that a guard describes.
func exportedMetrics(t *testing.T) []exported {
	t.Helper()
	ch := make(chan *prometheus.Desc, 100)
	new(Guard).Describe(ch)
	close(ch)
	var list []exported
	for d := range ch {
		m := descForm.FindStringSubmatch(d.String())
		if m == nil {
			t.Fatalf("cannot read %s", d)
		}
		list = append(list, exported{m[1], m[3], m[2]})
	}
	return list
}

// exportedEvents are the events that a guard emits, with their severities.
func exportedEvents() []exported {
	var list []exported
	for _, name := range []EventName{
		EventFiring, EventOffender, EventResolved, EventVacuous, EventLost, EventRegained, EventPaused, EventResumed, EventRelease, EventExportFailing, EventExportWorking, EventDegraded,
	} {
		rec := record(Event{Name: name})
		list = append(list, exported{string(name), rec.SeverityText(), ""})
	}
	return list
}
