package main

import (
	"context"
	"fmt"
	"math"
	"net/url"
	"slices"
	"strings"

	"github.com/profguard/profguard/internal/pattern"
	"github.com/profguard/profguard/internal/service"
	"github.com/profguard/profguard/internal/unit"
)

// profile reads the profiles of the arguments and, of a service, how much work was done meanwhile.
func (w *writer) profile(ctx context.Context, s *source, args []string) error {
	var root *url.URL
	var name string
	if len(args) == 1 {
		root, name = service.Root(args[0])
	}
	if root == nil || name != "" && name != "profile" {
		err := w.read(ctx, s, args)
		if err == nil && len(args) == 1 {
			for name, n := range knownWork(w.Table, nil) { // a reference of a guard says it
				w.work = append(w.work, service.Counted{Unit: name, Done: n})
			}
			slices.SortFunc(w.work, func(a, b service.Counted) int { return strings.Compare(a.Unit, b.Unit) })
		}
		return err
	}
	root.RawQuery = ""
	if err := s.ready(); err != nil {
		return err
	}
	a, err := s.client.Meanwhile(ctx, root, func() error { return w.read(ctx, s, args) })
	if err != nil {
		return err
	}
	if a.Failed != nil {
		fmt.Fprintf(s.err, "no metrics, so no budget per unit of work: %v; -metrics says where they are\n", a.Failed)
	} else if w.work = a.Work(float64(w.Table.DurationNanos) * 1e-9); len(w.work) == 0 {
		fmt.Fprintf(s.err, "%s counts no work that was done meanwhile, such as http_requests_total, so there is no budget per unit of work\n", a.At.Redacted())
	}
	return nil
}

// perWork suggests a limit on the CPU of a unit of work, of the likeliest one.
func (w *writer) perWork() {
	if len(w.work) == 0 {
		return
	}
	of := w.work[0]
	w.Facts.Work = map[string]float64{of.Unit: of.Done}
	sentence := func(limit string) string { return fmt.Sprintf("process below %s per %s%s", limit, of.Unit, w.when) }
	r := w.judge(sentence("1s"))
	if !(r.Value > 0) {
		return
	}
	fmt.Fprintf(&w.out, "\n# The CPU of the whole process for each %s: %s, with %.0f of them in this profile.\n# A guard finds their counter in its Registerer, or in Config.Work.\n",
		pattern.Visible(of.Unit), unit.Rounded(r.Value, r.Low, r.High, unit.Time), of.Done)
	if len(w.work) > 1 {
		var others []string
		for _, c := range w.work[1:min(len(w.work), 4)] {
			others = append(others, fmt.Sprintf("%s (%.0f)", pattern.Visible(c.Unit), c.Done))
		}
		fmt.Fprintf(&w.out, "# Other units that are counted: %s.\n", strings.Join(others, ", "))
	}
	limit := ""
	for _, seconds := range round(2 * r.Value) {
		if limit = seconds; lasts(w.judge(sentence(limit))) {
			break
		}
	}
	w.undecided(w.judge(sentence(limit)))
	fmt.Fprintf(&w.out, "cpu-per-work: %s\n", sentence(limit))
}

// round are the next amounts of time from a number of seconds on, as people write them: 1.5ms, 2ms, 3ms.
func round(seconds float64) (list []string) {
	power := math.Floor(math.Log10(seconds))
	for ; len(list) < 6; power++ {
		for _, digits := range []float64{1, 1.5, 2, 2.5, 3, 4, 5, 6, 8} {
			if amount := digits * math.Pow(10, power); amount >= seconds*(1-1e-9) {
				list = append(list, asTime(amount))
			}
		}
	}
	return list
}

// asTime is a round number of seconds, in a unit that makes it short.
func asTime(seconds float64) string {
	a := unit.Amount{Value: seconds * 1e9, Unit: "ns"}
	for _, name := range []string{"us", "ms", "s"} {
		if a.Value < 999.5 {
			break
		}
		a = unit.Amount{Value: a.Value / 1000, Unit: name}
	}
	a.Value = math.Round(a.Value*10) / 10
	return a.String()
}
