package main

import (
	"context"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/examples/internal/story"
	"github.com/profguard/profguard/guard"
)

// costs is what one window said about the two services.
type costs struct{ api, cache budget.Result }

// costsOf is what a guard's last window said.
func costsOf(s guard.Status) costs {
	return costs{api: story.Budget(s, "api-cost").Result, cache: story.Budget(s, "cache-cost").Result}
}

// await waits for a window that is as it is wanted.
func await(ctx context.Context, g *guard.Guard, wanted func(costs) bool) (costs, error) {
	s, err := story.Until(ctx, g, func(s guard.Status) bool { return wanted(costsOf(s)) })
	return costsOf(s), err
}

// settledCosts waits for a window that says this about the api, and has something
// of the cache to compare it with.
func settledCosts(ctx context.Context, g *guard.Guard, api budget.Verdict) (costs, error) {
	return await(ctx, g, func(c costs) bool { return c.api.Verdict == api && c.cache.Hits > 0 })
}

// compare is a table of the costs, with the bounds of each.
func compare(before, after costs) string {
	var text strings.Builder
	w := tabwriter.NewWriter(&text, 0, 0, 4, ' ', 0)
	fmt.Fprintf(w, "    \tbefore\tafter\n")
	fmt.Fprintf(w, "    api, a call\t%s\t%s\n", cost(before.api), cost(after.api))
	fmt.Fprintf(w, "    cache, a lookup\t%s\t%s\n", cost(before.cache), cost(after.cache))
	fmt.Fprintf(w, "    api / cache\t%s\t%s\n", before.times(), after.times())
	_ = w.Flush() // into memory
	return strings.TrimRight(text.String(), "\n")
}

func cost(r budget.Result) string {
	return fmt.Sprintf("%s (%s to %s)", micros(r.Value), micros(r.Low), micros(r.High))
}

func micros(seconds float64) string { return fmt.Sprintf("%.0fµs", 1e6*seconds) }

// times is how many times the cache's cost the api's is. The bounds are the worst
// that those of the two allow, and there is no upper one as long as the cache shows
// in a sample or two.
func (c costs) times() string {
	most := "any number"
	if n := c.api.High / c.cache.Low; n < 1000 {
		most = fmt.Sprintf("%.1f", n)
	}
	return fmt.Sprintf("%.1f times (%.1f to %s)", c.api.Value/c.cache.Value, c.api.Low/c.cache.High, most)
}
