//go:build !race

package guard

// raceEnabled says whether the program was built with -race.
const raceEnabled = false
