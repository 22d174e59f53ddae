package budget

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/profguard/profguard/internal/folded"
)

// What is divided by an amount of work that is none would be infinite, or nothing:
// neither is broken nor kept.
func TestFault_38_AmountsOfWork(t *testing.T) {
	set := Must("process below 1us per request", "no function above 1us per request", "fmt.Println below 1us per request", "process grows below 10% per request")
	p := folded.Must("cpu 10s\nmain.main;main.serve;main.work 990\nmain.main;main.serve;fmt.Println 10\n")
	tests := []struct {
		work    float64
		verdict Verdict
		reason  string
	}{
		{1e9, Pass, ""},
		{1000, Fail, ""},
		{leastAmount, Fail, ""},
		{leastAmount / 2, Inconclusive, "is no amount of work"},
		{5e-324, Inconclusive, "is no amount of work"},
		{math.Inf(1), Inconclusive, "is no amount of work"},
		{0, Inconclusive, "no request was done"},
		{math.NaN(), Inconclusive, "no request was done"},
	}
	for _, tt := range tests {
		facts := Facts{
			Work:     map[string]float64{"request": tt.work},
			Baseline: folded.Must("cpu 10s\nmain.main;main.serve;main.work 1000\n"), BaselineWork: map[string]float64{"request": tt.work},
		}
		for i, r := range set.Judge(p, facts) {
			if i < 3 && (r.Verdict != tt.verdict || !strings.Contains(r.Reason, tt.reason)) {
				t.Errorf("work %v, %s: %v: %s", tt.work, r.Budget, r.Verdict, r.Reason)
			}
			if _, err := json.Marshal(r); err != nil {
				t.Errorf("work %v, %s: %v", tt.work, r.Budget, err)
			}
		}
	}
}
