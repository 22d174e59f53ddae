package pattern_test

import (
	"strconv"
	"testing"

	"github.com/profguard/profguard/internal/names"
	. "github.com/profguard/profguard/internal/pattern"
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

// The links of a way are short: no directories, no major versions, and no hashes for type arguments.
// As a pattern, such a name matches the function.
func TestShort(t *testing.T) {
	for name, want := range map[string]string{
		"example.com/a/b.Do": "b.Do",
		"example.com/a.New[go.shape.31c0,go.shape.int].func2": "a.New[...].func2",
		"example.com/a.(*T[example.com/b/c.D]).Do":            "a.(*T[...]).Do",
		"main.Map[map[string]int]":                            "main.Map[...]",
		"github.com/go-chi/chi/v5.(*Mux).ServeHTTP":           "chi.(*Mux).ServeHTTP",
		"github.com/go-chi/chi/v5/middleware.Logger.func1":    "middleware.Logger.func1",
		"gopkg.in/yaml%2ev3.(*Decoder).Decode":                "yaml.(*Decoder).Decode",
		"github.com/nats-io/nats%2ego.(*Conn).readLoop":       "nats.go.(*Conn).readLoop",
		"k8s.io/api/core/v1.(*Pod).Marshal":                   "v1.(*Pod).Marshal",
		"example.com/shop/v2.New[go.shape.int].func1":         "shop.New[...].func1",
		"[libc.so.6]": "[libc.so.6]",
		"<unknown>":   "<unknown>",
	} {
		if got := names.Short(name); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
		p, err := Parse(want)
		if names.PackageOf(name) != "" && (err != nil || !p.Match(name)) {
			t.Errorf("%s does not match %s: %v", want, name, err)
		}
	}
}
