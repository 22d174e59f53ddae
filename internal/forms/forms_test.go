package forms

import (
	"encoding/xml"
	"strings"
	"testing"
	"time"
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

func TestSuite(t *testing.T) {
	s := Suite{Name: "profguard check", Took: 1500 * time.Millisecond, Cases: []Case{
		{Class: "a", Name: hostile, Failed: true, Message: hostile + "\x1b", Text: "<more>"},
		{Class: "a", Name: "b", Skipped: true, Message: "too few samples"},
		{Class: "a", Name: "c", Out: "as it should be"},
	}}
	var b strings.Builder
	if err := s.Write(&b); err != nil {
		t.Fatal(err)
	}
	var read struct {
		Tests    int `xml:"tests,attr"`
		Failures int `xml:"failures,attr"`
		Skipped  int `xml:"skipped,attr"`
		Cases    []struct {
			Failure *struct {
				Message string `xml:"message,attr"`
				Text    string `xml:",chardata"`
			} `xml:"failure"`
			Skipped *struct {
				Message string `xml:"message,attr"`
			} `xml:"skipped"`
			Out string `xml:"system-out"`
		} `xml:"testcase"`
	}
	if err := xml.Unmarshal([]byte(b.String()), &read); err != nil {
		t.Fatalf("%v\n%s", err, b.String())
	}
	if read.Tests != 3 || read.Failures != 1 || read.Skipped != 1 || len(read.Cases) != 3 {
		t.Fatalf("expected 3 cases, of which one failed and one was skipped, found %+v\n%s", read, b.String())
	}
	failed, skipped, passed := read.Cases[0], read.Cases[1], read.Cases[2]
	if failed.Failure == nil || failed.Failure.Message != hostile+"\uFFFD" || failed.Failure.Text != "<more>" || failed.Skipped != nil {
		t.Errorf("a failure: %+v\n%s", failed, b.String())
	}
	if skipped.Skipped == nil || skipped.Skipped.Message != "too few samples" || skipped.Failure != nil {
		t.Errorf("one that was skipped: %+v\n%s", skipped, b.String())
	}
	if passed.Out != "as it should be" || passed.Failure != nil || passed.Skipped != nil {
		t.Errorf("one that passed: %+v\n%s", passed, b.String())
	}
}
