// Package evidence is the statistics behind pass, fail and inconclusive.
//
// A profile is a sample: at a true share equal to the limit, "share > limit"
// on the raw number is wrong half the time, and looking again every window
// makes it wrong sooner or later. This package says what the numbers prove.
// Its types are pure bounded values: no goroutines, no clocks, no allocation
// per update. None of them is safe for concurrent use.
//
// # What to use
//
//   - One window or one saved profile: [Fixed] for a share, [Rate] for a count
//     over an exposure (cores, CPU per request), [Absent], [Growth] and [Ratio].
//   - A guard that looks at every window for months: [Stream], made of a
//     ledger of what speaks for an excess and one of what speaks against it.
//   - A test that wants an answer within seconds: [Sequential].
//   - Slow growth over hours: [Steady]; over one test: [Trend].
//
// # How it works
//
// A share is k hits in n samples. Bounds come from the Kullback-Leibler
// divergence: [Lower] and [Upper] solve n/phi KL(k/n || p) = ln(1/alpha) for p.
// They hold for a number of samples that was fixed beforehand.
//
// Whoever looks again and again needs [Evidence]: the logarithm of a mixture of
// likelihood ratios against the limit, on a small grid of odds ratios ([Up] to
// prove that a share is above the limit, [Down] that it is below). Its
// exponential has mean at most 1 as long as the share keeps to the limit, with
// or without independence, so the chance that it ever reaches ln(1/alpha) is at
// most alpha, however often one looks.
//
// Samples are not independent (a burst hits ten times in a row), so all
// evidence is divided by the overdispersion phi, the variance seen over the
// variance that independent samples would have. Where phi was itself estimated
// from few pieces, [Temper] takes that into account.
//
// # Limits and the zone above them
//
// Fail means above the limit, with an error of at most 1e-6. Pass means below
// [Zone] times the limit, with an error of at most 1e-3: no number of samples
// can tell a share at the limit from one just above it, so there is a zone of
// indifference in which either verdict, or none, is right. Of growth, the limit is
// on what was added: 10% more passes below 12.5% more. Near 1, where a share has no
// room for it, the zone ends half way between the limit and 1.
//
// Counts are float64, because weighted samples have effective counts ([Kish]).
// Every function accepts every input: what is not a number counts as zero, and
// what is out of range is moved to the nearest value in it. Every result is finite.
//
// Work in lockstep with the profiler's clock lies in any single window: the
// samples of one window then share one phase. Fresh windows draw fresh phases,
// which shows up in phi; [Fixed] cannot see it unless told.
package evidence
