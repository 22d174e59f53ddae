// Package release tells what one build of a program costs more or less than another one, per unit
// of work, in which functions, and what cost has only moved. It is pure: a [Comparison] is made of
// two values and changes nothing.
//
// # What is compared
//
// The growth of a function is in points of what everything cost before: the cost of the function
// per unit of work now, less its cost before, over the cost of the process per unit before. Points
// add up over functions that are not below each other.
//
//	points = scale x share now - share before
//
// The shares are of samples, charged as for a budget "no function" (way in, floor and doors) by
// folded names. The scale is what a unit costs now, in parts of what it cost before. It is counted:
// CPU by the operating system, and work by the program, for each window. Windows are clusters, so
// what differs from one to the next widens its bounds.
//
// Without a unit of work the scale is that of the composition: a function that got cheaper makes the
// shares of all others larger, by a factor that most samples have in common.
//
// # What is no growth
//
//   - What all functions have in common, up to commonMost: that is the machine, or the load, and
//     shows in the growth of the process.
//   - What a function may cost all the time, whatever the load is: where there is less work in a
//     second than before, a unit of it costs more.
//   - What has moved. A function has grown only if the nearest caller that both builds have grew
//     with it, by at least half as much, or surely by more than the limit. The part of its growth
//     that others lost is taken off.
//   - What may be in stacks that the runtime has cut off. The bounds of each function hold whether
//     all of these are its own, before and now, or none.
//
// # How sure it is
//
// At most one false alarm in 1,000 releases, over all functions together and some twenty looks:
// each lower bound of a function errs with alpha, divided by the number of functions that may have
// such a share. simulation_test.go counts them.
package release
