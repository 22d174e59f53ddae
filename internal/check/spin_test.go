package check

import (
	"context"
	"math/rand/v2"
	"time"
)

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
		x = x*6364136223846793005 + 1442695040888963409
	}
	return x
}

// mixRounds take about a millisecond.
const mixRounds = 1_000_000

// mix spends a share of its CPU in burnGuilty. How long it takes varies: work in
// lockstep with the sampling clock is another subject (docs/design.md).
//
//go:noinline
func mix(share float64) {
	rounds := mixRounds/2 + rand.IntN(mixRounds)
	guilty := int(share * float64(rounds))
	if burnGuilty(guilty)+burnInnocent(rounds-guilty) == 0 {
		panic("the sums are odd numbers") // so that the work is not optimised away
	}
}

// mixAndRest computes for a fifth of the time. A verdict takes so many blocks with samples,
// and hardly ever as many samples as a core gives. Rests are few: on a busy machine work
// waits for a core after each.
func mixAndRest(ctx context.Context, share float64) {
	for range restEvery {
		mix(share)
	}
	pause(ctx, restTime)
}

const restEvery, restTime = 5, 20 * time.Millisecond
