package check

import (
	"errors"
	"strings"
	"testing"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/evidence"
	"github.com/profguard/profguard/internal/folded"
	"github.com/profguard/profguard/internal/judge"
	"github.com/profguard/profguard/internal/work"
)

// TestFault_79_InterruptedCut: a check removes the runtime's interrupts from a stack, and one that
// was cut off is no whole one then.
func TestFault_79_InterruptedCut(t *testing.T) {
	const sentence = "fmt.Sprintf below 5% in main.serve"
	for frames, want := range map[int]evidence.Verdict{64: evidence.Inconclusive, 63: evidence.Pass} { // with the interrupt
		blocks := judge.NewBlocks(rulesOf(t, budget.Must(sentence)), evidence.Options{})
		var all decode.Merger
		for range 60 {
			p := folded.Must("cpu 100ms\n" + strings.Repeat("main.walk;", frames-3) + "fmt.Sprintf;runtime.asyncPreempt;runtime.asyncPreempt2 2\nmain.serve;main.rest 8\n")
			own, _ := work.Cut(tableOf(p))
			if err := errors.Join(blocks.Add(own, judge.Facts{Kind: "cpu"}), all.Add(own)); err != nil {
				t.Fatal(err)
			}
		}
		findings, err := blocks.Close(all.Table(), judge.Facts{Kind: "cpu"})
		if err != nil {
			t.Fatal(err)
		}
		if f := findings[0]; f.Verdict != want {
			t.Errorf("%s: %d frames: %v, want %v: %+v", sentence, frames, f.Verdict, want, f)
		}
	}
}
