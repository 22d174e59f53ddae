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
// Both sides are trees of what samples were charged with, as for a budget "no function" (way in, floor
// and doors), by folded names: see package tree. The scale is what a unit costs now, in parts of what it cost before. It is counted:
// CPU by the operating system, and work by the program, for each piece: see [Pieces]. Named is the
// deepest function that has two thirds of the growth of each above it.
//
// A function has grown if it has by every measure that is known: per unit of work, as a share, and per
// second. See comparing.bounds. Where both builds ran in turns, as the sides of a benchmark do, a unit of
// work tells all: see [Options.Scale].
//
// # What is no growth
//
//   - What all functions have in common: that is the machine, or the load, and shows in the growth
//     of the process.
//   - What a function may cost all the time, whatever the load is: where there is less work in a
//     second than before, a unit of it costs more.
//   - What has moved. A function has grown only if each caller that both builds have grew with it,
//     by at least half as much, or surely by more than the limit. The part of its growth that others
//     lost is taken off. See callers.go.
//   - What is only called more often: see moreCalls, and mixed for entry points.
//   - What may be in stacks that the runtime has cut off. The bounds of each function hold whether
//     all of these are its own, before and now, or none.
//
// # How sure it is
//
// At most one false alarm in 1,000 releases, over all functions together and some twenty looks:
// each lower bound of a function errs with alpha, divided by the number of functions that may have
// such a share. simulation_test.go and harder_test.go count them.
package release
