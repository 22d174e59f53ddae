package guard

import (
	"context"

	"github.com/profguard/profguard/internal/foreign"
	"github.com/profguard/profguard/internal/functions"
	"github.com/profguard/profguard/internal/loop"
	"github.com/profguard/profguard/internal/process"
)

// maxFunctions limits the series of functions, of which a fleet has one for each process.
const maxFunctions = 1000

// countFunctions counts the functions of windows, for the loop's goroutine. After a panic, none are
// counted any more.
func (g *Guard) countFunctions() func(*loop.Window) {
	counter := functions.New(g.cfg.Functions)
	return func(w *loop.Window) {
		if counter == nil || !w.Settled {
			return
		}
		var err error
		broken := foreign.Recovered(func() error {
			err = counter.Add(context.Background(), functions.Window{
				Table: w.Table, Live: true, Module: g.module, Modules: process.Modules(), Work: w.Work, NoWork: w.NoWork,
			})
			totals := counter.Totals()
			g.counts.Store(&totals)
			return nil
		})
		g.mu.Lock()
		defer g.mu.Unlock()
		switch g.faults.clear("functions"); {
		case broken != nil:
			counter = nil
			g.degraded("functions", "panic", "functions are no longer counted: "+broken.Error())
		case err != nil:
			g.degraded("functions", "", "a window was left out: "+err.Error())
		}
	}
}
