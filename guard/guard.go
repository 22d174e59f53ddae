package guard

import (
	"context"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/dumps"
	"github.com/profguard/profguard/internal/functions"
	"github.com/profguard/profguard/internal/loop"
	"github.com/profguard/profguard/internal/reference"
	"github.com/profguard/profguard/internal/release"
	"github.com/prometheus/client_golang/prometheus"
)

// A Guard watches the process that it runs in. Make one with [Start]. All
// methods are safe for concurrent use, and on a nil Guard.
type Guard struct {
	cfg     Config
	seams   seams
	started time.Time
	where   string // the caller of Start, for the error of a second Start
	module  string
	build   Build

	active    context.Context // until Stop
	cancel    context.CancelFunc
	done      chan struct{} // closed when the loop has ended
	announced chan struct{} // closed when the start is logged
	stop      sync.Once

	loop    *loop.Loop
	exports *exports          // nil without Config.Export.To
	keeper  *reference.Keeper // nil without DumpDir and Baseline
	sinks   []*sink
	dumps   atomic.Pointer[dumps.Store] // nil: there are none yet, or none at all
	opened  chan struct{}               // closed when DumpDir is not tried any more; nil without one
	metrics prometheus.Collector
	pages   sync.Once
	// page is made by pages, once for all calls of Handler. It is an interface so that the
	// linker can leave the pages out of programs that do not call Handler.
	page http.Handler

	setting sync.Mutex  // held by SetBudgets, which may compile for a while; comes before mu
	asking  atomic.Bool // Start or SetBudgets reads the registry, which may hang

	mu      sync.Mutex
	budgets *roster // in force
	status  Status  // all but Budgets
	faults  faults
	counts  *functions.Totals // nil: none were counted
	lost    int               // how often the folder of dumps was removed or replaced
	shown   bool              // there is a page
	last    decode.Source     // the last good window since then
}

// seams are the functions that tests replace.
type seams struct {
	loop.Process
	compile func(cfg *Config, old *roster) (*roster, error)
	openDir func(dir string, keep dumps.Keep, report func(dumps.Outcome)) (*dumps.Store, error)
	build   func() release.Build
	test    bool // a binary of go test, which keeps no references
}

func (g *Guard) inForce() *roster {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.budgets
}

// emit sends an event to all sinks.
func (g *Guard) emit(e Event) {
	if e.Time.IsZero() {
		e.Time = time.Now()
	}
	for _, s := range g.sinks {
		s.offer(e)
	}
}
