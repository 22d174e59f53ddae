package embedded

import (
	_ "embed"

	"github.com/profguard/profguard/budget"
)

//go:embed budgets.txt
var file []byte

var set, err = budget.Parse(string(file))
