// Package profguard is the root of a library for in-process profiling guards: a
// service that takes CPU profiles of itself and compares them with declared
// budgets.
//
// There is nothing to import here. Package
// [github.com/profguard/profguard/guard] starts a guard in a process and checks
// budgets in tests; package [github.com/profguard/profguard/budget] is the
// language of budgets and judges any profile by it.
package profguard
