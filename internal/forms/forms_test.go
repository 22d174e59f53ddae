package forms

import (
	"strings"
	"testing"
)

// hostile is a name that means something in each of the forms.
const hostile = "main.f|`x`<b>_*~[a](b)\n::error file=x::y%"

func TestAnnotation(t *testing.T) {
	a := Annotation{Level: "error", File: "cart,1.go", Line: 7, Title: "a: b", Text: hostile}
	if got, want := a.String(), "::error file=cart%2C1.go,line=7,title=a%3A b::main.f|`x`<b>_*~[a](b)%0A::error file=x::y%25\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got, want := (Annotation{Level: "notice", Title: "t", Text: "x"}).String(), "::notice title=t::x\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestMarkdown(t *testing.T) {
	table := Table([]string{"name", "cost:"}, [][]string{{Code(hostile), Escape(hostile)}})
	if lines := strings.Count(table, "\n"); lines != 3 || !strings.Contains(table, "\n| --- | ---: |\n") {
		t.Errorf("a table of %d lines: %s", lines, table)
	}
	for line := range strings.Lines(table) {
		if n := strings.Count(strings.ReplaceAll(line, `\|`, ""), "|"); n != 3 {
			t.Errorf("%q has %d lines of the table, want 3", line, n)
		}
	}
	if strings.Contains(Escape(hostile), "<b>") || strings.Count(Code(hostile), "`") != 2 {
		t.Errorf("%q, %q", Escape(hostile), Code(hostile))
	}
	if got := Fence([]string{"```", "x"}); got != "```\n'''\nx\n```" {
		t.Errorf("%q", got)
	}
}

func TestJSON(t *testing.T) {
	var b strings.Builder
	if err := JSON(&b, map[string]string{"a": "<b>"}); err != nil || b.String() != "{\n  \"a\": \"<b>\"\n}\n" {
		t.Errorf("%q, %v", b.String(), err)
	}
}
