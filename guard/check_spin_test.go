package guard

// Calibrated work: burnGuilty and burnInnocent run the same instructions, so
// that their true shares are those of their rounds.

//go:noinline
func burnGuilty(rounds int) (x uint64) {
	for range rounds {
		x = x*6364136223846793005 + 1442695040888963407
	}
	return x
}

//go:noinline
func burnInnocent(rounds int) (x uint64) {
	for range rounds {
		x = x*6364136223846793005 + 1442695040888963407
	}
	return x
}

// mixRounds take about a millisecond.
const mixRounds = 1_000_000

// mix spends a share of its CPU in burnGuilty.
//
//go:noinline
func mix(share float64) uint64 {
	guilty := int(share * mixRounds)
	return burnGuilty(guilty) + burnInnocent(mixRounds-guilty)
}
