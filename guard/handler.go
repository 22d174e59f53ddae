package guard

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/profguard/profguard/internal/page"
)

// Handler serves the guard's debug pages. Mount it anywhere; all links are
// relative:
//
//	http.Handle("/debug/profguard/", g.Handler())
//	http.Handle("/debug/profguard/", http.StripPrefix("/debug/profguard", g.Handler()))
//
// What it serves:
//
//	/                    the guard's state, budgets, last window, cost, losses, dumps
//	/status.json         the same for programs; see below
//	/budgets             the budgets' sentences, one a line, as budget.Parse reads them
//	/dumps/<id>          a dump: what it is about, and its flame graph
//	/dumps/<id>/<file>   a file of a dump, for go tool pprof
//	/profile?seconds=10  a CPU profile of the next seconds, 1 to 60, for go tool pprof
//	/flame?seconds=10    the flame graph of the same
//
// # Access
//
// Profiles tell much about a program. The handler asks nobody who they are: that
// is the caller's part, on a listener of its own or with a handler around this
// one. What it does itself is to keep other web sites from using a visitor's
// browser to read the pages:
//
//   - Only GET and HEAD are answered.
//   - The request's Host must be an IP address, a name that nobody else can
//     point at this process (localhost, a name without a dot, this machine's
//     hostname, names below local, localhost, internal, home.arpa and svc), or
//     come over TLS, whose certificate proves it. A web site whose own name is
//     made to resolve to this process gets 403. Behind a proxy that ends TLS and
//     passes on a public name, let the handler that checks who asks set
//     r.Host = "localhost".
//   - Requests that a browser says another site has caused get 403, but for links
//     to the HTML pages that somebody follows.
//
// One live profile is taken at a time; who comes meanwhile gets 429 with
// Retry-After. It shares the profiler with the guard's windows, which go on, and
// ends early when the client leaves or the guard is stopped. The profiler is
// released before anything is written to the client, and clients that do not
// read are given up after 30 seconds, or the server's WriteTimeout.
//
// # status.json
//
// Field names are stable; fields may be added. Values, bounds and limits are in
// the "unit" beside them: "ratio", "cores", "seconds", "bytes" or "count"; a
// number that is unknown or infinite is null. Times are RFC 3339.
//
//	state, reason, paused_until, started, last_good
//	window      start, seconds, outcome, reason, early, samples, cores, gc, rss, heap, goroutines
//	windows     how many by outcome
//	budgets[]   name, sentence, state, since, verdict, value, low, high, limit, unit,
//	            samples, hits, reason, alarm, evidence, offenders, over,
//	            verdicts (how many by verdict), samples_total, hits_total, warning, dump, dumped
//	offenders[] function, file, line, value, low, high, blame, callers, callees
//	cost        cpu_seconds, share
//	dumps, dropped, panics   how many by result, sink and part
//
// The handler of a nil Guard says that no guard runs.
func (g *Guard) Handler() http.Handler {
	hostname, _ := os.Hostname() // without it one name fewer is let in
	return newHandler(g, hostname)
}

const (
	// Ten seconds are a window, and what go tool pprof users are used to half of;
	// a minute is as long as somebody waits for a page.
	defaultSeconds, maxSeconds = 10, 60

	// writeWithin is how long a client may take to read an answer.
	writeWithin = 30 * time.Second

	// maxHeavy is how many answers may be under way that hold a profile or a file
	// of a dump, 16 MiB at most each.
	maxHeavy = 4
)

// handler is what Handler returns.
type handler struct {
	g      *Guard
	access access
	pages  *page.Pages
	*turns
}

// turns bound what answers take. They are the guard's: there may be a handler for
// each request.
type turns struct {
	made    sync.Once
	heavy   chan struct{} // a token for each answer that needs memory
	drawing chan struct{} // a token for whoever decodes a profile
	listing chan struct{} // a token for whoever lists the dumps
	live    live
}

func (t *turns) ready() *turns {
	t.made.Do(func() {
		t.heavy = make(chan struct{}, maxHeavy)
		t.drawing, t.listing = make(chan struct{}, 1), make(chan struct{}, 1)
	})
	return t
}

func newHandler(g *Guard, hostname string) *handler {
	shared := new(turns)
	if g != nil {
		shared = &g.turns
	}
	return &handler{g: g, access: access{hostname: hostname}, pages: page.New(), turns: shared.ready()}
}

// ServeHTTP implements [http.Handler]. A panic of ours is counted and not the
// host's.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	failed := shield(func() { h.serve(w, r) })
	if failed == nil {
		return
	}
	if h.g != nil {
		h.g.notePanic("page")
	}
	// What has failed may be the writer, and then it fails again.
	shield(func() { refuse(w, http.StatusInternalServerError, fmt.Sprintf("the page failed: panic: %v", failed)) })
}

// shield runs f and returns its panic. [http.ErrAbortHandler] is none: it is how
// the host's ResponseWriter gives an answer up, and goes on to the server.
func shield(f func()) (failed any) {
	defer func() {
		failed = recover()
		if err, _ := failed.(error); errors.Is(err, http.ErrAbortHandler) {
			panic(failed)
		}
	}()
	f()
	return nil
}

func (h *handler) serve(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	header.Set("Content-Security-Policy", h.pages.Policy())
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("X-Frame-Options", "DENY")
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("Cross-Origin-Resource-Policy", "same-origin")
	header.Set("Cache-Control", "no-store")

	where := route(r)
	if why := h.access.refuses(r, where.html()); why != "" {
		refuse(w, http.StatusForbidden, why)
		return
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		header.Set("Allow", "GET, HEAD")
		refuse(w, http.StatusMethodNotAllowed, "expected GET or HEAD, found "+strconv.QuoteToASCII(clip(r.Method, 20)))
		return
	}
	within(w, r, 0)
	switch where.name {
	case "":
		h.overview(w, r)
	case "status.json":
		h.statusJSON(w, r)
	case "budgets":
		h.budgets(w, r)
	case "profile", "flame":
		h.profile(w, r, where.name == "flame")
	case "dump":
		h.dump(w, r, where.id)
	case "file":
		h.file(w, r, where.id, where.file)
	case "slash":
		// Relative links need the slash.
		header.Set("Location", url.PathEscape(path.Base(where.id))+"/")
		w.WriteHeader(http.StatusMovedPermanently)
	default:
		refuse(w, http.StatusNotFound, "there is no such page; the first is at the root of where the handler is mounted")
	}
}

// place is what a request asks for.
type place struct{ name, id, file string }

// html reports whether it is a page that people link to.
func (p place) html() bool { return p.name == "" || p.name == "dump" || p.name == "slash" }

// route finds what a request asks for. A handler that was mounted without
// StripPrefix finds its prefix in the pattern that led to it.
func route(r *http.Request) place {
	rest := r.URL.Path
	pattern := r.Pattern
	if i := strings.IndexByte(pattern, '/'); i >= 0 {
		if under, ok := strings.CutPrefix(rest, pattern[i:]); ok && strings.HasSuffix(pattern, "/") {
			rest = under
		}
	}
	if rest == "" && r.URL.Path == "" {
		// StripPrefix took all: the request's own path has no slash at its end.
		if u, err := url.ParseRequestURI(r.RequestURI); err == nil && u.Path != "" && !strings.HasSuffix(u.Path, "/") {
			return place{name: "slash", id: u.Path}
		}
	}
	parts := strings.Split(strings.TrimPrefix(rest, "/"), "/")
	switch {
	case len(parts) == 1:
		switch parts[0] {
		case "", "status.json", "budgets", "profile", "flame":
			return place{name: parts[0]}
		}
	case len(parts) == 2 && parts[0] == "dumps":
		return place{name: "dump", id: parts[1]}
	case len(parts) == 3 && parts[0] == "dumps":
		return place{name: "file", id: parts[1], file: parts[2]}
	}
	return place{name: "none"}
}

// refuse answers in one line of text.
func refuse(w http.ResponseWriter, status int, why string) {
	header := w.Header()
	header.Del("Content-Disposition")
	header.Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	w.Write([]byte("profguard: " + page.Clean(why) + "\n"))
}

// send answers with what has been made.
func send(w http.ResponseWriter, r *http.Request, kind string, data []byte) {
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Content-Length", strconv.Itoa(len(data)))
	if r.Method != http.MethodHead {
		w.Write(data) // a client that has gone away is nobody's error
	}
}

// sendPage answers with a document, or says why there is none.
func sendPage(w http.ResponseWriter, r *http.Request, data []byte, err error) {
	if err != nil {
		refuse(w, http.StatusInternalServerError, err.Error())
		return
	}
	send(w, r, "text/html; charset=utf-8", data)
}

// within bounds how long the client may take to read: the server's own
// WriteTimeout, or writeWithin, from after work on. It reports false where no
// deadline can be set and the server's own is too short for the work.
func within(w http.ResponseWriter, r *http.Request, work time.Duration) bool {
	limit := writeWithin
	server, _ := r.Context().Value(http.ServerContextKey).(*http.Server)
	if server != nil && server.WriteTimeout > 0 {
		limit = server.WriteTimeout
	}
	err := http.NewResponseController(w).SetWriteDeadline(time.Now().Add(work + limit))
	return err == nil || server == nil || server.WriteTimeout == 0 || work < server.WriteTimeout
}

// acquire takes a token, waiting for it no longer than patience.
func acquire(r *http.Request, tokens chan struct{}, patience time.Duration) bool {
	select {
	case tokens <- struct{}{}:
		return true
	default:
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case tokens <- struct{}{}:
		return true
	case <-timer.C:
	case <-r.Context().Done():
	}
	return false
}

// tellBusy tells the client when to come back.
func tellBusy(w http.ResponseWriter, after time.Duration, why string) {
	w.Header().Set("Retry-After", strconv.Itoa(max(1, int((after+time.Second-1)/time.Second))))
	refuse(w, http.StatusTooManyRequests, why)
}
