package shop

import (
	_ "embed"

	"github.com/profguard/profguard/budget"
)

//go:embed budgets.txt
var file string

var set = budget.Must(
	"no function above 20% cumulative",
	"no function above 20", // want `expected %, cores or a duration per unit of work, found "20"`
	"no function above 21% cumulative except encoding/json until 2099-01-01", // the future
	"no function above 22% cumulative except encoding/json until 2020-01-01", // want `the exception encoding/json until 2020-01-01 has ended`
	"no function above 23% cumulative except /./",                            // want `/./ accepts every function`
	"example.org/other.Program below 5%",                                     // which only the command looks for
)

var parsed, err = budget.Parse(file)
