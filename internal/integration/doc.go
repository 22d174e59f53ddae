// Package integration holds the tests of the guard beside real parts: a real
// Prometheus, a real OTLP receiver, a real browser, and services in processes of
// their own. It is a module of its own, so that what these tests need never
// reaches a program that imports profguard.
//
// A part that is missing on the machine is installed by the test that needs it.
// Where that is not possible the test is skipped and says so; with CI=true it
// fails instead.
package integration
