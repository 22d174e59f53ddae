package guard

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// What status.json has is what the documentation of Handler says that it has.
func TestStatusJSONIsDocumented(t *testing.T) {
	source, err := os.ReadFile("handler.go")
	if err != nil {
		t.Fatal(err)
	}
	_, doc, _ := strings.Cut(string(source), "# status.json")
	doc, _, _ = strings.Cut(doc, "func (g *Guard) Handler")
	document, err := os.ReadFile("handler_json.go")
	if err != nil {
		t.Fatal(err)
	}
	fields := regexp.MustCompile("`json:\"([a-z_]+)").FindAllStringSubmatch(string(document), -1)
	if len(fields) < 40 {
		t.Fatalf("found %d fields, want all", len(fields))
	}
	for _, f := range fields {
		if !regexp.MustCompile(`\b` + f[1] + `\b`).MatchString(doc) {
			t.Errorf("the documentation of Handler does not mention %s", f[1])
		}
	}
}
