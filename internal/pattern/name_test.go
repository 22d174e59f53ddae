package pattern

import (
	"strconv"
	"testing"
)

// TestQuote: what a report proposes for an "except" matches the function.
func TestQuote(t *testing.T) {
	for name, want := range map[string]string{
		"main.(*T).f": "main.(*T).f",
		"main.Map[go.shape.struct { A int; B string }]":                          "main.Map",
		"connectrpc.com/connect.(*ServerStream[go.shape.07aaf4e05d5329fd]).Send": "connectrpc.com/connect.(*ServerStream).Send",
		"operator new(unsigned long)":                                            `"operator new(unsigned long)"`,
	} {
		got := Quote(name)
		if got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
		text, err := strconv.Unquote(got)
		if err != nil {
			text = got
		}
		if p, err := Parse(text); err == nil && !p.Match(name) {
			t.Errorf("%s does not match %s", got, name)
		}
	}
}
