// Package receivers tests what leaves a process with what receives it: the collector's own
// receiver and a whole collector, the handler of Pyroscope's API, S3 and folders, the agents of
// Pyroscope and Datadog, and processes that are killed. It is a module of its own, because hosts do
// not need all that.
package receivers
