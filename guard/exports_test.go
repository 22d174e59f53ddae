package guard

import (
	"fmt"
	"os"
	"regexp"
	"testing"
)

// TestFewerSeries tries what docs/reference.md says on how to drop series of a budget that fires.
func TestFewerSeries(t *testing.T) {
	read := func(file string) string {
		data, err := os.ReadFile("../docs/" + file)
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	doc := read("reference.md")
	drops := regexp.MustCompile(`\n +regex: (\S+)\n +action: drop\n`).FindStringSubmatch(doc)
	said := regexp.MustCompile(`drops\s+(\d+)\s+of\s+the\s+(\d+)\s`).FindStringSubmatch(doc)
	if drops == nil || said == nil {
		t.Fatal("docs/reference.md has no example that drops series")
	}
	dropped, all, rule := 0, 0, regexp.MustCompile("^(?:"+drops[1]+")$") // as Prometheus does
	bubble(t, func(t *testing.T, w *world) {
		_, registry := eventful(t, w)
		families, err := registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range families {
			for _, m := range f.Metric {
				for _, l := range m.Label {
					if l.GetName() == "budget" && l.GetValue() == "prints" {
						if all++; rule.MatchString(f.GetName()) {
							dropped++
						}
					}
				}
			}
		}
	})
	if fmt.Sprint(dropped, all) != said[1]+" "+said[2] {
		t.Errorf("%s drops %d of %d series, and docs/reference.md says %s", drops[1], dropped, all, said[0])
	}
	for _, name := range regexp.MustCompile(`profguard_\w+`).FindAllString(read("alerts.yml"), -1) {
		if rule.MatchString(name) {
			t.Errorf("%s drops %s, which an alert needs", drops[1], name)
		}
	}
}
