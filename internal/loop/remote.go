package loop

import (
	"context"
	"errors"
	"time"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/alert"
	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/functions"
	"github.com/profguard/profguard/internal/judge"
	"github.com/profguard/profguard/internal/kinds"
	"github.com/profguard/profguard/internal/process"
	"github.com/profguard/profguard/internal/tree"
)

// A Remote judges another process by its answers, as a loop judges this one. It takes nothing itself. There may be
// thousands of them, so it keeps no profile from one window to the next.
type Remote struct {
	cfg       RemoteConfig
	judge     judger
	functions *functions.Counter // nil for none
}

// RemoteConfig is how other processes are judged.
type RemoteConfig struct {
	Budgets       budget.Set
	Every, Window time.Duration
	Module        string                   // of the program
	Functions     int                      // how many are counted by name; 0 for none
	Kind          func(*judge.Rule) string // of the profile that decides a rule, "" if none does
}

// A RemoteWindow is what another process says about a window that has just ended.
type RemoteWindow struct {
	Profiles []Profile
	Facts    judge.Facts // of rules that no profile decides
	From, To *Reading    // at its ends, nil if they are not known
	Settled  bool        // its functions are counted
}

// NewRemote returns a judge of a process of which nothing is known.
func NewRemote(cfg RemoteConfig) (*Remote, error) {
	r := &Remote{cfg: cfg, judge: judger{every: cfg.Every, started: time.Now(), least: cfg.Every, module: cfg.Module, partsOf: partsAmong}}
	if cfg.Functions > 0 {
		r.functions = functions.New(cfg.Functions)
	}
	return r, r.renew()
}

// partsAmong is the profile of a kind among those of a window.
func partsAmong(kind string, taken []Profile) (Profile, error) {
	for _, p := range taken {
		if p.Kind == kind {
			return p, p.Err
		}
	}
	return Profile{}, errors.New("the process was not asked for its " + kind + " profile")
}

// renew compiles the budgets anew, with what is known of them: a watch keeps the last profile.
func (r *Remote) renew() error {
	next, err := compile(r.cfg.Budgets, r.cfg.Every, r.cfg.Window, r.judge.set, func(rule *judge.Rule) judge.Needs {
		needs := rule.Needs()
		needs.Profile = r.cfg.Kind(rule)
		return needs
	})
	if err == nil {
		r.judge.adopt(next)
	}
	return err
}

// Judge judges a window. It returns the functions of all windows so far, nil if none are counted.
func (r *Remote) Judge(ctx context.Context, w *RemoteWindow) (counted *functions.Totals, err error) {
	var taken []Profile
	for _, g := range r.judge.set.groups {
		p := Profile{Kind: g.kind, Table: &decode.Table{Symbols: new(decode.Symbols)}, Facts: w.Facts}
		for _, in := range w.Profiles {
			if in.Kind == g.kind {
				p = in
			}
		}
		taken = append(taken, p)
	}
	r.judge.decide(ctx, r.measured(w), taken)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err := r.renew(); err != nil || r.functions == nil {
		return nil, err
	}
	for _, p := range w.Profiles {
		if p.Kind == kinds.CPU && p.Err == nil && w.Settled {
			c := tree.Counter{Module: r.cfg.Module}
			charged, err := c.Tree(ctx, p.Table)
			return count(r.functions, functions.Window{Tree: charged, Seconds: float64(p.Table.DurationNanos) * 1e-9, Work: p.Facts.Work, NoWork: p.Facts.NoWork}, err)
		}
	}
	totals := r.functions.Totals()
	return &totals, nil
}

// measured is a window as a measurement.
func (r *Remote) measured(w *RemoteWindow) *Measurement {
	now := time.Now()
	from, to := &Reading{Snapshot: process.Snapshot{At: now.Add(-r.cfg.Window)}, NoCPU: true, NoAlloc: true}, &Reading{Snapshot: process.Snapshot{At: now}, NoCPU: true, NoAlloc: true}
	if w.From != nil && w.To != nil {
		from, to = w.From, w.To
	}
	return &Measurement{Tried: true, Now: to, before: from, Facts: w.Facts, completes: true, period: from.At}
}

// A Current is a budget with what is known of it now.
type Current struct {
	*Budget
	Standing
	State       alert.State
	Ineffective bool // it may never fail

	Dump   string // the last one, "" for none
	Dumped time.Time
}

// Now is the budget with what is known of it now, in a guard that was started at a time. While windows are lost, that
// may be less than after the last one.
func (b *Budget) Now(known Standing, started time.Time) Current {
	state, entered := known.Alert.At(time.Since(started), b.Alert)
	if state != known.Alert.State {
		known.Since = started.Add(entered)
	}
	return Current{Budget: b, Standing: known, State: state, Ineffective: known.Seen.Ineffective() && !b.Default}
}

// Now are the budgets with what is known of them, in the order of their declaration.
func (r *Remote) Now() (list []Current) {
	for _, b := range r.judge.set.Budgets {
		list = append(list, b.Now(r.judge.known[b].Standing, r.judge.started))
	}
	return list
}
