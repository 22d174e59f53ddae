package unit_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	. "github.com/profguard/profguard/internal/unit"
)

func TestParseWork(t *testing.T) {
	tests := []struct {
		text string
		want Work
	}{
		{"request", Work{Name: "request"}},
		{"http_requests_total", Work{Name: "http_requests_total"}},
		{`requests_total{code="200"}`, Work{Name: "requests_total", Labels: map[string]string{"code": "200"}}},
		{`requests_total{code="200", path="/a,b\"}"}`, Work{Name: "requests_total", Labels: map[string]string{"code": "200", "path": `/a,b"}`}}},
		{`requests_total{code="2 by x"} by handler`, Work{Name: "requests_total", Labels: map[string]string{"code": "2 by x"}, By: "handler"}},
		{`requests_total{code="2 by x"}`, Work{Name: "requests_total", Labels: map[string]string{"code": "2 by x"}}},
	}
	for _, test := range tests {
		got, ok := ParseWork(test.text)
		if diff := cmp.Diff(test.want, got); diff != "" || !ok {
			t.Errorf("ParseWork(%s): %v, (-want +got):\n%s", test.text, ok, diff)
		}
	}
	for _, text := range []string{"", "a b", "_x", "a{", "a{}", "a{b}", "a{b=c}", `a{b="c"`, `a{b="c"}x`, `a{b="c",}`, `a{b="c" d="e"}`, `a{b="c",b="d"}`, `{b="c"}`, `a{="c"}`, "a by", "a by b c", " by b", `a by "b"`} {
		if w, ok := ParseWork(text); ok {
			t.Errorf("ParseWork(%q) = %+v, want an error", text, w)
		}
	}
}
