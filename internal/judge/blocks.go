package judge

import (
	"context"
	"slices"

	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/evidence"
)

// Blocks judge a test: a piece of work that is repeated and profiled block by block (each
// a CPU profile of 100 ms, say), until every rule is decided. Asking for the verdict after
// each block does not increase the error rate. Blocks keep the evidence about every
// function, over all blocks from the first on.
// They are not safe for concurrent use.
type Blocks struct {
	judge   *Judge
	tallies []tally
	samples int64
	builds  *builds // nil if no rule compares them
}

// outsideLeast samples without one in a rule's scope show that less than 1% of the
// work is in scope: "absent" passes on as many. To decide the rule by those
// samples would take a hundred times as long as any other rule.
const outsideLeast = 300

// NewBlocks returns Blocks that judge by the rules.
func NewBlocks(rules []Rule, o evidence.Options) *Blocks {
	b := &Blocks{judge: New(rules), tallies: make([]tally, len(rules))}
	for i := range b.tallies {
		b.tallies[i].options = o
		if rules[i].ComparesBuilds() && b.builds == nil {
			b.builds = new(builds)
		}
		if rules[i].ComparesBuilds() && rules[i].Class == EachValue && !slices.Contains(b.builds.labels, rules[i].Label) {
			b.builds.labels = append(b.builds.labels, rules[i].Label)
		}
	}
	return b
}

// Samples returns how many samples were judged.
func (b *Blocks) Samples() int64 { return b.samples }

// Add takes the profile of the next block.
func (b *Blocks) Add(t *decode.Table, facts Facts) error {
	m, err := b.judge.measure(context.Background(), t, facts)
	if err != nil {
		return err
	}
	b.samples += t.Count()
	if m.builds = b.builds; m.builds != nil {
		if err := m.builds.set(m); err != nil {
			return err
		}
	}
	for i := range b.tallies {
		b.judge.regimes[i].block(&b.tallies[i], m)
	}
	return nil
}

// Verdict returns the verdict on rule i as far as it is certain, or if last is set the one that
// Close would give, as far as it is known without the whole profile.
func (b *Blocks) Verdict(i int, last bool) evidence.Verdict {
	return b.judge.regimes[i].verdict(&b.tallies[i], last)
}

// Failed reports whether a rule has failed for certain.
func (b *Blocks) Failed() bool {
	for i := range b.tallies {
		if b.Verdict(i, false) == evidence.Fail {
			return true
		}
	}
	return false
}

// Unreachable reports whether more of the same work would not decide rule i: there were
// enough samples, and none was in the rule's scope ("where", "in"), had its label, or was taken while its
// condition held ("when").
func (b *Blocks) Unreachable(i int) bool {
	nothing := b.tallies[i].samples == 0 || b.judge.rules[i].Class == EachValue && !b.tallies[i].valued
	return nothing && b.samples >= outsideLeast && b.Verdict(i, false) == evidence.Inconclusive
}

// Close returns the findings when the time is up or all is decided. t holds the samples of
// all blocks, and facts are those of all blocks together. The blocks also know how the samples
// were spread over time, so their verdict counts. A rule that is not decided by
// then passes if a share of 1.5 times its limit would have been caught: a test near its
// limit must not be flaky. Its Reason says so. Otherwise it is inconclusive, and the Reason
// says what was missing.
func (b *Blocks) Close(t *decode.Table, facts Facts) ([]Finding, error) {
	facts.full = true
	m, findings, err := b.judge.windows(context.Background(), t, facts, false)
	if err != nil {
		return nil, err
	}
	for i := range findings {
		findings[i] = b.judge.regimes[i].closed(&b.tallies[i], m, findings[i])
	}
	return findings, nil
}
