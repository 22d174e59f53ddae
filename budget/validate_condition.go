package budget

import (
	"fmt"
	"strings"
)

func figureMistake(figure string) (mistake, bool) {
	switch figure {
	case "process", "goroutines", "heap", "rss", "gc":
		return mistake{}, false
	}
	m := mistake{partWhen, figure, `process, goroutines, heap, rss or gc after "when"`, example("when process above 0.1 cores")}
	switch strings.ToLower(figure) {
	case "cpu", "load", "cores", "busy":
		m.remedy = didYouMean("when process above 0.1 cores")
	case "idle", "quiet":
		m.remedy = didYouMean("when process below 0.1 cores")
	case "memory", "mem":
		m.remedy = didYouMean(`heap" or "rss`)
	case "rps", "qps", "tps", "rate", "requests", "request", "req", "reqs", "calls", "hits", "traffic", "throughput":
		m.remedy = "a condition knows no rates of work, but the CPU that work takes: " + example("when process above 0.1 cores")
	default:
		if meant := nearest(figure, "process", "goroutines", "heap", "rss", "gc"); meant != "" {
			m.remedy = didYouMean(meant)
		}
	}
	return m, true
}

// conditionMistake returns what is wrong with a condition. Its figures take
// the units that they have as subjects, and the process has cores.
func conditionMistake(c Condition) (mistake, bool) {
	if m, wrong := figureMistake(c.Figure); wrong {
		return m, true
	}
	m := mistake{part: partWhen, found: c.String()}
	if m.expected, m.remedy = amountMistake(c.Amount); m.expected != "" {
		return m, true
	}
	list := fits(classOf(c.Figure), Budget{Subject: c.Figure})[:1]
	if c.Amount.dimension() != list[0].dim {
		m.expected = fmt.Sprintf(`%s after "when %s"`, fitsText(list), c.Figure)
		m.remedy = example("when " + conditionExample(c.Figure))
		return m, true
	}
	wrong := false
	(Budget{Limit: c.Amount}).checkRange(list[0], func(r mistake) {
		m.expected, m.remedy, wrong = r.expected, r.remedy, true
		if list[0].dim == dimShare {
			m.expected, m.remedy = "less than 100%, which no share exceeds", "lower it, or leave the condition out"
		}
	})
	return m, wrong
}

func conditionExample(figure string) string {
	switch figure {
	case "goroutines":
		return "goroutines above 5000"
	case "heap", "rss":
		return figure + " above 64MiB"
	case "gc":
		return "gc above 5%"
	}
	return "process above 0.1 cores"
}
