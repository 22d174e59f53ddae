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
//
// A path ends with the package, a subtree with "/...", as in go commands. "*"
// stands for any characters inside one element of a name, and a regular
// expression between slashes is tried on the full name, without escapes (%2e) and
// vendor directories. Closures belong to the function that holds them, and
// instances of a generic function to the generic one. A package whose name is a word of
// the language, or the name of what is measured (cpu, memory, allocs, mutex), needs its
// full path, as in "container/heap below 5%": "heap" is the figure.
//
// Since Go 1.24 much of crypto/... is done in crypto/internal/fips140/...:
// crypto/sha256.New returns a *crypto/internal/fips140/sha256.Digest, and none of
// its frames are of crypto/sha256. Name that package, or both by their last
// element, as in "sha256 below 5%"; the Reason of a Result that has none of the
// one, where there is the other, says so.
//
// "process" is all that the profile holds. "goroutines", "heap", "rss" and "gc"
// are figures that need no profile: how many goroutines exist, the bytes in live
// and not yet swept objects, the resident memory, and the share of CPU time that
// the garbage collector takes. Where Facts.Figures lacks them, the first two are
// what a profile of that kind adds up to, and gc is the share of a CPU profile's
// samples that are the collector's, with bounds as any share; rss is
// inconclusive.
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
//	no function grows above 5 points                 # of share, since the baseline
//
// Shares suit services whose load changes, cores and bytes suit machines that
// are paid for, and amounts per unit of work suit both; the guard is told how
// to count the work (its Work functions). Units are %, points, cores, the
// durations ns, us, ms, s, m and h, the bytes B, KiB, MiB, GiB, kB, MB and GB,
// and none for a count. Not every unit makes sense everywhere:
//
//	                    above, below                            grows
//	cpu                 %, cores, duration per work             points, % per work
//	heap                %, bytes, count                         points
//	allocs              %, bytes or count, also per work        points, % per work
//	goroutine           %, count                                points
//	mutex, block        %, duration per work, count, also per   points
//	process             cores, duration per work                % per work
//	process, of allocs  bytes or count, also per work           % per work
//	process, of heap    bytes
//	goroutines          count
//	heap, rss           bytes
//	gc                  %
//
// The measure is cumulative, what a function spends together with what it
// calls, or flat, what it spends in its own body. Cumulative is the default.
// However often a function recurs in a stack, the sample counts once. The body of
// a function holds what interrupts it: "no function" and "no package" charge it with
// the samples of runtime.asyncPreempt, which a busy machine has many of. A pattern
// is taken at its word there too, and its flat share is the one that pprof shows.
//
// The kind of profile, after "of", is cpu, which is the default, heap (live
// memory), allocs (what was allocated in the window), goroutine, mutex or block
// (contention in the window).
//
// # Rules
//
// "absent" means that the subject never shows: one sample with it fails, and
// without any the budget passes once there were enough samples (299) to say that its
// share is below 1%, which is wrong one time in twenty. A pattern that matches nothing in the program is a mistake,
// except with "absent", where it is the best possible pass. A guard and a Check
// know what is linked (Facts.NotLinked) and say so; of a profile alone, the
// Result's Reason says that no function of it matches.
//
// Name the function, not its package: all of a package is more than what it is
// blamed for. "regexp/syntax absent" is meant against compiling in a hot path,
// and fails on matching, which asks syntax.(*Inst).MatchRunePos of each
// character. "regexp.compile absent" says it.
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
// "steady" finds slow growth over hours, in the number of goroutines, the heap,
// the resident memory, or the CPU that the process takes, beyond what its load
// explains. A guard first learns for 48 hours what is normal, so that both sides of
// the day are in it twice, and begins anew whenever the program does; growth of 20% an
// hour then shows in some hours, of 2% in half a day. Until then, and in a program that
// never runs for so long, it tells nothing, and what was growing from the first minute on
// looks steady: so it may have a limit as well, which holds from the start.
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
//	no function above 5% flat except runtime/..., encoding/json
//	no function above 20% cumulative except none
//	fmt.Sprintf below 1% cumulative in main.(*Server).ServeHTTP
//	no function above 20% cumulative where endpoint=/checkout, tenant="big one"
//	no function above 10% cumulative of allocs when process above 0.1 cores
//	heap below 64MiB for 5m
//
// "except" exempts functions and packages from a "no function" or "no package"
// budget.
//
// "in" keeps to the paths through the functions of a pattern, and on them to
// what these call.
//
// "where" keeps to the samples with these pprof labels, whose values are compared
// for equality. A value, or a key, with blanks, commas, "#" or quotes is written
// in double quotes, with the escapes of Go, and so is a key with "!", "<", ">" or
// "~", and a value that begins with "~".
//
// "when" makes a budget relevant: a share of nothing is nothing, and in a
// process that takes a hundredth of a core there is always a function at 60%.
// While the condition does not hold, the verdict is inconclusive, with the
// reason "idle", and never a pass. Its figures are process (its cores),
// goroutines, heap, rss and gc. Nor is an idle window a proof that something is
// mended: where the fix makes the process idle, a guard's alert stays as it is, and
// says so, until there is load again or the program is started anew. A limit that
// needs no condition, in cores say, has no such gap.
//
// "for" says how long a budget must fail before the guard fires: in so many
// windows in a row, or all through a time. Without it the guard weighs the
// evidence of all windows, which is faster for gross violations and calmer at
// the limit.
//
// # Scaffolding and entry points
//
// In every Go program some functions stand near 100%: main.main, runtime.main,
// net/http.(*conn).serve, the handler of a server that has one. What they call
// is not their doing, so "no function" and "no package" charge them with their
// flat share only, whatever the measure. They are
//
//   - scaffolding: the bottom frame of each goroutine, and the roots and serving
//     chains of the runtime, testing, net/http, gRPC, errgroup and their like;
//   - entry points: what scaffolding calls directly, that is handlers,
//     middleware and the bodies of workers, but not functions of the runtime.
//
// A handler that burns CPU in its own body is still caught, and what it calls
// counts in full. "except none" switches the exemption off. A pattern is taken
// at its word: "main.main below 5%" is about all that main.main calls.
// [Scaffolding] lists the first sort. A router or a middleware that stands below
// one of them, known or not, is part of the way in; one that calls the next
// handler as a plain function, without [net/http.Handler] in between, looks like
// work, and belongs behind "except".
//
// Goroutine profiles are counted differently: every goroutine waits in a few
// functions of the runtime, and many are started through the same function, such
// as WaitGroup.Go. Neither are charged, and nobody else is scaffolding.
//
// Offenders are reported with the deepest function of a path first, and the
// path is shown once.
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
//     The zone from 1 to 1.25 is where neither answer is worth the samples it
//     takes.
//   - Inconclusive: the samples do not tell, there were none, the window was
//     disturbed, or the condition after "when" did not hold. The reason says which,
//     and how many samples would do.
//
// Figures are read and not sampled, so their bounds are equal, and their verdict
// is the comparison itself. The guard fires at the first window in which one is over
// its limit, unless "for" says otherwise. Figures swing, the heap with every
// collection: so the alert ends when three windows in a row are within it, and each
// time that it fires again soon, twice as many.
//
// One thing no statistics repair: work in lockstep with the sampling clock, such
// as a 10 ms ticker whose work is shorter than the sampling period, is sampled at
// one phase, and a single window of it lies. The guard's windows start at
// different phases.
//
// # Profiles that are too large
//
// [Set.Judge] has no limits: its profile is in memory already. What reads bytes,
// [Set.JudgeReader] and the Reader methods, may be handed anything, and refuses
// what is out of proportion before it costs memory: decoding takes less than
// 64 MiB. One profile may have
//
//	bytes as read, gzipped or not          8 MiB
//	bytes after decompression             32 MiB
//	bytes of both and of what they become 48 MiB
//	samples (distinct stacks)            200,000
//	locations                            500,000
//	functions                            200,000
//	mappings                              65,536
//	strings                            1,000,000
//	values in a sample                        64
//	labels in a sample                        32
//	bytes in a name                       16 KiB
//
// These are several times what a large Go program has, and cannot be changed. A
// profile above them that can be trusted is read with the Parse of
// github.com/google/pprof/profile and judged with Set.Judge; for one that cannot,
// profile a shorter time.
//
// # Grammar
//
//	text      = line { "\n" line }
//	line      = [ budget ] [ "#" comment ]
//	budget    = [ name ":" ] subject rule { clause }
//	subject   = "no function" | "no package" | "no goroutine"
//	          | "process" | "goroutines" | "heap" | "rss" | "gc"
//	          | pattern
//	rule      = "above" amount { detail }          after "no function", "no package"
//	          | "below" amount { detail }          after other subjects
//	          | "grows" ( "above" | "below" ) amount { detail }
//	          | "absent" [ "of" kind ]             after a pattern
//	          | "steady" [ "below" amount ]
//	          | "leaked"                           after "no goroutine"
//	detail    = "cumulative" | "flat" | "per" work | "of" kind
//	clause    = "except" ( "none" | pattern { "," pattern } )
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
//	pattern   = word | "/" regular expression "/"
//	name,work = letter or digit { letter | digit | "_" | "." | "-" }
//	duration  = as time.ParseDuration reads it
//	string    = as Go writes it, in double quotes
//
// White space separates words and is free around "," and "=", and between a
// number and its unit. Each detail and each clause stands at most once. A word
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
//	no function above 20 %                      -> no function above 20% cumulative
//	process  below  1.50 cores                  -> process below 1.5 cores
//	process below 1 cores                       -> process below 1 core
//	encoding/json below 40µs per request        -> encoding/json below 40us per request
//	crypto/tls below 5% of cpu                  -> crypto/tls below 5% cumulative
//	heap below 64 MiB for 1 windows             -> heap below 64MiB for 1 window
//	gc below 5% for 300s when rss above 1GiB    -> gc below 5% when rss above 1GiB for 5m
//
// # Mistakes
//
// A [SyntaxError] says where a line is wrong, what could have stood there, and
// what to write. All wrong lines of a text are reported.
//
//	parse budget: line 1, column 19: expected %, cores or a duration per unit of work for the cpu profile, found "20"
//		no function above 20 cumulative
//		                  ^^
//		did you mean "20%"?
//
//	parse budget: line 1, column 10: expected "below": what is named stays below its limit, only "no function" and "no package" stand before "above", found "above"
//		portlist above 5%
//		         ^^^^^
//		did you mean "portlist below"?
//
//	parse budget: line 1, column 30: expected process, goroutines, heap, rss or gc after "when", found "cpu"
//		no function above 20% 	 when cpu above 10%
//		                      	      ^^^
//		taking one core as 100%, did you mean "when process above 0.1 cores"?
package budget
