package budget

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// A blank that nobody fills would be printed as it stands.
func TestBlanks(t *testing.T) {
	source, err := os.ReadFile("reason.go")
	if err != nil {
		t.Fatal(err)
	}
	filled := map[string]bool{}
	for _, m := range regexp.MustCompile(`case "([a-z]+)":`).FindAllSubmatch(source, -1) {
		filled[string(m[1])] = true
	}
	blanks := regexp.MustCompile(`\{([a-z]+)\}`).FindAllSubmatch(source, -1)
	if len(blanks) < 40 {
		t.Errorf("only %d blanks were found", len(blanks))
	}
	for _, m := range blanks {
		if !filled[string(m[1])] {
			t.Errorf("nothing fills the blank %s", m[0])
		}
	}
}

// A reason without words is a panic in the first judgement that has it.
func TestReasonsHaveWords(t *testing.T) {
	defined, err := os.ReadFile("../internal/judge/finding.go")
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile("reason.go")
	if err != nil {
		t.Fatal(err)
	}
	said := map[string]bool{}
	for _, m := range regexp.MustCompile(`case \*?judge\.(\w+):`).FindAllSubmatch(source, -1) {
		said[string(m[1])] = true
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
