//go:build !race

package check

// raceEnabled says whether the program was built with -race.
const raceEnabled = false
