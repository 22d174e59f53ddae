// Command profguardvet checks the budgets in source, within go vet:
//
//	go vet -vettool=$(which profguardvet) ./...
package main

import (
	"golang.org/x/tools/go/analysis/unitchecker"

	"github.com/profguard/profguard/analyzer"
)

func main() { unitchecker.Main(analyzer.Analyzer) }
