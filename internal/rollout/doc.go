// Package rollout compares two builds of a service by what a Prometheus knows of their processes. Prometheus keeps
// the counters; which build costs more is decided here, by the comparison of package release.
//
// A guard counts, over the life of its process, samples, the hits of functions, and units of work: all in the same
// windows (see package functions). So the last scrape of a process has all that is known of it, and nothing has to be
// computed from increases: a process that starts anew is another process, and a scrape that is missing takes nothing.
//
// The processes of the last day are found by the number of their samples, in steps: see [life]. What each has
// counted is read of the last scrape of its life: see [Process]. Each is a piece of its build's side, so by how much
// processes differ, and by nothing else, is it known how far a difference may be chance.
//
// What is missing is never a pass: a warning of the Prometheus, an answer that is too large, processes of the new
// build that have not counted yet. See [Outcome].
package rollout
