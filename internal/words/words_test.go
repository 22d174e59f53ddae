package words_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/evidence"
	"github.com/profguard/profguard/internal/judge"
)

// A reason without words is a panic in the first judgement that has it.
func TestReasonsHaveWords(t *testing.T) {
	defined, err := os.ReadFile("../judge/finding.go")
	if err != nil {
		t.Fatal(err)
	}
	said := map[string]bool{}
	for _, file := range []string{"reason.go", "check.go"} {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`case judge\.(\w+):`).FindAllSubmatch(source, -1) {
			said[string(m[1])] = true
		}
	}
	_, reasons, _ := strings.Cut(string(defined), "\ntype Reason any\n")
	types := regexp.MustCompile(`(?m)^(?:\t|type )([A-Z]\w*) +struct\b`).FindAllStringSubmatch(reasons, -1)
	if len(types) < 25 {
		t.Errorf("only %d types of reasons were found", len(types))
	}
	for _, m := range types {
		if !said[m[1]] {
			t.Errorf("reason has no words for judge.%s", m[1])
		}
		delete(said, m[1])
	}
	if len(said) > 0 {
		t.Errorf("reason has words for %v, which internal/judge does not define as reasons", said)
	}
}

// Sentences that depend on the subject or on the limit.
func TestReasonWords(t *testing.T) {
	for _, tt := range []struct {
		budget  string
		finding judge.Finding
		want    string
	}{
		{"process steady", judge.Finding{Verdict: evidence.Fail, Value: 1.5, Reason: judge.Learning{Share: 1}}, "the process at 1.5 cores, growth beyond what the load explains"},
		{"goroutines steady", judge.Finding{Verdict: evidence.Fail, Value: 90, Reason: judge.Learning{Share: 1}}, "goroutines at 90, growth beyond what the load explains"},
		{"main.x below 70%", judge.Finding{Verdict: evidence.Pass, Value: 0.73, High: 0.83, Samples: 260, Reason: judge.InBlocks{}}, "main.x at 73.00%, too close to the limit to tell; 85% would have been caught, the limit is 70% (260 samples)"},
		{"main.x below 20%", judge.Finding{Verdict: evidence.Pass, Value: 0.05, High: 0.15, Samples: 260, Reason: judge.InBlocks{}}, "main.x at 5.00%, likely below 15.00%; 30% would have been caught, the limit is 20% (260 samples)"},
		{"process below 4ms per call", judge.Finding{Verdict: evidence.Pass, Value: 0.0041, High: 0.0045, Samples: 260, Reason: judge.InBlocks{}}, "the process at 4.1ms, too close to the limit to tell; 6ms would have been caught, the limit is 4ms (260 samples)"},
	} {
		b := budget.Must(tt.budget)[0]
		if got := b.Result(tt.finding).Reason; got != tt.want {
			t.Errorf("%s:\n got %s\nwant %s", tt.budget, got, tt.want)
		}
	}
}
