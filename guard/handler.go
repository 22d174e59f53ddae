package guard

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/dumps"
	"github.com/profguard/profguard/internal/profiler"
	"github.com/profguard/profguard/internal/web"
)

// Handler serves the guard's debug pages. Mount it anywhere, because all links are
// relative:
//
//	mux.Handle("/debug/profguard/", g.Handler())
//
// or, without the part of the path that it is mounted at:
//
//	mux.Handle("/debug/profguard/", http.StripPrefix("/debug/profguard", g.Handler()))
//
// It serves:
//
//	/                       the page: the guard's state, budgets, last window, cost, dumps
//	/status.json            the guard's [Status] as JSON
//	/status.txt             the same in words: of each budget its state and its last result
//	/dumps.json             the newest dumps, each with its sidecar
//	/budgets                the budgets' sentences, one a line, as budget.Parse reads them
//	/dumps/<id>             the page of a dump: its values and its flame graph
//	/dumps/<id>/<file>      a file of a dump, for go tool pprof
//	/profile?seconds=10     a CPU profile of the next seconds, 1 to 60, for go tool pprof
//	/flame.json?seconds=10  the same as a tree, which the page draws
//	/window.pb.gz           the last good window, and as a tree /window.flame.json
//	/before.pb.gz           what the build before did, and this one now, for go tool pprof -diff_base:
//	/now.pb.gz
//
// In status.json each field of [Status] has its name in Go, in lower case with underscores:
// PausedUntil is paused_until. Times are RFC 3339, and durations nanoseconds. Values, bounds and
// limits are in the unit beside them: "ratio", "cores", "s waited per second", "seconds", "bytes" or
// "count". Names are stable. Fields may be added. [Status] reads it back, also that of a later
// version. What only the page draws, such as the last windows of a budget, is not part of Status.
//
// # Access
//
// Profiles reveal much about a program. The handler does not authenticate users. Do that with a
// listener of its own, or with a handler around this one. The handler itself only keeps other web
// sites from reading the pages through a visitor's browser:
//
//   - Only GET and HEAD are answered.
//   - The request's Host must be an IP address, or a name that no other web site can make
//     resolve to this process (localhost, a name without a dot, this machine's hostname,
//     names below local, localhost, internal, home.arpa and svc), or the request must come
//     over TLS, where a certificate proves the name. Otherwise the answer is 403. Behind a
//     proxy that ends TLS and passes on a public name, let the handler that authenticates
//     users set r.Host = "localhost".
//   - Requests that come from another web site, according to the browser, get 403, except for
//     links to the HTML pages.
//
// # net/http/pprof
//
// While a window of the guard runs, /debug/pprof/profile of net/http/pprof answers 500. The
// profile of this handler shares the profiler with the windows. Let it answer that path, too, in a
// mux of your own, because http.DefaultServeMux panics if a path has two handlers:
//
//	mux.Handle("/debug/pprof/", http.DefaultServeMux)
//	mux.Handle("/debug/pprof/profile", http.StripPrefix("/debug/pprof", g.Handler()))
//
// One live profile is taken at a time, and at most four clients read the status or the
// budgets. Further requests get 429 with Retry-After. Clients that do not read lose their
// answer after 30 seconds, or the server's WriteTimeout.
//
// The handler of a nil Guard says that no guard runs.
func (g *Guard) Handler() http.Handler {
	if g == nil || g.cancel == nil {
		g = &Guard{budgets: new(roster)}
	}
	g.pages.Do(func() {
		g.mu.Lock()
		g.shown = true
		g.mu.Unlock()
		hostname, _ := os.Hostname() // without it there is one allowed name less
		g.page = web.New(web.Config{
			Status:  func() any { return g.Status().document() },
			Text:    func() string { return g.Status().text() },
			Budgets: func() string { return g.inForce().set.String() + "\n" },
			Dumps:   g.dumps.Load,
			Dir:     filepath.Join(g.cfg.DumpDir, dumps.FolderName), Module: g.module, Hostname: hostname,
			Capture: func(ctx context.Context, d time.Duration) (profiler.Window, error) {
				return g.seams.Source.Capture(ctx, d)
			}, Running: g.active,
			Window: g.lastProfile, Release: g.releaseProfile,
			Panicked: func() { g.notePanic("page") },
		})
	})
	return g.page
}

// lastProfile is the profile of the last good window since there is a page.
func (g *Guard) lastProfile() decode.Source {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.last
}

// releaseProfile is what this build did, or the one before, for the page.
func (g *Guard) releaseProfile(before bool) []byte {
	if g.keeper == nil {
		return nil
	}
	return g.keeper.Profile(before)
}
