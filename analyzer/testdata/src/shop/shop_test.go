package shop

import (
	"testing"

	"github.com/profguard/profguard/budget"
)

func Test(t *testing.T) {
	if _, err := budget.Parse("wrong on purpose"); err == nil {
		t.Error("expected an error")
	}
	budget.Must("wrong by mistake") // want `found "by"`
}
