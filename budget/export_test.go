package budget

import (
	"github.com/profguard/profguard/internal/judge"
	"github.com/profguard/profguard/internal/unit"
)

// This file has what tests need beyond the face of the package.

const MostErrors = mostErrors

var (
	IsKeyword = isKeyword
	Figures   = figures
)

func (f Facts) Judged() (judge.Facts, error)            { return f.judged() }
func (s Set) Results(findings []judge.Finding) []Result { return s.results(findings) }
func (e *SyntaxError) Picture() (line, mark string)     { return e.picture() }
func (a Amount) Dimension() unit.Dimension              { return a.dimension() }
func (a Amount) Base() float64                          { return a.base() }

// An Example is a right sentence with a subject ("" for a pattern) and a rule.
type Example struct {
	Subject string
	Rule    Rule
	Text    string
}

// RightSentences are examples of all subjects and rules.
func RightSentences() (list []Example) {
	for _, s := range subjects {
		for _, r := range s.rules {
			list = append(list, Example{s.name, r.name, r.example})
		}
	}
	return list
}

// IsExample reports whether a budget has the subject and the rule of an example.
func (b Budget) IsExample(e Example) bool {
	return subjectOf(b.Subject).name == e.Subject && b.Rule == e.Rule
}

// MistakenWords are what people write in the place of a word.
func MistakenWords() map[string]string {
	words := map[string]string{}
	for _, m := range mistakenWords {
		if m.meant != "" {
			words[m.words] = m.meant
		}
	}
	return words
}

// A Fit is a dimension that a limit may have, alone and per unit of work.
type Fit struct {
	unit.Dimension
	Alone, Per bool
}

// Fits are those of a budget, none if its subject does not have its rule.
func (b Budget) Fits() (list []Fit) {
	if !b.hasRule() {
		return nil
	}
	for _, f := range fits(&b) {
		list = append(list, Fit{f.dim, f.per != perMust, f.per != perNever})
	}
	return list
}
