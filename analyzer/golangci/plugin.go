// Package golangci makes the analyzer a linter of golangci-lint, which "golangci-lint custom" builds in. In
// .custom-gcl.yml:
//
//	version: v2.15.0
//	plugins:
//	  - module: github.com/profguard/profguard/analyzer
//	    import: github.com/profguard/profguard/analyzer/golangci
//	    version: v0.1.0
//
// and in .golangci.yml:
//
//	linters:
//	  enable: [profguard]
//	  settings:
//	    custom:
//	      profguard:
//	        type: module
package golangci

import (
	"github.com/golangci/plugin-module-register/register"
	"golang.org/x/tools/go/analysis"

	"github.com/profguard/profguard/analyzer"
)

func init() {
	register.Plugin("profguard", func(any) (register.LinterPlugin, error) { return plugin{}, nil })
}

type plugin struct{}

func (plugin) BuildAnalyzers() ([]*analysis.Analyzer, error) {
	return []*analysis.Analyzer{analyzer.Analyzer}, nil
}

func (plugin) GetLoadMode() string { return register.LoadModeTypesInfo }
