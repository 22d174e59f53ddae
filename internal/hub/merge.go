package hub

import (
	"bytes"
	"fmt"

	"github.com/google/pprof/profile"
)

// mergeBatch is how many slices are held parsed at the same time. A parsed slice
// takes 1 MB or more, and a long interval beside a stream of 100 ms blocks is
// made of hundreds.
const mergeBatch = 16

// merge makes one profile of several slices. The slices are the runtime's own
// writing, in the hub's bounds, so google/pprof's parser may have them.
func merge(slices [][]byte) ([]byte, *LostError) {
	var batch []*profile.Profile
	for i, data := range slices {
		p, err := profile.ParseData(data)
		if err != nil {
			return nil, &LostError{Outcome: Broken, Reason: fmt.Sprintf("slice %d of %d cannot be parsed: %v", i+1, len(slices), err)}
		}
		// Merging would hide it: it keeps the longest period of all.
		if p.Period != period {
			return nil, &LostError{Outcome: Rate, Reason: reasonRate(p.Period)}
		}
		batch = append(batch, p)
		if len(batch) < mergeBatch && i < len(slices)-1 {
			continue
		}
		sum, err := profile.Merge(batch)
		if err != nil {
			return nil, &LostError{Outcome: Broken, Reason: fmt.Sprintf("%d slices cannot be merged: %v", len(slices), err)}
		}
		batch = append(batch[:0], sum)
	}
	var out bytes.Buffer
	if err := batch[0].Write(&out); err != nil {
		return nil, &LostError{Outcome: Broken, Reason: fmt.Sprintf("%d merged slices cannot be written: %v", len(slices), err)}
	}
	return out.Bytes(), nil
}
