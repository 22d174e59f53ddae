package golangci

import (
	"testing"

	"github.com/golangci/plugin-module-register/register"

	"github.com/profguard/profguard/analyzer"
)

func TestPlugin(t *testing.T) {
	create, err := register.GetPlugin("profguard")
	if err != nil {
		t.Fatal(err)
	}
	p, err := create(nil)
	if err != nil {
		t.Fatal(err)
	}
	if list, err := p.BuildAnalyzers(); err != nil || len(list) != 1 || list[0] != analyzer.Analyzer {
		t.Errorf("expected the analyzer, found %v, %v", list, err)
	}
}
