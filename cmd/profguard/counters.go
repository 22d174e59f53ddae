package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"math"
	"net/url"
	"slices"
	"strings"

	"github.com/profguard/profguard/internal/pattern"
	"github.com/profguard/profguard/internal/unit"
)

// workWords are in the names of metrics that count what a service does for others, the likeliest first.
var workWords = []string{"request", "grpc", "rpc", "handled", "message", "job", "task", "order", "event", "quer"}

// otherWords are in the names of metrics that count something else, or only a part of the work.
var otherWords = []string{"client", "error", "fail", "retr", "drop", "bytes", "size", "in_flight"}

// otherBeginnings are those of the metrics of the runtime and of libraries, which each program may have.
var otherBeginnings = []string{"go_", "process_", "promhttp_", "prometheus_", "profguard_"}

// countsWork reports whether a metric or series may count a service's work, by its name.
func countsWork(name []byte) bool {
	in := func(word string) bool { return bytes.Contains(name, []byte(word)) }
	begins := func(word string) bool { return bytes.HasPrefix(name, []byte(word)) }
	for _, end := range []string{"_bucket", "_sum", "_created", "_seconds_total"} {
		if bytes.HasSuffix(name, []byte(end)) {
			return false
		}
	}
	return slices.ContainsFunc(workWords, in) && !slices.ContainsFunc(otherWords, in) && !slices.ContainsFunc(otherBeginnings, begins)
}

// A counted is a unit of work, with how much was done of it.
type counted struct {
	unit string
	done float64
}

// leastDone is how much must have been done: the work at the beginning and at the end of a profile is only a
// part of what is counted.
const leastDone = 50

// work are the units of work that a service has counted while it was profiled, the likeliest first.
func (a *answer) work() (list []counted) {
	if a.failed != nil {
		return nil
	}
	for name := range a.after.types {
		if n, known := a.grown(name); known && n >= leastDone && countsWork([]byte(name)) {
			list = append(list, counted{name, n})
		}
	}
	likeliness := func(c counted) int {
		return slices.IndexFunc(workWords, func(word string) bool { return strings.Contains(c.unit, word) })
	}
	isCounter := func(c counted) int { // of one and the same, the counter has the better name
		return map[bool]int{true: 1}[a.after.types[c.unit] == "counter"]
	}
	slices.SortFunc(list, func(a, b counted) int {
		return cmp.Or(cmp.Compare(likeliness(a), likeliness(b)), cmp.Compare(isCounter(b), isCounter(a)), cmp.Compare(b.done, a.done), strings.Compare(a.unit, b.unit))
	})
	return list
}

// profile reads the profiles of the arguments and, of a service, how much work was done meanwhile.
func (w *writer) profile(ctx context.Context, s *source, args []string) error {
	var root *url.URL
	var name string
	if len(args) == 1 {
		root, name = pprofAt(args[0])
	}
	if root == nil || name != "" && name != "profile" {
		err := w.read(ctx, s, args)
		if err == nil && len(args) == 1 {
			for name, n := range knownWork(w.table, nil) { // a reference of a guard says it
				w.work = append(w.work, counted{name, n})
			}
			slices.SortFunc(w.work, func(a, b counted) int { return strings.Compare(a.unit, b.unit) })
		}
		return err
	}
	root.RawQuery = ""
	a, err := s.begin(ctx, root, countsOrIdentifies)
	if err != nil {
		return err
	}
	if err := w.read(ctx, s, args); err != nil {
		return err
	}
	s.end(ctx, a, countsOrIdentifies)
	w.meanwhile(s, a)
	return nil
}

// meanwhile is the work that was done while a profile was taken, or what is lacking.
func (w *writer) meanwhile(s *source, a *answer) {
	if a.failed != nil {
		fmt.Fprintf(s.err, "no metrics, so no budget per unit of work: %v; -metrics says where they are\n", a.failed)
		return
	}
	part := min(float64(w.table.DurationNanos)*1e-9/a.after.at.Sub(a.before.at).Seconds(), 1)
	for _, c := range a.work() {
		w.work = append(w.work, counted{c.unit, c.done * part})
	}
	if len(w.work) == 0 {
		fmt.Fprintf(s.err, "%s counts no work that was done meanwhile, such as http_requests_total, so there is no budget per unit of work\n", a.at.Redacted())
	}
}

// countsOrIdentifies reports whether a metric may count work, or says which process it is of.
func countsOrIdentifies(name []byte) bool { return countsWork(name) || string(name) == startTime }

// perWork suggests a limit on the CPU of a unit of work, of the likeliest one.
func (w *writer) perWork() {
	if len(w.work) == 0 {
		return
	}
	of := w.work[0]
	w.facts.Work = map[string]float64{of.unit: of.done}
	sentence := func(limit string) string { return fmt.Sprintf("process below %s per %s%s", limit, of.unit, w.when) }
	r := w.judge(sentence("1s"))
	if !(r.Value > 0) {
		return
	}
	fmt.Fprintf(&w.out, "\n# The CPU of the whole process for each %s: %s, with %.0f of them in this profile.\n# A guard finds their counter in its Registerer, or in Config.Work.\n",
		pattern.Visible(of.unit), unit.Rounded(r.Value, r.Low, r.High, unit.Time), of.done)
	if len(w.work) > 1 {
		var others []string
		for _, c := range w.work[1:min(len(w.work), 4)] {
			others = append(others, fmt.Sprintf("%s (%.0f)", pattern.Visible(c.unit), c.done))
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
