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
//	no alert ----------> pending ---------------------------> firing
//	   ^  ^                 | passes                            | passes for three periods, is over by
//	   |  +-----------------+                                   | proof, or there is nothing to judge
//	   +--------------------------------------------------------+
//
// While there is no alert, the state says what is known: ok for six hours after a proof that the
// budget is kept, no data when nothing was judged for an hour, and otherwise undecided.
// docs/alerts.md has the rules in words, testdata/transitions.txt has every transition, and
// simulations in this package's tests show how long alerts take.
package alert
