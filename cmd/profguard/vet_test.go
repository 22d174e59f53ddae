package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestVet: the forms and the exit status, of a program with mistakes and of one without. What is found is a matter of
// package vet; the packages here are empty, as nothing is compiled.
func TestVet(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, text := range map[string]string{
		"go.mod": "module shop\n\ngo 1.26\n\nrequire github.com/profguard/profguard v0.0.0\n\nreplace github.com/profguard/profguard => ./profguard\n",
		"wrong/main.go": `package main

import "github.com/profguard/profguard/budget"

func main() { budget.Must("no function above 20", "no function above 5% except a.B until 2020-01-31") }
`,
		"right/main.go": `package main

import "github.com/profguard/profguard/budget"

func main() { budget.Must("no function above 20%") }
`,
		"profguard/go.mod":           "module github.com/profguard/profguard\n",
		"profguard/budget/budget.go": "package budget\n",
	} {
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		put(t, name, text)
	}
	const parse = `expected %, cores or a duration per unit of work, found "20": write, for example, "no function above 20% cumulative"`
	const ended = `the exception a.B until 2020-01-31 has ended: the budget counts it again; take it out, or give it another day`
	for command, want := range map[string]struct {
		out    string
		status int
	}{
		"vet": {"wrong/main.go:5:46: " + parse + "\nwrong/main.go:5:80: " + ended + "\n\n2 mistakes\n", exitBroken},
		"vet -o github ./wrong": {"::error file=wrong/main.go,line=5,title=profguard vet::" + strings.ReplaceAll(parse, "%", "%25") +
			"\n::error file=wrong/main.go,line=5,title=profguard vet::" + ended + "\n", exitBroken},
		"vet ./right":         {"", exitKept},
		"vet -o json ./right": {"{\n  \"version\": 1,\n  \"mistakes\": []\n}\n", exitKept},
		"vet ./none":          {"", exitMisuse},
	} {
		var out, said bytes.Buffer
		if status := run(t.Context(), strings.Fields(command), nil, &out, &said); status != want.status || out.String() != want.out {
			t.Errorf("%s: expected %d, %q, found %d, %q, %s", command, want.status, want.out, status, out.String(), said.String())
		}
	}
}
