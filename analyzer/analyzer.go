// Package analyzer checks the budgets in source, as "profguard vet" does, for go vet -vettool and golangci-lint.
//
// It sees one package at a time, so it checks less than the command: sentences that do not parse, exceptions
// that have ended, and budgets that accept every function. Whether a pattern matches anything, and whether
// somebody counts the work, depends on the program, and only the command knows that. In a constant of another
// package it reports a mistake where the constant is used.
package analyzer

import (
	"os"
	"time"

	"golang.org/x/tools/go/analysis"

	"github.com/profguard/profguard/internal/vet"
)

// Analyzer reports mistakes at the lines of the sentences, also in embedded files.
var Analyzer = &analysis.Analyzer{
	Name: "profguard",
	Doc:  "check the budgets of profguard: sentences that do not parse, exceptions that have ended, budgets that can never fail",
	URL:  "https://pkg.go.dev/github.com/profguard/profguard/analyzer",
	Run:  run,
}

func run(pass *analysis.Pass) (any, error) {
	// pass.ReadFile refuses embedded files. The go command knows that they belong to the package, and looks again
	// when one has changed.
	p := &vet.Package{Path: pass.Pkg.Path(), Fset: pass.Fset, Files: pass.Files, Info: pass.TypesInfo, ReadFile: os.ReadFile}
	for _, f := range p.Check(time.Now()) {
		pass.Reportf(f.Pos, "%s", f.Text)
	}
	return nil, nil
}
