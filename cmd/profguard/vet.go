package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/profguard/profguard/internal/forms"
	"github.com/profguard/profguard/internal/unit"
	"github.com/profguard/profguard/internal/vet"
)

// A mistake is a finding of vet, as JSON has it.
type mistake struct {
	File   string `json:"file"`
	Line   int    `json:"line"`
	Column int    `json:"column"`
	Text   string `json:"text"`
}

// vetSources checks budgets in source.
func vetSources(ctx context.Context, args []string, std streams) (int, error) {
	f := newFlags("vet")
	o := outputsFlag(f, std.out, "text", "json", "github")
	patterns, err := parseFlags(f, args, std.out)
	if err != nil {
		return exitMisuse, err
	}
	if len(patterns) == 0 {
		patterns = []string{"./..."}
	}
	fset, found, err := vet.Check(ctx, ".", patterns, time.Now())
	if err != nil {
		return exitMisuse, err
	}
	code, list := worktreeAt("."), []mistake{}
	for _, one := range found {
		at := fset.Position(one.Pos)
		list = append(list, mistake{code.relative("", at.Filename), at.Line, at.Column, one.Text})
	}
	if err := o.write(func(w io.Writer, format string) error { return writeMistakes(w, format, list) }); err != nil {
		return exitMisuse, err
	}
	if len(list) > 0 {
		return exitBroken, nil
	}
	return exitKept, nil
}

func writeMistakes(w io.Writer, format string, list []mistake) error {
	if format == "json" {
		return forms.JSON(w, struct {
			Version  int       `json:"version"`
			Mistakes []mistake `json:"mistakes"`
		}{1, list})
	}
	for _, m := range list {
		if format == "github" {
			fmt.Fprint(w, forms.Annotation{Level: "error", File: m.File, Line: m.Line, Title: "profguard vet", Text: m.Text})
		} else {
			fmt.Fprintf(w, "%s:%d:%d: %s\n", m.File, m.Line, m.Column, m.Text)
		}
	}
	if format == "text" && len(list) > 0 {
		fmt.Fprintf(w, "\n%s\n", unit.Plural(len(list), "mistake"))
	}
	return nil
}
