//go:build !race

package slowed

const byRace = false
