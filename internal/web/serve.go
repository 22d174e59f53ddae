package web

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"strings"

	"github.com/profguard/profguard/internal/foreign"
)

// ServeHTTP implements [http.Handler]. A panic here is counted and does not reach
// the host.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	failed := recovered(func() { h.serve(w, r) })
	if failed == nil {
		return
	}
	h.Panicked()
	// The panic may be that of the writer, which then panics again.
	_ = recovered(func() { refuse(w, http.StatusInternalServerError, fmt.Sprintf("the page failed: %v", failed)) })
}

// recovered runs f and returns its panic. [http.ErrAbortHandler] goes on to the
// server: the host's ResponseWriter uses it to give up an answer.
func recovered(f func()) error {
	err := foreign.Recovered(func() error { f(); return nil })
	if errors.Is(err, http.ErrAbortHandler) {
		panic(http.ErrAbortHandler)
	}
	return err
}

func (h *Handler) serve(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	header.Set("Content-Security-Policy", h.policy)
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("X-Frame-Options", "DENY")
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("Cross-Origin-Resource-Policy", "same-origin")
	header.Set("Cache-Control", "no-store")

	name, slashless := route(r)
	parts := strings.Split(name, "/")
	html := name == "" || parts[0] == "dumps" && len(parts) == 2 // a page, which links may lead to
	if why := h.refuses(r, html); why != "" {
		refuse(w, http.StatusForbidden, why)
		return
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead { // net/http sends no body for HEAD
		header.Set("Allow", "GET, HEAD")
		refuse(w, http.StatusMethodNotAllowed, fmt.Sprintf("expected GET or HEAD, found %.20q", r.Method))
		return
	}
	within(w, r, 0)
	switch {
	case slashless != "":
		header.Set("Location", url.PathEscape(path.Base(slashless))+"/") // relative links need the slash
		w.WriteHeader(http.StatusMovedPermanently)
	case name == "":
		sendText(w, "text/html", h.static)
	default:
		h.answers.use(w, "too many answers are under way", func() { h.answer(w, r, name, parts) })
	}
}

// answer sends what is not the page itself. parts are those of the name.
func (h *Handler) answer(w http.ResponseWriter, r *http.Request, name string, parts []string) {
	isDump := parts[0] == "dumps"
	switch {
	case name == "status.json":
		sendJSON(w, h.Status())
	case name == "status.txt", name == "dumps/status.txt": // the page of a dump has the same link
		sendText(w, "text/plain", []byte(h.Text()))
	case name == "budgets":
		sendText(w, "text/plain", []byte(h.Budgets()))
	case name == "dumps.json":
		sendJSON(w, h.listDumps())
	case name == "profile", name == "flame.json":
		h.profile(w, r, name == "flame.json")
	case name == "before.pb.gz", name == "now.pb.gz":
		h.release(w, name)
	case name == "window.flame.json", name == "window.pb.gz":
		h.lastWindow(w, name == "window.flame.json")
	case isDump && len(parts) == 2:
		h.dumpPage(w, parts[1])
	case isDump && len(parts) == 3:
		h.dumpFile(w, parts[1], parts[2])
	default:
		refuse(w, http.StatusNotFound, "there is no such page; the first is at the root of where the handler is mounted (in most routers behind http.StripPrefix, without the slash at the end of the prefix)")
	}
}

// route returns the path of a request within the handler, "" for the first page. If the
// handler was mounted without StripPrefix, the prefix is in the pattern that matched. slashless
// is the path of a request for the handler's root without the slash at its end.
func route(r *http.Request) (name, slashless string) {
	name = r.URL.Path
	if i := strings.IndexByte(r.Pattern, '/'); i >= 0 && strings.HasSuffix(r.Pattern, "/") {
		name = strings.TrimPrefix(name, r.Pattern[i:])
	}
	if r.URL.Path == "" { // StripPrefix has removed everything
		if u, err := url.ParseRequestURI(r.RequestURI); err == nil && !strings.HasSuffix(u.Path, "/") {
			slashless = u.Path
		}
	}
	return strings.TrimPrefix(name, "/"), slashless
}
