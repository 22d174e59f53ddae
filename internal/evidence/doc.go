// Package evidence is the statistics behind pass, fail and inconclusive.
//
// A profile is a sample: at a true share equal to the limit, "share > limit" on the
// measured number is wrong half the time, and with one more look per window it is wrong
// sooner or later. This package says what the numbers prove. Its types are plain bounded
// values: no goroutines, no clocks, no allocation per update. None of them is safe for
// concurrent use.
//
// # What to use
//
//   - One window or one saved profile: [Fixed] for a share, [Rate] for a count
//     over an exposure (cores, CPU per request), [Absent], and growth over a baseline ([Baseline.Growth]).
//   - A guard that looks at every window for months: [Stream].
//   - A test that wants an answer within seconds: [Sequential].
//   - Two benchmarks, measured in pairs: [Paired].
//   - Growth from call to call of a test: [Trend].
//
// # How it works
//
// A share is k hits in n samples. [Lower] and [Upper] bound it: they solve
// n/phi KL(k/n || p) = ln(1/alpha) for p, with the Kullback-Leibler divergence KL.
// They hold for a number of samples that was fixed beforehand.
//
// Repeated looks need evidence: the logarithm of a mixture of likelihood ratios
// against the limit, over a small grid of odds ratios. While the share keeps to the
// limit, the mean of its exponential is at most 1, with or without independence. So the
// chance that it ever reaches ln(1/alpha) is at most alpha, however often one looks.
//
// Samples are not independent: a burst hits ten times in a row. So all evidence is
// divided by the overdispersion phi, the variance seen over that of independent samples.
// Where phi was estimated from few pieces, the evidence is tempered.
//
// # Limits and the zone above them
//
// Fail means above the limit, with an error of at most 1e-6. Pass means below [Zone]
// times the limit, with an error of at most 1e-3: no number of samples tells a share at
// the limit from one just above it, so within the zone either verdict is right. Of
// growth, the limit is on what was added: 10% more passes below 12.5% more. Above a
// limit of 2/3, the zone ends half way between the limit and 1.
//
// Counts are float64, because the samples of weighted profiles are not whole. Every
// function accepts every input: what is not a number counts as zero, and what is out of
// range is moved to the nearest value in it. Every result is finite.
//
// Work in lockstep with the profiler's clock is sampled at one phase in each window.
// Fresh windows draw fresh phases, which phi shows; a single window does not show it.
package evidence
