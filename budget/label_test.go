package budget_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	. "github.com/profguard/profguard/budget"
)

// TestLabels parses budgets on the values of a label.
func TestLabels(t *testing.T) {
	for _, c := range []struct{ text, canonical, label string }{
		{"no tenant above 30%", "no tenant above 30%", "tenant"},
		{`no "tenant" above 0.5 cores of cpu`, "no tenant above 0.5 cores", "tenant"},
		{"no  endpoint above 40% of goroutine", "no endpoint above 40% of goroutine", "endpoint"},
		{"no tenant above 500 of goroutine for 5m", "no tenant above 500 of goroutine for 5m", "tenant"},
		{`no "http.route" above 30%`, `no "http.route" above 30%`, "http.route"},
		{`no "method" above 30%`, `no "method" above 30%`, "method"},
		{`no "two words" above 30%`, `no "two words" above 30%`, "two words"},
		{`no endpoint above 30% except "internal", /healthz, "GET /users/{id}" until 2027-01-31`, `no endpoint above 30% except internal, /healthz, "GET /users/{id}" until 2027-01-31`, "endpoint"},
		{`no tenant above 30% except "none", "a,b", "until"`, `no tenant above 30% except "none", "a,b", "until"`, "tenant"},
		{"no tenant above 30% in main.serve where job=a when process above 0.1 cores for 3 windows", "no tenant above 30% in main.serve where job=a when process above 0.1 cores for 3 windows", "tenant"},
		{"no endpoint above 5ms per http_requests_total", "no endpoint above 5ms per http_requests_total", "endpoint"},
		{"no endpoint above 5ms per http_requests_total by endpoint", "no endpoint above 5ms per http_requests_total", "endpoint"},
		{`no endpoint above 5ms except "GET /" per http_requests_total{code="200"} by handler`, `no endpoint above 5ms per http_requests_total{code="200"} by handler except "GET /"`, "endpoint"},
		{`no "two words" above 5ms per jobs_total by queue in main.run`, `no "two words" above 5ms per jobs_total by queue in main.run`, "two words"},
		{"no endpoint grows above 3 points per request", "no endpoint grows above 3 points per request", "endpoint"},
		{"noisy: no tenant grows above 5 points", "noisy: no tenant grows above 5 points", "tenant"},
		{"no function above 30%", "no function above 30% cumulative", ""},
		{"tenant below 30%", "tenant below 30% cumulative", ""},
	} {
		set, err := Parse(c.text)
		if err != nil {
			t.Error(err)
			continue
		}
		if got := set[0].String(); got != c.canonical || set[0].Label() != c.label {
			t.Errorf("%s: %s, label %q, want %s, %q", c.text, got, set[0].Label(), c.canonical, c.label)
		}
		again, err := Parse(set[0].String())
		if err != nil || !cmp.Equal(again, set) {
			t.Errorf("%s: parsed again it is %v, %v", c.text, again, err)
		}
	}
}
