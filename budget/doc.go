// Package budget reads sentences that limit what a program uses, and judges
// profiles by them.
//
//	set := budget.Must(
//		"no function above 20% cumulative",
//		"crypto/tls below 0.2 cores",
//		"portlist absent",
//	)
//	results, err := set.Judge(profile, budget.Facts{})
//
// The package starts nothing, and reads nothing but the day, for "until".
// The rest of this page is the reference of the language.
//
// # Budgets
//
// A budget is one line: a subject, a rule, and clauses. "#" begins a comment.
//
//	no function above 20% cumulative                # each function by itself
//	no package above 30% cumulative                 # each package by itself
//	no tenant above 30%                             # each value of a label by itself
//	crypto/tls below 5% cumulative                  # all that a pattern matches, together
//	goroutines below 5000                           # a figure of the process
//	checkout-tls: crypto/tls below 5% cumulative    # a budget with a name
//
// Write "above" after "no", and "below" after other subjects. Metrics, events and
// dumps use the name, or the sentence if there is none. Names in a set must be
// unique, and so must the sentences of unnamed budgets.
//
// # Functions and packages
//
// A sample counts for a part of its stack. Otherwise main.main would break every budget.
//
//	frame                                   counted
//	servers, routers, middleware            no
//	the handler that they call              its own body only; in goroutine profiles in full
//	functions of your module                yes
//	other modules, the standard library     the function that was entered, such as json.Unmarshal
//	runtime, system calls, os, net, bufio   for the caller; sync and time in profiles of contention, too
//
// "no package" leaves out your own module and package main: name these to limit
// them. Patterns, "flat" and "except none" count every function of a stack, as
// pprof does. To limit work that is spread over small functions, name their package.
// https://github.com/profguard/profguard/blob/main/docs/design.md has the full rule.
//
// # Values of a label
//
// "no" and any other word judge each value of the pprof label of that name by itself:
// for whom the program works, and not in which code. Package label sets labels.
//
//	no tenant above 30%
//	no endpoint above 0.5 cores except "GET /healthz", internal
//	no endpoint above 5ms per http_requests_total by handler
//	no tenant above 40% of goroutine
//	no "http.route" above 30% in main.(*Server).ServeHTTP
//
// The name of a label needs double quotes if it has other characters than letters, digits,
// "_" and "-", or could be a word of the language ("method"). Samples
// without the label count for no value, only for the whole. With more than 1,000 values,
// those with the most samples are judged, and nothing passes.
//
// "per" divides each value by its own series of a counter: those in which the label of the same
// name, or the one behind "by", has the value. A value without such series, or with too little work, is
// undecided: others may fail, and nothing passes until it is decided. A test has no such counters.
//
// # Patterns
//
// A sample counts once if a function that the pattern matches is on its stack.
// Names match as a whole: portlist does not match portlister.
//
//	portlist absent                                         # a package, a function or a type of that name
//	tailscale.com/portlist absent                           # a path: that package only
//	portlist.(*Poller).Poll absent                          # one method; portlist may be left out
//	Poller.Poll absent                                      # with any receiver
//	net/http/... below 30% cumulative                       # a package and all below it
//	.../http below 30% cumulative                           # all paths that end so
//	main.handle* below 40% cumulative                       # any characters inside one element
//	/(?i)legacy.*codec/ absent                              # a regular expression on the full name
//	"operator new(unsigned long)" below 5% cumulative       # a name that is not a Go name
//
// You can copy any Go name that a report prints.
//
//   - Closures belong to the function around them, and instances of a generic
//     function to the generic one.
//   - A package is also found without its major version and the "go" of its
//     repository: redis is github.com/redis/go-redis/v9.
//   - A package named like a word of the language ("for") needs double quotes. One
//     named like a figure or a quantity (heap, cpu, lock) needs its full path:
//     container/heap.
//   - Work that the standard library has moved counts for the old package, too:
//     encoding/json/v2 for encoding/json. The name of a function has only that function.
//
// # Process and figures
//
// These need no profile:
//
//	process below 1.5 cores
//	goroutines below 5000
//	heap below 64MiB              # objects that are live or not yet swept
//	rss below 512MiB              # resident memory
//	gc below 25%                  # the garbage collector's share of the CPU time
//
// In a saved profile, goroutines and heap need a profile of that kind, gc needs a CPU profile and
// may be several times as large, and rss is inconclusive.
//
// # Limits
//
// The unit says what is compared:
//
//	unit                             compared
//	%                                the share of the profile's total; of gc, of the CPU time
//	points                           the growth of a share
//	cores                            CPU seconds a second; of mutex and block, seconds waited a second
//	ns, us, ms, s, m, h              CPU time per unit of work; of mutex and block, time waited
//	B, KiB, MiB, GiB, kB, MB, GB     memory that is live, or was allocated
//	none                             a whole number: goroutines, objects, contentions
//
//	encoding/json below 40us per request
//	encoding/json below 12KiB per request of allocs
//	no function above 64MiB of heap
//	no function above 0.1 cores of mutex
//
// Use shares where the load changes, cores and bytes for the limits of a machine,
// and amounts per unit of work for both. "of" names the kind of profile:
//
//	kind          content
//	cpu           CPU time; the default
//	heap          live memory, as of the last collection
//	allocs        what was allocated
//	goroutine     goroutines by stack
//	mutex         waits that holders of locks have caused
//	block         time that goroutines were blocked
//
// Without cores and "per", a limit on allocs, mutex or block is for one period of a guard
// (Config.Every), and for the whole profile in Judge. These limits are possible:
//
//	                    above, below                                   grows
//	cpu                 %, cores, duration per work                    points, also per work, % per work
//	heap                %, bytes, count                                points
//	allocs              %, bytes or count, also per work               points, % per work
//	goroutine           %, count                                       points
//	mutex, block        cores, duration per work, count, also per work
//	no tenant           %, cores, duration per work                    points, also per work
//	no job of goroutine %, count                                       points
//	process             cores, duration per work                       % per work
//	process, of allocs  bytes or count, also per work                  % per work
//	process, of heap    bytes
//	goroutines          count
//	heap, rss           bytes
//	gc                  %
//
// # Rules
//
//	portlist absent                                        # no sample has it
//	no function grows above 5 points                       # of share, since the baseline
//	no function grows above 3 points per request           # of what a unit of work cost before
//	no endpoint grows above 3 points per request
//	crypto/tls grows below 5 points
//	process grows below 10% per request
//	goroutines steady                                      # in tests
//	no goroutine leaked
//
// "absent" fails on one sample. It passes after 299 samples without one: the share is
// below 1%, with one error in twenty. Name the function: "regexp/syntax absent" also
// forbids matching, "regexp.compile absent" forbids only compiling.
//
// "grows" compares with a baseline, an earlier profile of the same program. A guard has
// Config.Baseline, or the build before if it has a DumpDir. It compares CPU only. The build
// before gives points of functions, values of a label and patterns, and % of the process: for
// packages, percent of functions and patterns, flat, in, where and "except none", set
// Config.Baseline. Points per unit of work go with "no function" and labels, without flat, in,
// where and "except none".
//
// "steady" is for tests: memory or goroutines must not grow with more calls.
//
// "leaked" needs Go 1.27, or 1.26 built with GOEXPERIMENT=goroutineleakprofile. In a
// test, it fails if the work starts goroutines that do not end.
//
// # Clauses
//
// Clauses come last, in any order, each at most once.
//
//	clause              after
//	flat                function, package, pattern
//	per                 function, package, label, pattern, process
//	of, where           function, package, pattern, process, label
//	in                  function, package, pattern, label
//	except              function, package, label
//	when, for           all
//	cumulative          all; it changes nothing
//
// "absent" takes neither "flat" nor "per".
//
//	no function above 5% flat                                                    # its own body only
//	process below 2ms per http_requests_total{code="200", method="GET"}          # for each unit of work
//	no function above 20% cumulative except encoding/json until 2027-01-31, net/http
//	no function above 20% cumulative except encoding/json.Unmarshal from main.(*server).debugState
//	no function above 20% cumulative except none
//	fmt.Sprintf below 1% cumulative in main.(*Server).ServeHTTP                  # below ServeHTTP only
//	no function above 20% cumulative where endpoint=/checkout, tenant="big one"  # in samples with these labels
//	no function above 10% cumulative of allocs when process above 0.1 cores      # judged only then
//	heap below 64MiB for 5m                                                      # before a guard fires
//
// "per" takes a unit of the guard's Work functions, or a metric of the service's
// Prometheus registry: the sum of the series of a counter, histogram (its count) or
// summary, or of those with the given labels.
//
// "except": samples through an accepted function count neither for it nor for its
// callers. Functions that it calls still count; if it belongs to another module, those that
// the module calls. "until" accepts to the end of a day, in UTC. "from" accepts a
// function only below another, and does not go with "grows". Both belong to the one
// pattern in front of them. A value of a label has to be equal, and takes only "until".
//
// "where" compares for equality. Values with blanks, commas, quotes, "*" or "..." need
// double quotes. Only profiles of CPU and goroutines have labels.
//
// "when" is for idle processes, in which some function always has 60%. While it does not
// hold, the verdict is inconclusive. "for" takes windows in a row, or a duration.
// https://github.com/profguard/profguard/blob/main/docs/alerts.md has the default.
//
// # Verdicts
//
// A profile is a sample, so each result has bounds:
//
//	verdict         meaning                                                      wrong
//	fail            the lower bound is above the limit                           one window in a million
//	pass            the upper bound is below 1.25 times the limit                one in a thousand
//	inconclusive    too few samples, a disturbed window, or "when" did not hold  -
//
// If the limit of a share is above two thirds, a pass is below the middle between the
// limit and 100%. Figures are counted, and have no such bounds. The Reason says why a
// result is inconclusive, and how many samples would be enough.
//
// A stack has at most 64 frames in a CPU profile, and 128 in others (32 up to Go 1.22). Deeper ones
// lack their callers, which makes budgets on callers less certain.
//
// # Grammar
//
//	text      = line { "\n" line }
//	line      = [ budget ] [ "#" comment ]
//	budget    = [ name ":" ] subject rule { clause }
//	subject   = "no function" | "no package" | "no goroutine" | "no" key | figure | pattern
//	rule      = "above" amount                     after "no", but for "no goroutine"
//	          | "below" amount                     after other subjects
//	          | "grows" ( "above" | "below" ) amount
//	          | "absent"                           after a pattern
//	          | "steady"                           after "goroutines", "heap"
//	          | "leaked"                           after "no goroutine"
//	clause    = "cumulative" | "flat"
//	          | "per" work [ "by" name ]           with "by" after "no" key "above"
//	          | "of" kind
//	          | "except" ( "none" | exception { "," exception } )
//	          | "in" pattern
//	          | "where" label { "," label }
//	          | "when" figure ( "above" | "below" ) amount
//	          | "for" ( count ( "window" | "windows" ) | duration )
//	exception = ( pattern [ "from" pattern ] | value ) [ "until" day ]
//	label     = key "=" value
//	key,value = word | string
//	figure    = "process" | "goroutines" | "heap" | "rss" | "gc"
//	kind      = "cpu" | "heap" | "allocs" | "goroutine" | "mutex" | "block"
//	amount    = number [ unit ]
//	number    = digits [ "." digits ]
//	unit      = "%" | "points" | "cores" | "ns" | "us" | "ms" | "s" | "m" | "h"
//	          | "B" | "KiB" | "MiB" | "GiB" | "kB" | "MB" | "GB"
//	pattern   = word | string | "/" regular expression "/"
//	name      = letter or digit { letter | digit | "_" | "." | "-" }     of a budget at most 100
//	work      = name [ "{" name "=" string { "," name "=" string } "}" ]
//	duration  = as time.ParseDuration reads it
//	string    = as Go writes it, in double quotes
//
// White space is free around "," and "=", and between a number and its unit. A word
// ends at white space or a comma, but not within the brackets of type arguments or the
// slashes of a regular expression. "#" begins a comment at the start of a line or after
// white space.
//
// # Canonical form
//
// [Budget.String] prints a budget in one form, which parses to the same budget, with clauses
// in the order of the grammar. "point", "core" and "µs" are read, too.
//
//	gc below 5% for 300s when rss above 1GiB    -> gc below 5% when rss above 1GiB for 5m
package budget
