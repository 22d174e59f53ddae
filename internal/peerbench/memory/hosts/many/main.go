// Command many is the service with Prometheus' client, its /metrics, and a guard with
// budgets of its own.
//
//	many 1m 1000
//
// The first argument is how often a window starts, the second the number of budgets.
package main

import (
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/guard"
	"github.com/profguard/profguard/internal/peerbench/memory/service"
	"github.com/profguard/profguard/internal/process"
)

func main() {
	service.Run(func(mux *http.ServeMux) error {
		mux.Handle("GET /metrics", promhttp.Handler())
		var c guard.Config
		var err error
		if c.Every, err = time.ParseDuration(os.Args[1]); err != nil {
			return err
		}
		n, err := strconv.Atoi(os.Args[2])
		if err != nil {
			return err
		}
		if c.Budgets, err = onFunctions(n); err != nil {
			return err
		}
		_, err = guard.Start(c)
		return err
	})
}

// onFunctions are so many budgets, as of somebody who has one for each function: on
// functions of this program, a tenth of them on what is called within one.
func onFunctions(n int) (budget.Set, error) {
	var text strings.Builder
	i := 0
	err := process.Functions(func(name string) bool {
		if strings.ContainsAny(name, "[]:-()*/") || strings.Contains(name, ".func") || strings.Contains(name, ".init") {
			return true
		}
		if i%10 == 0 {
			fmt.Fprintf(&text, "no function above 90%% in %s\n", name)
		} else {
			fmt.Fprintf(&text, "%s below 90%%\n", name)
		}
		i++
		return i < n
	})
	if err != nil {
		return nil, err
	}
	return budget.Parse(text.String())
}
