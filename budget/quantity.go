package budget

import (
	"strings"

	"github.com/profguard/profguard/internal/spelling"
)

// quantityRemedy says what to write for a subject that names what is measured
// and not who is charged with it, or "" for any other. As a pattern such a word
// matches something by accident (internal/cpu, sha256.block), and says nothing
// that its author meant.
func quantityRemedy(b Budget) string {
	const path = " For a package of that name write its full path."
	quantity := quantityNamed(b.Subject)
	lower := strings.ToLower(b.Subject)
	switch {
	case quantity == "", quantity == b.Subject && classOf(quantity) != classPattern:
		return ""
	case quantity == lower && classOf(quantity) != classPattern: // but for its capitals it is one
		return didYouMean(quantity) + path
	}
	meant := firstValid(quantityMeant(quantity, b))
	remedy := didYouMean(meant.String()) + path
	switch {
	case b.Limit.Unit == "%" && meant.Limit.Unit == "cores" && meant.Limit == coresOf(b.Limit.Value):
		remedy = ofOneCore + remedy
	case isPerTime(b.Per) && meant.Kind == "allocs" && meant.Per != "":
		remedy = noRate + remedy
	}
	switch quantity {
	case "latency":
		return "a profile has CPU time, and no latency: " + remedy
	case "threads":
		return "profiles count goroutines, not threads: " + remedy
	case "memory":
		return remedy + ` The whole process is "rss".`
	}
	return remedy
}

// quantityNamed returns the quantity that a subject names, or "".
func quantityNamed(subject string) string {
	word := strings.ToLower(subject)
	switch word {
	case "cpu", "cpus":
		return "cpu"
	case "latency", "latencies", "p50", "p90", "p95", "p99", "p999":
		return "latency"
	case "thread", "threads":
		return "threads"
	case "alloc", "allocs", "allocation", "allocations", "mallocs":
		return "allocs"
	case "mutex", "mutexes", "contention", "contentions":
		return "mutex"
	case "mem", "memory", "ram":
		return "memory"
	case "leak", "leaks":
		return "leaks"
	case "processes":
		return "process"
	case "heaps":
		return "heap"
	case "garbage":
		return "gc"
	case "block", "goroutine", "heap", "rss", "gc", "goroutines", "process":
		return word
	}
	// One letter wrong and not two, and in long words only: "progress" and
	// "processor" are packages, and so are help, head and leap.
	for _, figure := range []string{"process", "goroutines", "goroutine"} {
		if len(word) <= len(figure)+1 && spelling.Distance(word, figure) == 1 {
			return figure
		}
	}
	return ""
}

// quantityMeant returns what a budget on a quantity can mean, the likeliest
// first. The last is always valid, the others where the rule, the limit and the
// unit of work make sense there.
func quantityMeant(quantity string, b Budget) []Budget {
	per := b.Per
	if _, wrong := perMistake(per); wrong {
		per = "request"
	}
	share := b.Limit
	if share.dimension() != dimShare {
		share = Amount{}
	}
	grows := b.Rule == "grows" || b.Rule == "steady"
	switch quantity {
	case "latency":
		return []Budget{
			{Subject: "process", Limit: b.Limit, Per: per},
			{Subject: "process", Limit: Amount{2, "ms"}, Per: per},
		}
	case "goroutine", "goroutines", "threads":
		switch {
		case b.Rule == "leaked":
			return []Budget{{Subject: "no goroutine", Rule: "leaked"}}
		case grows:
			return []Budget{{Subject: "goroutines", Rule: "steady"}}
		}
		return []Budget{
			{Subject: "goroutines", Limit: b.Limit},
			{Subject: "no function", Limit: share, Kind: "goroutine"},
			{Subject: "goroutines", Limit: Amount{5000, ""}},
		}
	case "leaks":
		return []Budget{{Subject: "no goroutine", Rule: "leaked"}}
	case "memory", "heap":
		switch {
		case grows:
			return []Budget{{Subject: "heap", Rule: "steady"}}
		case b.Per != "":
			return []Budget{
				{Subject: "process", Limit: b.Limit, Per: per, Kind: "allocs"},
				{Subject: "process", Limit: Amount{64, "KiB"}, Per: per, Kind: "allocs"},
			}
		}
		return []Budget{
			{Subject: "heap", Limit: b.Limit},
			{Subject: "no function", Limit: share, Kind: "heap"},
			{Subject: "heap", Limit: Amount{64, "MiB"}},
		}
	case "gc":
		return []Budget{{Subject: "gc", Limit: b.Limit}, {Subject: "gc", Limit: Amount{5, "%"}}}
	case "allocs":
		if grows {
			return []Budget{
				{Subject: "process", Rule: "grows", Limit: b.Limit, Per: per, Kind: "allocs"},
				{Subject: "process", Rule: "grows", Limit: Amount{10, "%"}, Per: per, Kind: "allocs"},
			}
		}
		return []Budget{
			{Subject: "process", Limit: b.Limit, Per: b.Per, Kind: "allocs"},
			{Subject: "process", Limit: b.Limit, Per: per, Kind: "allocs"},
			{Subject: "no function", Limit: share, Kind: "allocs"},
			{Subject: "no function", Limit: Amount{20, "%"}, Kind: "allocs"},
		}
	case "mutex", "block":
		return []Budget{
			{Subject: "no function", Limit: b.Limit, Per: b.Per, Kind: quantity},
			{Subject: "no function", Limit: b.Limit, Per: per, Kind: quantity},
			{Subject: "no function", Limit: Amount{20, "%"}, Kind: quantity},
		}
	}
	if grows { // cpu, process
		return []Budget{
			{Subject: "process", Rule: "grows", Limit: b.Limit, Per: per},
			{Subject: "process", Rule: "steady"},
		}
	}
	return []Budget{
		{Subject: "process", Limit: b.Limit, Per: b.Per, Kind: b.Kind},
		{Subject: "process", Limit: b.Limit, Per: per},
		{Subject: "process", Limit: coresOf(share.Value)},
		{Subject: "process", Limit: Amount{1.5, "cores"}},
	}
}

// firstValid returns the first of several sentences that can be judged: what is
// proposed must be accepted.
func firstValid(meant []Budget) Budget {
	for _, b := range meant {
		if b.Validate() == nil {
			return b
		}
	}
	return Budget{}
}
