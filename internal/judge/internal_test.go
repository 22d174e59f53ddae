package judge

import (
	"fmt"
	"testing"
	"time"

	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/folded"
	"github.com/profguard/profguard/internal/unit"
)

// TestWatchBounded gives a watch thousands of function names that come and go.
func TestWatchBounded(t *testing.T) {
	if testing.Short() {
		t.Skip("computes for seconds, on one goroutine")
	}
	w := NewWatch([]Rule{
		{Class: Each, Limit: 0.2, Dimension: unit.Share, Kind: "cpu"},
		{Class: Each, Limit: 1, Dimension: unit.Cores, Kind: "cpu"},
	}, time.Minute)
	name := 0
	var decoder decode.Decoder
	for i := range 300 {
		text := "cpu 10s\n"
		for range 50 {
			name++
			text += fmt.Sprintf("main.main;main.run;main.f%d 20\n", name)
		}
		table, err := decoder.Profile(folded.Must(text))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Table(t.Context(), table, time.Duration(i)*time.Minute, Facts{}); err != nil {
			t.Fatal(err)
		}
		for k := range w.records {
			if got := len(w.records[k].by); got > maxStreams {
				t.Fatalf("window %d: %d functions are remembered, want %d at the most", i, got, maxStreams)
			}
		}
	}
}
