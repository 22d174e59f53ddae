// Package alert is the pure step from one verdict to the next state of a
// budget's alert.
//
// After each window the guard calls [Alert.Next] with what that window said and
// what the evidence of all windows says, and keeps the Alert that it returns.
// The step has no clock, no lock and no I/O: an Alert is a small comparable
// value, time is handed in, and an [Event] says whether there is something to
// tell.
//
// # States
//
//	            fails                  fails long enough
//	inactive ----------> pending ---------------------------> firing
//	   ^  ^                 | passes                            | recovers
//	   |  +-----------------+                                   v
//	   +--------------------------------------------------- resolved
//	                          passes
//
// A resolved alert that fails again is pending or firing at once. What "fails
// long enough" and "recovers" mean depends on the budget:
//
//   - Without a `for`, the accumulated evidence decides: [Alarm] fires and
//     [Recovered] resolves, whatever the last window said. A failing window or
//     [Rising] evidence makes the alert pending, a passing window ends that.
//   - With `for N windows`, N failing windows in a row fire and one passing
//     window resolves. That is the user's choice, so the evidence is not asked.
//   - With `for 5m`, the same for windows that fail over at least that time.
//   - Where one hit is proof (an `absent` budget) and there is no `for`, one
//     failing window fires. [Recovered] evidence resolves, or a passing window if
//     the evidence does not say [Alarm].
//
// An inconclusive window neither counts nor interrupts: the state, its age and
// the row of failures stay as they are, so a guard that cannot measure neither
// raises nor lowers an alarm.
package alert
