package judge_test

import (
	"testing"
	"time"

	"github.com/google/pprof/profile"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/bridge"
	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/evidence"
	"github.com/profguard/profguard/internal/judge"
)

// The tests write rules as sentences, which package budget reads, and look at findings
// as it says them.

// A watched is a result of a watch.
type watched struct {
	budget.Result
	Proven   budget.Verdict
	Evidence float64
}

// A watch judges window after window.
type watch struct {
	*judge.Watch
	decode.Decoder
	set budget.Set
}

// judged are the results of a set that can be judged.
func judged(t *testing.T, set budget.Set, p *profile.Profile) []budget.Result {
	t.Helper()
	results, err := set.Judge(p, budget.Facts{})
	if err != nil {
		t.Fatal(err)
	}
	return results
}

func newWatch(t *testing.T, set budget.Set, every time.Duration) *watch {
	t.Helper()
	rules, err := bridge.Rules(set)
	if err != nil {
		t.Fatal(err)
	}
	w := judge.NewWatch(rules, every)
	return &watch{Watch: w, set: set}
}

func (w *watch) profile(t *testing.T, p *profile.Profile, at time.Duration, facts ...judge.Facts) (results []watched) {
	t.Helper()
	table, err := w.Decoder.Profile(p)
	if err != nil {
		t.Fatal(err)
	}
	findings, err := w.Table(t.Context(), table, at, append(facts, judge.Facts{})[0])
	if err != nil {
		t.Fatal(err)
	}
	for i, f := range findings {
		results = append(results, watched{bridge.Result[budget.Result](w.set[i], f), budget.Verdict(f.Proven), f.Evidence})
	}
	return results
}

// A trial judges the blocks of a test.
type trial struct {
	*judge.Blocks
	set     budget.Set
	decoder decode.Decoder
	blocks  int64
}

func newTrial(t *testing.T, lines ...string) *trial {
	t.Helper()
	set := budget.Must(lines...)
	rules, err := bridge.Rules(set)
	if err != nil {
		t.Fatal(err)
	}
	b := judge.NewBlocks(rules, evidence.Options{})
	return &trial{Blocks: b, set: set}
}

// judged adds all blocks and closes with their sum.
func (x *trial) judged(t *testing.T, blocks []*profile.Profile) []budget.Result {
	t.Helper()
	facts := judge.Facts{Kind: "cpu"}
	for _, p := range blocks {
		if err := x.Add(p.Copy(), facts); err != nil {
			t.Fatal(err)
		}
	}
	sum, err := profile.Merge(blocks)
	if err != nil {
		t.Fatal(err)
	}
	results, err := x.Close(sum, facts)
	if err != nil {
		t.Fatal(err)
	}
	return results
}

func (t *trial) Add(p *profile.Profile, facts judge.Facts) error {
	t.blocks++
	table, err := t.decoder.Profile(p)
	if err != nil {
		return err
	}
	return t.Blocks.Add(table, facts)
}

func (t *trial) Decided(i int) budget.Verdict { return budget.Verdict(t.Blocks.Verdict(i, false)) }

// Done reports whether every budget is decided.
func (t *trial) Done() bool {
	for i := range t.set {
		if t.Decided(i) == budget.Inconclusive {
			return false
		}
	}
	return true
}

func (t *trial) Close(p *profile.Profile, facts judge.Facts) ([]budget.Result, error) {
	table, err := t.decoder.Profile(p)
	if err != nil {
		return nil, err
	}
	findings, err := t.Blocks.Close(table, facts)
	var results []budget.Result
	for i, f := range findings {
		results = append(results, bridge.Result[budget.Result](t.set[i], f))
	}
	return results, err
}

// tableOf is a decoded profile.
func tableOf(t *testing.T, p *profile.Profile) *decode.Table {
	t.Helper()
	table, err := new(decode.Decoder).Profile(p)
	if err != nil {
		t.Fatal(err)
	}
	return table
}
