package guard

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/pprof/profile"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/loop"
	"github.com/profguard/profguard/internal/process"
	"github.com/profguard/profguard/internal/reference"
	"github.com/profguard/profguard/internal/release"
	"github.com/profguard/profguard/internal/tree"
)

// A Release compares the cost of the running build with that of another one: the build before, whose
// reference is in DumpDir, or Config.Baseline.
type Release struct {
	Now    Build `json:"now"`
	Before Build `json:"before"`

	// Message is the outcome in one sentence, or the reason why nothing is compared yet.
	Message string `json:"message"`

	// Growth is the growth of CPU per Unit, a unit of work that both builds know: 0.03 is 3% more.
	// Low and High are its bounds. They have values if Known is set. Unit is "" if the builds have
	// no unit in common. Then only the shares of functions are compared.
	Unit   string  `json:"unit,omitempty"`
	Known  bool    `json:"known"`
	Growth float64 `json:"growth"`
	Low    float64 `json:"low"`
	High   float64 `json:"high"`

	// Samples is the number of samples of the running build.
	Samples int64 `json:"samples"`

	// Functions are at most 20: first those that surely cost more, then others that have surely
	// changed, and then those that may cost more, the nearest to a proof first.
	Functions []ReleaseFunction `json:"functions,omitempty"`
}

// A ReleaseFunction is a function in a [Release].
type ReleaseFunction struct {
	Function string `json:"function"`
	Was      string `json:"was,omitempty"` // its name in the other build, if that differs
	// Change is "more", "less", "moved" (it costs more, but its callers do not), "undecided" or "same".
	Change string `json:"change"`
	// Now and Before are its cost: CPU seconds per unit of work, or a share of the samples if there
	// is no unit.
	Now    float64 `json:"now"`
	Before float64 `json:"before"`
	// Points is its growth, as a part of the cost of a unit of work before: 0.24 is 24 points. Low and
	// High are its bounds. Cost that has only moved to it from another function is left out, unless
	// Change is "moved".
	Points float64 `json:"points"`
	Low    float64 `json:"low"`
	High   float64 `json:"high"`
	File   string  `json:"file,omitempty"` // the line to look at
	Line   int     `json:"line,omitempty"`

	mayMove bool // what it costs more may only have moved
}

// costsMore reports whether a function surely costs more.
func (f *ReleaseFunction) costsMore() bool {
	return f.Low > 0 && f.Change != string(release.Moved) && !f.mayMove
}

// mostReleaseFunctions is how many functions a Release has.
const mostReleaseFunctions = 20

// releaseOf is a comparison as a part of the status.
func releaseOf(c *release.Comparison) *Release {
	r := &Release{
		Now: buildIn(c.Now.Build), Before: buildIn(c.Before.Build), Message: c.Balance(), Unit: c.Per, Known: c.Known,
		Samples: int64(c.Now.Samples),
	}
	if c.Known {
		r.Growth, r.Low, r.High = c.Process.Value, c.Process.Low, c.Process.High
	}
	for i := range c.Functions[:min(len(c.Functions), mostReleaseFunctions)] {
		f := &c.Functions[i]
		at := f.Blame
		if at.File == "" {
			at = f.Line
		}
		r.Functions = append(r.Functions, ReleaseFunction{
			Function: f.Name, Was: f.Was, Change: string(f.Status), Now: f.Now, Before: f.Before, Points: f.Points.Value, Low: f.Points.Low, High: f.Points.High,
			File: at.File, Line: at.Line, mayMove: f.MayMove,
		})
	}
	return r
}

// modified is the end of the revision of a build with changes that were not committed.
const modified = "-dirty"

// buildIn is a build as a status has it.
func buildIn(b release.Build) Build {
	if b.Modified {
		b.Revision += modified
	}
	return Build{Version: b.Version, Revision: b.Revision, Go: b.Go}
}

// newKeeper is what keeps the reference of this build, nil if there is nothing to keep or to compare
// with.
func newKeeper(cfg *Config, s *seams, module string, baseline *decode.Table, comments []string) (*reference.Keeper, error) {
	if cfg.DumpDir == "" && baseline == nil {
		return nil, nil
	}
	kept := reference.Config{
		Dir: cfg.DumpDir, Module: module, Modules: process.Modules(), Build: s.build, Test: s.test, Now: time.Now,
	}
	if baseline != nil {
		base, err := reference.Of(context.Background(), &tree.Counter{Module: module, Modules: process.Modules(), Labels: loop.Labels(cfg.Budgets)}, baseline, comments)
		if err != nil {
			return nil, fmt.Errorf("Baseline.Profile: %w", err)
		}
		if len(cfg.Baseline.Work) > 0 {
			base.AsOne(baseline, cfg.Baseline.Work)
		}
		base.Build.Version = cmp.Or(base.Build.Version, "the baseline")
		kept.Base = base
	}
	return reference.NewKeeper(kept), nil
}

// comments are those of a profile.
func comments(p *profile.Profile) []string {
	if p == nil {
		return nil
	}
	return p.Comments
}

// isDefault reports whether a budget is one of budget.Default, word for word.
func isDefault(b *budget.Budget) bool {
	return slices.ContainsFunc(budget.Default(), func(d budget.Budget) bool { return d.String() == b.String() })
}

// saysWork reports whether a baseline says itself how much work was done. A damaged one is told of later.
func saysWork(p *profile.Profile, unit string) bool {
	side, _, err := reference.Facts(p.Comments)
	return err != nil || side != nil && side.Pieces.Work[unit] > 0
}
