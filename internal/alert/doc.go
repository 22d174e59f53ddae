// Package alert is the pure step from what a window says to the next state of a
// budget's alert. It is the only place where an alert begins and ends.
//
// After each window the guard calls [Alert.Next] with a [Finding], what that window
// and all windows say, and a [Rule], what it takes, and keeps the Alert that it
// returns. The step has no clock, no lock and no I/O: an Alert is a small comparable
// value, time is handed in, and an [Event] says whether there is something to tell.
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
// words, testdata/transitions.txt has every transition, and the simulations of this
// package's tests tell how long all of that takes.
package alert
