// Package peerbench holds what runs the guard side by side with others: tests of
// coexistence with net/http/pprof and pyroscope-go in one process, and the
// program cost, which measures what the guard takes from its host. It is a module
// of its own, so that what it needs never reaches a program that imports
// profguard.
package peerbench
