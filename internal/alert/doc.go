// Package alert computes the next state of a budget's alert after a window. It is the only
// place where an alert begins and ends.
//
// After each window the guard calls [Alert.Next] with a [Finding], the result of that window
// and of all windows, and a [Rule], which says how long an excess must last. It keeps the
// Alert that Next returns. Next has no clock, no lock and no I/O: an Alert is a small
// comparable value, time is an argument, and an [Event] is returned.
//
// # States
//
//	            fails                for three periods
//	inactive ----------> pending ---------------------------> firing
//	   ^  ^                 | passes                            | passes for three periods, is over by
//	   |  +-----------------+                                   v proof, or there is nothing to judge
//	   +--------------------------------------------------- resolved
//	                          passes
//
// A resolved alert that fails again is pending at once. docs/alerts.md has the rules in
// words, testdata/transitions.txt has every transition, and simulations in this package's
// tests show how long alerts take.
package alert
