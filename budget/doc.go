// Package budget reads sentences that limit what a program may spend, and
// judges profiles by them.
//
//	set := budget.Must(
//		"no function above 20% cumulative",
//		"crypto/tls below 0.2 cores",
//		"portlist absent",
//	)
//	for _, result := range set.Judge(profile) {
//		fmt.Println(result)
//	}
//
// The package is pure: it starts nothing, waits for nothing, and reads no
// files, clocks or environment. The rest of this page is the reference of the
// language.
//
// # Budgets
//
// A text holds one budget a line. Empty lines are skipped, and so are comments,
// which begin with "#" at the beginning of a line or after white space. A
// budget names a subject and what the subject must not do:
//
//	no function above 20% cumulative      # each function by itself
//	no package above 30% flat             # each package by itself
//	crypto/tls below 5% cumulative        # what a pattern matches, together
//	portlist absent                       # not even once
//	process below 1.5 cores               # all that runs
//	goroutines below 5000                 # a figure of the process
//
// A name in front, with a colon, is what metrics, events and dumps call the
// budget; without one they use its sentence. No two budgets of a set may have
// the same.
//
//	checkout-tls: crypto/tls below 5% cumulative for 3 windows
//
// # Subjects
//
// "no function" and "no package" judge each function or package by itself, so
// one budget covers those that nobody has thought of. They are followed by
// "above"; everything else stays "below".
//
// A pattern is one subject, however many functions it matches: its share is
// that of the samples that have any of them, each sample counted once. Patterns
// match whole names and never pieces of words. portlist is any package of that
// name with all its functions, or a function of that name, and not portlister:
//
//	portlist absent
//	tailscale.com/portlist absent
//	portlist.(*Poller).Poll absent
//	(*Poller).Poll absent
//	Poller.Poll absent
//	net/http/... below 30% cumulative
//	main.handle* below 40% cumulative
//	/(?i)legacy.*codec/ absent
//	"operator new(unsigned long)" below 5% cumulative
//
// A path ends with the package, a subtree with "/...", as in go commands. "*" stands for
// any characters inside one element of a name. A regular expression between slashes is
// tried on the full name, without escapes (%2e) and vendor directories. Any name that a
// report prints can be copied; one that is no word, or is a word of the language, goes in
// double quotes. Closures belong to the function that holds them, and instances of a
// generic function to the generic one. A package whose name is a word of the language, or
// of what is measured (cpu, memory, allocs, lock, request), needs its full path, as in
// "container/heap below 5%": "heap" is the figure.
//
// Since Go 1.24 much of crypto/... is done in crypto/internal/fips140/...: what
// crypto/sha256.New returns is of there. "crypto/sha256 below 5%" is about both.
//
// "process" is all that the profile holds. "goroutines", "heap", "rss" and "gc" are
// figures that need no profile: how many goroutines exist, the bytes in live and not yet
// swept objects, the resident memory, and the share of CPU time that the garbage
// collector takes. Where Facts.Figures lacks them, a profile of that kind tells the first
// two, a CPU profile gc, and rss is inconclusive.
//
// # Limits
//
// An amount has a unit, and the unit decides what is compared:
//
//	no function above 20% cumulative                 # of the profile's total
//	crypto/tls below 0.2 cores                       # CPU seconds per second
//	encoding/json below 40us per request             # CPU time divided by work done
//	no function above 64MiB of heap
//	encoding/json below 12KiB per request of allocs
//	no function above 500 of goroutine               # a count
//	no function above 0.1 cores of mutex             # seconds waited in a second
//	no function grows above 5 points                 # of share, since the baseline
//
// The cores of mutex and block are the seconds waited in a second, by all goroutines
// together. There is no share of contention: it always adds up to 100%.
//
// Shares suit services whose load changes, cores and bytes suit machines that are paid
// for, and amounts per unit of work suit both. The guard is told how to count the work
// (its Work functions), or finds it in the service's Prometheus registry, as a counter or
// the count of a histogram, added up over its labels or narrowed by them:
//
//	process below 2ms per http_requests_total
//	process below 2ms per http_requests_total{code="200", method="GET"}
//
// Units are %, points, cores, the durations ns, us, ms, s, m and h, the bytes B, KiB,
// MiB, GiB, kB, MB and GB, and none for a count. Not every unit makes sense everywhere:
//
//	                    above, below                              grows
//	cpu                 %, cores, duration per work               points, % per work
//	heap                %, bytes, count                           points
//	allocs              %, bytes or count, also per work          points, % per work
//	goroutine           %, count                                  points
//	mutex, block        cores, duration per work, count, also per
//	process             cores, duration per work                  % per work
//	process, of allocs  bytes or count, also per work             % per work
//	process, of heap    bytes
//	goroutines          count
//	heap, rss           bytes
//	gc                  %
//
// The measure is cumulative, what a function spends together with what it calls, or flat,
// what it spends in its own body. Cumulative is the default. However often a function
// recurs in a stack, the sample counts once.
//
// The kind of profile, after "of", is cpu, which is the default, heap (live memory),
// allocs, goroutine, mutex or block.
//
// # Rules
//
// "absent" means that the subject never shows: one sample with it fails, and without any
// the budget passes once there were enough samples (299) to say that its share is below
// 1%, which is wrong one time in twenty. A pattern that matches nothing in the program is
// a mistake, except with "absent", where it is the best possible pass: a guard and a Check
// know what is linked and say so, of a profile alone the Result's Reason does. Name the
// function, not its package: "regexp/syntax absent" is meant against compiling in a hot
// path and fails on matching, "regexp.compile absent" says it.
//
//	fmt.Println absent in main.(*Server).ServeHTTP
//	encoding/gob absent of allocs
//
// "grows" compares with a baseline, an earlier profile of the same program: in
// points of share, or in percent of the CPU or the allocations per unit of work.
//
//	no function grows above 5 points
//	process grows below 10% per request
//
// "steady" finds slow growth over hours, beyond what the load explains. A guard first
// learns for 48 hours what is normal, and begins anew whenever the program does; growth of
// 20% an hour then shows in some hours, of 2% in half a day. What was growing from the
// first minute on looks steady, so it may have a limit as well, which holds from the start.
//
//	goroutines steady
//	heap steady below 512MiB
//	process steady
//
// "no goroutine leaked" fails on goroutines that are blocked for good, where
// the runtime has a profile of them.
//
//	no goroutine leaked
//
// # Clauses
//
// Clauses follow the amount, in any order, each at most once.
//
//	no function above 5% flat except runtime/..., internal/runtime/...
//	no function above 20% cumulative except none
//	fmt.Sprintf below 1% cumulative in main.(*Server).ServeHTTP
//	no function above 20% cumulative where endpoint=/checkout, tenant="big one"
//	no function above 10% cumulative of allocs when process above 0.1 cores
//	heap below 64MiB for 5m
//
// "except" exempts functions and packages from a "no function" or "no package" budget. It
// takes patterns, and the names of functions as reports print them.
//
// "in" keeps to the paths through the functions of a pattern, and on them to
// what these call.
//
// "where" keeps to the samples with these pprof labels, whose values are compared
// for equality. What has blanks, commas or quotes is written in double quotes.
//
// "when" makes a budget relevant: in a process that takes a hundredth of a core there is
// always a function at 60%. While the condition does not hold, the verdict is
// inconclusive, with the reason "idle", and never a pass. After five periods of that a
// guard's alert ends for this reason, and fires anew when it holds again.
//
// "for" says how long a budget must fail before the guard fires: in so many
// windows in a row, or all through a time. Without it, three periods of failing
// windows fire, or the evidence of all windows for what no window proves alone.
//
// # Whose share it is
//
// A sample's stack has ten or twenty functions, from main.main over a server's loop and
// the handler to a system call. Charged to all of them, "no function" would fail in every
// program. So "no function" and "no package" charge the part in between:
//
//   - The way in is charged nothing: servers, routers and middleware, up to the last call
//     that can only have gone through an interface or a function value. The linker places
//     each package behind all that it imports, so addresses show such calls.
//   - The entry point, which that call calls, is charged with its own body only. A handler
//     that burns CPU itself is caught, and what it calls counts in full.
//   - A server's own work, on stacks that reach no handler, is charged nothing.
//   - The floor is charged to its callers: the runtime, system calls, and what wraps
//     them for everybody (os, net, io, bufio). "gc below" and "net.Interfaces below" name
//     what matters there. In profiles of contention sync and time are of the floor, too.
//
// "no package" leaves out the program's own module and package main: name these to limit
// them. What is accepted goes behind "except": the function, what runs in it, and those
// who call it for that; what it calls is still charged by itself. "except none" charges
// every function of a stack. Patterns and "flat" are literal, too: "main.main below 5%" is
// about all that main.main calls. Goroutine profiles charge the entry point in full, and
// nothing in which goroutines wait.
//
// Offenders are named deepest first. Blame is the nearest function of the program's own
// module with at least half of the offender. What is spread over many small functions
// is found by naming their package: "log/slog below 10%".
//
// The rule in full, how well it does, and what profiles without addresses lack:
// https://github.com/profguard/profguard/blob/main/docs/culprit.md
//
// # Verdicts
//
// A profile is a sample, and a share that is measured is not the share that is.
// So every result has bounds, and a verdict has three values:
//
//   - Fail: the lower bound is above the limit. At a true share equal to the limit
//     this happens in one window in a million.
//   - Pass: the upper bound is below 1.25 times the limit, at one in a thousand; of
//     "grows below 10% per request", below 12.5%. Of a share with a limit above
//     two thirds, it is below the middle between the limit and 100%.
//   - Inconclusive: the samples do not tell, there were none, the window was
//     disturbed, or the condition after "when" did not hold. The reason says which,
//     and how many samples would do.
//
// Figures are read and not sampled, so their verdict is the comparison itself. They swing:
// a guard fires after three periods in which one is over its limit, unless "for" says
// otherwise, and the alert ends after three within it.
//
// The runtime keeps 64 frames of a stack in CPU profiles, 128 in others, and drops the
// root's side. Such samples widen the bounds of what asks about callers, nothing passes by
// them, and the reason says how many they were. Work in lockstep with the sampling clock,
// such as a ticker of 10 ms, is sampled at one phase: a single window of it is wrong.
//
// # Grammar
//
//	text      = line { "\n" line }
//	line      = [ budget ] [ "#" comment ]
//	budget    = [ name ":" ] subject rule { clause }
//	subject   = "no function" | "no package" | "no goroutine"
//	          | "process" | "goroutines" | "heap" | "rss" | "gc"
//	          | pattern
//	rule      = "above" amount                     after "no function", "no package"
//	          | "below" amount                     after other subjects
//	          | "grows" ( "above" | "below" ) amount
//	          | "absent"                           after a pattern
//	          | "steady" [ "below" amount ]
//	          | "leaked"                           after "no goroutine"
//	clause    = "cumulative" | "flat"
//	          | "per" work
//	          | "of" kind
//	          | "except" ( "none" | pattern { "," pattern } )
//	          | "in" pattern
//	          | "where" label { "," label }
//	          | "when" figure ( "above" | "below" ) amount
//	          | "for" ( count ( "window" | "windows" ) | duration )
//	label     = key "=" value
//	key,value = word | string
//	figure    = "process" | "goroutines" | "heap" | "rss" | "gc"
//	kind      = "cpu" | "heap" | "allocs" | "goroutine" | "mutex" | "block"
//	amount    = number [ unit ]
//	number    = digits [ "." digits ]
//	unit      = "%" | "points" | "cores" | "ns" | "us" | "ms" | "s" | "m" | "h"
//	          | "B" | "KiB" | "MiB" | "GiB" | "kB" | "MB" | "GB"
//	pattern   = word | string | "/" regular expression "/"
//	name      = letter or digit { letter | digit | "_" | "." | "-" }
//	work      = name [ "{" name "=" string { "," name "=" string } "}" ]
//	duration  = as time.ParseDuration reads it
//	string    = as Go writes it, in double quotes
//
// White space separates words and is free around "," and "=", and between a
// number and its unit. Clauses come in any order, each at most once. A word
// ends at white space or a comma; the brackets of type arguments and the
// slashes of a regular expression may hold both. Work does not begin with a
// digit, and the words of the language stand for no pattern.
//
// # Canonical form
//
// [Budget.String] returns a budget in one form, whatever its spelling, and
// parsing that gives the same budget. Clauses come in the order of the grammar,
// labels in the order of their keys, and a percentage says its measure, because
// readers take a bare "above 20%" for either.
//
//	process  below  1.50 cores                  -> process below 1.5 cores
//	encoding/json below 40µs per request        -> encoding/json below 40us per request
//	crypto/tls below 5% of cpu                  -> crypto/tls below 5% cumulative
//	gc below 5% for 300s when rss above 1GiB    -> gc below 5% when rss above 1GiB for 5m
//
// A sentence that is wrong is a [SyntaxError], which says where, what could have stood
// there, and what to write instead: a sentence that can be copied.
package budget
