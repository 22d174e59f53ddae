package service

import (
	"maps"
	"runtime"
	"strings"
	"testing"
)

func TestMetrics(t *testing.T) {
	parse := func(text string) *Metrics {
		m, err := parseMetrics(strings.NewReader(text), namesOf([]string{"a", "s", "s_count", "g", "back", "none", "x"}))
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	before := parse("# HELP a Help.\n# TYPE a counter\na{code=\"200\"} 5\n\n# TYPE s summary\ns{quantile=\"0.5\"} 9\ns_count 3\n# TYPE g gauge\ng 7 1600000000000\nback 5\n}\n{\nx NaN\n")
	after := parse("# TYPE a counter\na{code=\"200\",path=\"/}\\\" x\"} 8\na{code=\"500\"} 2.5e1\n# TYPE s summary\ns{quantile=\"0.5\"} 1\ns_count 5\n# TYPE g gauge\ng 8\nback 4\nx NaN\n")
	a := &Answer{Before: before, After: after}
	for text, want := range map[string]float64{"a": 28, `a{code="200"}`: 3, `a{code="500"}`: 25, `a{path="/}\" x"}`: 8, "s": 2, "s_count": 2, "g": -1, "back": -1, "none": -1, "x": -1} {
		if n, ok := a.grown(text); ok != (want >= 0) || ok && n != want {
			t.Errorf("%s has grown by %v (%t), want %v", text, n, ok, want)
		}
	}
	for text, want := range map[string]map[string]float64{"a by code": {"200": 3}, `a{code="500"} by code`: {}, "a by path": {}, "s by code": {}, "a": nil, "none by code": nil} {
		if got := a.grownBy(text); !maps.Equal(got, want) || (got == nil) != (want == nil) {
			t.Errorf("%s has grown by %v, want %v", text, got, want)
		}
	}
	if v, ok := before.value("g"); v != 7 || !ok {
		t.Errorf("g is %v (%t)", v, ok)
	}
}

// manyLines repeats a line without end.
type manyLines struct {
	line string
	at   int
}

func (m *manyLines) Read(p []byte) (n int, err error) {
	for n < len(p) {
		k := copy(p[n:], m.line[m.at:])
		n, m.at = n+k, (m.at+k)%len(m.line)
	}
	return n, nil
}

// Hostile metrics take little memory: series that nobody asks for are not kept, and of others only
// some.
func TestFault_117_HostileMetrics(t *testing.T) {
	for name, line := range map[string]string{
		"other series":  "other{a=\"" + strings.Repeat("x", 1000) + "\"} 1\n",
		"many series":   "spins_total{a=\"" + strings.Repeat("x", 1000) + "\"} 1\n",
		"types":         "# TYPE " + strings.Repeat("x", 1000) + " counter\n",
		"one long line": "spins_total{a=\"",
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := parseMetrics(&manyLines{line: line}, namesOf([]string{"spins_total"}))
		runtime.ReadMemStats(&after)
		if err == nil {
			t.Errorf("%s: no error", name)
		}
		if used := (after.TotalAlloc - before.TotalAlloc) >> 20; used > 32 {
			t.Errorf("%s: %d MiB allocated, want at most 32: %v", name, used, err)
		}
	}
	twin, err := parseMetrics(strings.NewReader(strings.Repeat("other 1\n", 100)+"spins_total{code=\"200\"} 7\n"), namesOf([]string{"spins_total"}))
	if err != nil || len(twin.series) != 1 {
		t.Errorf("%v, %v", twin, err)
	}
}
