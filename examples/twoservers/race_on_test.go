//go:build race

package main

// slowed says that the race detector is on. It makes all CPU several times as
// much, which no budget in microseconds survives.
const slowed = true
