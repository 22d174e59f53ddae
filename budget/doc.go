// Package budget reads sentences that limit what a program uses, and judges
// profiles by them.
//
//	set := budget.Must(
//		"no function above 20% cumulative",
//		"crypto/tls below 0.2 cores",
//		"portlist absent",
//	)
//	results, err := set.Judge(profile, budget.Facts{})
//	if err != nil {
//		return err
//	}
//	for _, result := range results {
//		fmt.Println(result)
//	}
//
// The package is pure: it starts nothing, waits for nothing, and reads no
// files, clocks or environment. The rest of this page is the reference of the
// language.
//
// # Budgets
//
// A text has one budget a line. Empty lines are skipped, and so are comments,
// which begin with "#" at the beginning of a line or after white space. A
// budget is a subject and a rule for it:
//
//	no function above 20% cumulative      # each function by itself
//	no package above 30% flat             # each package by itself
//	crypto/tls below 5% cumulative        # what a pattern matches, together
//	portlist absent                       # not even once
//	process below 1.5 cores               # all that runs
//	goroutines below 5000                 # a figure of the process
//
// A budget may have a name in front, with a colon. Metrics, events and dumps use
// the name, or the sentence if there is none. No two budgets of a set may have
// the same name, or without names the same sentence.
//
//	checkout-tls: crypto/tls below 5% cumulative for 3 windows
//
// # Subjects
//
// "no function" and "no package" judge each function or package by itself, so
// one budget covers all of them, also those that you do not expect. Write "above"
// after them, and "below" after all other subjects.
//
// A pattern is one subject, however many functions it matches. Its share is that of
// the samples with at least one of them; each sample counts once. A pattern matches whole
// names and never parts of words: portlist is any package of that name with all its
// functions, or a function or type of that name, but not portlister. A package is also found
// without its major version and without the "go" of its repository: nats.Connect is that of
// github.com/nats-io/nats.go, and redis is github.com/redis/go-redis/v9. The full path of
// a package means that package only:
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
// A path ends with the package. "/..." at its end means all packages below, as in go
// commands, and ".../" stands for the beginning of a path, as in .../http. "*" stands for any
// characters inside one element of a name. A regular expression between slashes is tried on
// the full name, without escapes (%2e) and vendor directories. You can copy any Go name that a
// report prints. Other names, such as those of C++, and a package that is named like a word
// of the language ("for"), need double quotes.
// Closures belong to the function around them, and instances of a generic function to the
// generic one. A package whose name is a word of the language, or a measured quantity
// (cpu, memory, allocs, lock, request), needs its full path: "container/heap below 5%",
// because "heap" is the figure.
//
// Work that the standard library has moved to another package counts for the old one, too:
// "crypto/sha256 below 5%" is also about crypto/internal/fips140/sha256 (since Go 1.24). Since
// Go 1.27 encoding/json is also about encoding/json/v2, encoding/json/jsontext and
// encoding/json/internal/..., and net/http about net/http/internal/... The name of a function
// means that function only: "encoding/json.Unmarshal" is not encoding/json/v2.Unmarshal.
//
// "process" is the whole profile. "goroutines", "heap", "rss" and "gc" are figures, which
// need no profile: the number of goroutines, the bytes of objects that are live or not yet
// swept, the resident memory, and the garbage collector's share of the CPU time. If
// Facts.Figures lacks them, the first two are read from a profile of that kind, and gc from a
// CPU profile (but not after "when"); rss is inconclusive. In a profile gc can be several
// times as large as in a guard, because a profile also counts the sweeping, and the workers
// that idle processors lend to the collector.
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
// Cores of mutex and block are the seconds that all goroutines together have waited in a
// second. There are no shares of contention, because they add up to 100% however little
// there is. A guard makes the runtime record one contention of mutex in ten, unless the
// program has set a fraction. It also asks the runtime how long all goroutines have waited
// for locks, since waits may be in no sample.
//
// A profile of allocs, mutex or block counts events over a time. If the amount has neither
// cores nor "per", a guard compares it with the events of one period (its Config.Every), and
// Judge with those in the profile.
//
// Use shares for services whose load changes, cores and bytes for the limits of a machine,
// and amounts per unit of work for both. The guard reads the amount of work from its Work
// functions, or from the service's Prometheus registry: a counter, or the count of a
// histogram or summary. It adds up its series, or only those with the given labels:
//
//	process below 2ms per http_requests_total
//	process below 2ms per http_requests_total{code="200", method="GET"}
//
// Units are %, points, cores, the durations ns, us, ms, s, m and h, the bytes B, KiB,
// MiB, GiB, kB, MB and GB, and none for a count. Not all units make sense for all kinds of
// profile. The kind follows "of", and is cpu without it; heap is live memory:
//
//	                    above, below                                   grows
//	cpu                 %, cores, duration per work                    points, also per work, % per work
//	heap                %, bytes, count                                points
//	allocs              %, bytes or count, also per work               points, % per work
//	goroutine           %, count                                       points
//	mutex, block        cores, duration per work, count, also per work
//	process             cores, duration per work                       % per work
//	process, of allocs  bytes or count, also per work                  % per work
//	process, of heap    bytes
//	goroutines          count
//	heap, rss           bytes
//	gc                  %
//
// The measure is cumulative or flat. Cumulative, the default, includes the functions that a
// function calls; flat is only its own body.
//
// # Rules
//
// "absent" means that the subject has no sample: one sample with it fails the budget. Without
// any, the budget passes when there are enough samples (299) to say that the share is below
// 1%, which is wrong one time in twenty. A pattern that matches no function of the program is a
// mistake, except with "absent", where it passes. A guard and a Check know which functions
// are linked, and report such a pattern. For a profile alone the Result's Reason does. Name
// the function and not its package: to forbid compiling in a hot path, "regexp.compile
// absent" is right. "regexp/syntax absent" is wrong, because matching uses that package, too.
//
//	fmt.Println absent in main.(*Server).ServeHTTP
//	encoding/gob absent of allocs
//
// "grows" compares with a baseline, an earlier profile of the same program: in
// points of share, or in percent of the CPU or the allocations per unit of work. A guard that has
// no baseline compares with the build before, if it has a DumpDir. Points per unit of work are
// those of what a unit cost before.
//
//	no function grows above 5 points
//	no function grows above 3 points per request
//	process grows below 10% per request
//
// "steady" finds slow growth over hours that the load does not explain. After each start of
// the program a guard first learns for 48 hours what is normal. After that it finds growth
// of 20% an hour within some hours, and growth of 2% an hour within half a day. Growth that
// began with the program looks normal, so you may add a limit, which holds from the start.
//
//	goroutines steady
//	heap steady below 512MiB
//	process steady
//
// "no goroutine leaked" fails on goroutines that are blocked for ever, if the runtime has a
// profile of them: since Go 1.27, and in 1.26 if it was built with
// GOEXPERIMENT=goroutineleakprofile. The report names the function that the goroutine was started for.
// A guard takes the profile once a period, because it runs a garbage collection. In a test the budget
// fails on goroutines that the work has started and that do not end.
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
// takes patterns, and the names of functions as reports print them. With "until" and a day, a
// pattern is exempt to the end of that day, in UTC. After it the budget counts it again. The
// day is that of the one pattern in front of it, not of others in the list:
//
//	no function above 20% cumulative except encoding/json until 2027-01-31, net/http
//
// A guard tells of the end one day before it.
//
// "in" restricts a budget to the stacks with a function of the pattern, and in these stacks
// to what that function calls.
//
// "where" restricts a budget to the samples with these pprof labels. Values have to be equal;
// there are no wildcards. Write values with blanks, commas, quotes, "*" or "..." in double
// quotes. The runtime writes labels into profiles of CPU and goroutines only, so in the other
// kinds there is nothing to judge.
//
// "when" is a condition. In a process that uses 1% of a core there is always a function at
// 60%, and it does not matter. While the condition does not hold, the verdict is
// inconclusive, with the reason "idle", and never a pass. After five such periods a guard's
// alert ends. It fires again when the condition holds and the budget fails again.
//
// "for" says how long a budget must fail before the guard fires: a number of windows in a
// row, or a duration. Without it, "absent" and "leaked" fire at the first hit. Other budgets
// fire after three periods of failing windows, or when all windows together prove an excess
// that has lasted for three periods.
//
// # Whose share it is
//
// If a sample were charged to all functions of its stack, from main.main through a server's
// loop and the handler to a system call, "no function" would fail in every program. So "no
// function" and "no package" charge the part in between:
//
//   - The way in is not charged: servers, routers and middleware, up to the last call that
//     must have gone through an interface or a function value. The linker places each
//     package after all packages that it imports, so addresses show such calls.
//   - The entry point, the function that this call calls, is charged with its own body
//     only. So a handler that computes itself is found, and its callees count in full.
//   - Foreign code, that is the standard library and each module that is not the program's
//     own, is charged at its door: the function through which it was entered, such as
//     json.Unmarshal. What is behind a door is shown as "goes to".
//   - A server's own work, on stacks that reach no handler, is not charged.
//   - The floor is charged to its callers: the runtime, system calls, and the packages
//     that wrap these (os, net, io, bufio). To limit it, name it, as in "gc below" or
//     "net.Interfaces below". In profiles of contention sync and time belong to it, too.
//
// "no package" leaves out the program's own module and package main: name these to limit
// them. Functions that are in no Go package, such as those of C, count together. Reports call
// them (no package), and so does a pattern in double quotes.
// Functions after "except" are accepted: samples through them are charged neither to
// them nor to their callers. The functions that they call are still charged; if an accepted
// function is foreign, those that its module calls. "except none", patterns and "flat" charge
// every function of a stack: "main.main below 5%" is about everything that main.main calls.
// Goroutine profiles charge the entry point in full, and no function in which goroutines
// wait.
//
// Offenders are named deepest first. Blame is the nearest function of the program's own
// module with at least half of the offender, but no String or other method that the standard
// library has called, and no generated file. To find work that is spread over many small functions
// of the own module, name their package: "example.com/shop/log below 10%".
//
// The full rule, measurements of it, and its limits for profiles without addresses are in
// https://github.com/profguard/profguard/blob/main/docs/offenders.md
//
// # Verdicts
//
// A profile is a sample, so a measured share differs from the true share. Every
// result has bounds, and a verdict has three values:
//
//   - Fail: the lower bound is above the limit. At a true share equal to the limit
//     this happens in less than one window in a million.
//   - Pass: the upper bound, which is wrong one time in a thousand, is below 1.25 times
//     the limit; for "grows below 10% per request", below 12.5%. For a share with a limit
//     above two thirds, it is below the middle between the limit and 100%.
//   - Inconclusive: there were too few samples, or none, the window was disturbed, or the
//     condition after "when" did not hold. The reason says which, and how many samples
//     would be enough.
//
// Figures are counted and not sampled, so their verdict is a plain comparison; only heap and
// gc that are read from a profile are sampled. A guard's alert begins and ends when a figure
// was over its limit, or within it, for three periods, unless "for" says otherwise.
//
// The runtime keeps 64 frames of a stack in CPU profiles and 128 in others (32 up to Go 1.22),
// and drops those at the root's end. So a stack that is about as deep may lack its callers,
// unless it ends in a function with which the runtime starts, such as runtime.main. Such samples
// widen the bounds of budgets that depend on callers: those with "in", with "except none", or on a
// function or package by name. Nothing passes because of them, and the reason gives their number.
// "no function" and "no package" ask about what stands near the end of the stack: what was dropped
// counts as the way in.
//
// Work in step with the sampling clock, such as a ticker of 10 ms, is sampled at one phase: a
// single window of it is wrong.
//
// # Grammar
//
//	text      = line { "\n" line }
//	line      = [ budget ] [ "#" comment ]
//	budget    = [ name ":" ] subject rule { clause }
//	subject   = "no function" | "no package" | "no goroutine" | figure | pattern
//	rule      = "above" amount                     after "no function", "no package"
//	          | "below" amount                     after other subjects
//	          | "grows" ( "above" | "below" ) amount
//	          | "absent"                           after a pattern
//	          | "steady" [ "below" amount ]
//	          | "leaked"                           after "no goroutine"
//	clause    = "cumulative" | "flat"
//	          | "per" work
//	          | "of" kind
//	          | "except" ( "none" | pattern [ "until" day ] { "," pattern [ "until" day ] } )
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
//	name      = letter or digit { letter | digit | "_" | "." | "-" }     of a budget at most 100
//	work      = name [ "{" name "=" string { "," name "=" string } "}" ]
//	duration  = as time.ParseDuration reads it
//	string    = as Go writes it, in double quotes
//
// White space separates words and is free around "," and "=", and between a
// number and its unit. A word ends at white space or a comma; the brackets of
// type arguments and the slashes of a regular expression may hold both. Work does
// not begin with a digit, and the words of the language stand for no pattern.
//
// # Canonical form
//
// [Budget.String] returns a budget in one form, whatever its spelling, and parsing that gives
// the same budget. Clauses come in the order of the grammar, labels in the order of their
// keys. A limit on functions in percent always has its measure, because "above 20%" alone could
// mean either.
//
//	process  below  1.50 cores                  -> process below 1.5 cores
//	encoding/json below 40µs per request        -> encoding/json below 40us per request
//	crypto/tls below 5% of cpu                  -> crypto/tls below 5% cumulative
//	gc below 5% for 300s when rss above 1GiB    -> gc below 5% when rss above 1GiB for 5m
package budget
