// Package peerbench holds what runs the guard side by side with others: tests of
// coexistence with net/http/pprof and pyroscope-go in one process, the program cost,
// which measures the CPU that the guard takes from its host, and the program memory,
// which measures what it has resident beside hosts without it. It is a module of its
// own, so that what it needs never reaches a program that imports profguard.
package peerbench
