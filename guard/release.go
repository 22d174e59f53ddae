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
)

// A Release is what the running build costs, compared with another one: the build before, whose
// reference is in DumpDir, or Config.Baseline.
type Release struct {
	Now    Build `json:"now"`
	Before Build `json:"before"`

	// Message says it in a sentence, also why nothing is compared yet.
	Message string `json:"message"`

	// Unit is the unit of work that both builds know, "" if there is none: then shares are
	// compared, and Growth has no value. Growth is that of CPU per unit, as a part: 0.03 is 3%
	// more; Low and High are its bounds. Known says that they have values.
	Unit   string  `json:"unit,omitempty"`
	Known  bool    `json:"known"`
	Growth float64 `json:"growth"`
	Low    float64 `json:"low"`
	High   float64 `json:"high"`

	// Samples and Work are those of the running build, SamplesBefore and WorkBefore the other's.
	Samples       int64   `json:"samples"`
	SamplesBefore int64   `json:"samples_before"`
	Work          float64 `json:"work,omitempty"`
	WorkBefore    float64 `json:"work_before,omitempty"`

	// Functions are those that cost more for sure, then those that have changed most, at most 20.
	Functions []ReleaseFunction `json:"functions,omitempty"`
}

// A ReleaseFunction is a function in a [Release].
type ReleaseFunction struct {
	Function string `json:"function"`
	Was      string `json:"was,omitempty"` // its name before, if that was another one
	// Change is "more", "less", "moved" (it costs more, but what calls it does not), "undecided" or "same".
	Change string `json:"change"`
	// Now and Before are its cost: CPU seconds per unit of work, or a share of the samples without a unit.
	Now    float64 `json:"now"`
	Before float64 `json:"before"`
	// Points are its growth in parts of what a unit of work cost before, with Low and High: 0.24 is
	// 24 points.
	Points float64 `json:"points"`
	Low    float64 `json:"low"`
	High   float64 `json:"high"`
	// Named says that it costs more for sure, and not because of a function below it.
	Named bool `json:"named,omitempty"`
	// Moved is the part of what it costs more that has only moved to it, and From are the functions where that
	// was before. Points are without it, unless Change is "moved".
	Moved float64  `json:"moved,omitempty"`
	From  []string `json:"from,omitempty"`
	File  string   `json:"file,omitempty"` // the line to look at
	Line  int      `json:"line,omitempty"`
}

// mostReleaseFunctions is how many functions a Release has.
const mostReleaseFunctions = 20

// releaseOf is a comparison as a part of the status.
func releaseOf(c *release.Comparison) *Release {
	r := &Release{
		Now: buildIn(c.Now.Build), Before: buildIn(c.Before.Build), Message: c.Balance(), Unit: c.Per, Known: c.Known,
		Samples: int64(c.Now.Samples), SamplesBefore: int64(c.Before.Samples), Work: c.Now.Work, WorkBefore: c.Before.Work,
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
			Named: f.Named, Moved: f.Moved, From: f.From, File: at.File, Line: at.Line,
		})
	}
	return r
}

// buildIn is the build of a reference, as a status has it.
func buildIn(b release.Build) Build {
	if b.Modified {
		b.Revision += "-dirty"
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
		base, err := reference.Of(baseline, comments)
		if err != nil {
			return nil, fmt.Errorf("Baseline: %w", err)
		}
		if len(cfg.BaselineWork) > 0 || len(base.Windows) == 0 {
			base.Windows = []release.Window{{
				Samples: float64(baseline.Count()), CPU: release.SampledCPU(baseline), Elapsed: float64(baseline.DurationNanos) * 1e-9, Work: cfg.BaselineWork,
			}}
		}
		base.Module, base.Modules = kept.Module, kept.Modules
		base.Build.Version = cmp.Or(base.Build.Version, "the baseline")
		kept.Base = base
	}
	return reference.NewKeeper(kept), nil
}

// observed adds a window to the reference, and tells the balance when it is known.
func (g *Guard) observed(w *loop.Window) {
	if !w.Settled {
		g.keeper.Begin()
		return
	}
	err := g.keeper.Window(g.active, w.Table, release.Window{CPU: w.CPU.Seconds(), Elapsed: w.Elapsed.Seconds(), Work: w.Work, Machine: w.Machine})
	c, news := g.keeper.Balance(g.active)
	g.mu.Lock()
	defer g.mu.Unlock()
	if err != nil {
		g.degraded("reference", "", "the reference of this build: "+err.Error())
	}
	if c == nil {
		return
	}
	g.status.Release = releaseOf(c)
	if news {
		g.emit(Event{Name: EventRelease, Release: g.status.Release, Message: g.status.Release.Message})
	}
}

// rests writes the reference a last time.
func (g *Guard) rests(ctx context.Context) {
	if g.keeper != nil {
		g.keeper.Stop(ctx)
	}
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
	side, err := reference.Of(nil, p.Comments)
	return err != nil || side.Work()[unit] > 0
}
