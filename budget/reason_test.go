package budget

import (
	"os"
	"regexp"
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
