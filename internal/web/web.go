// Package web serves the debug page and its data: the guard's status, the budgets,
// the dumps, and CPU profiles of the next seconds. It never judges; all data
// comes from [Config].
//
// The page is one static document of HTML, CSS and a script, embedded in the
// binary. Its script reads status.json, dumps.json and flame.json and draws them.
// So nothing here needs a template language, whose reflection would keep every
// exported method of the host program in its binary.
//
// Names of functions, files, labels and budgets may be hostile. They reach the
// browser only as JSON, and the script puts them into the page as text. The policy
// of the page ([policy]) allows its own script and style sheet by their hashes,
// requests to its own server, and nothing else. Memory for answers is limited by the
// guard's data, and not by the number of clients: see [slots].
package web

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/dumps"
	"github.com/profguard/profguard/internal/pattern"
	"github.com/profguard/profguard/internal/profiler"
)

// Config is the data of the pages. Its functions may be called concurrently.
type Config struct {
	Status  func() any    // the content of status.json
	Text    func() string // that of status.txt
	Budgets func() string // the budgets' sentences, one a line

	// Dumps returns the store of the dumps, or nil if there is none; Dir is its folder, ""
	// if none is configured.
	Dumps func() *dumps.Store
	Dir   string

	// Capture takes a CPU profile. Running ends when the guard is stopped, and is nil if
	// there is none.
	Capture func(ctx context.Context, d time.Duration) (profiler.Window, error)
	Running context.Context

	// Window is the profile of the last good window, empty before the first one.
	Window func() decode.Source
	// Release is the profile of the running build or of the one before, nil if there is none before.
	Release func(before bool) []byte

	Module   string // the program's; its functions have a colour of their own
	Hostname string // a name of this machine that requests may use
	Panicked func() // called after a panic of a page
}

// A Handler serves the pages. [New] makes it; it is safe for concurrent use.
type Handler struct {
	Config
	answers slots      // all but the page
	live    slots      // live profiles
	drawing sync.Mutex // held while a profile is decoded
	static  []byte     // the page
	policy  string     // of all answers
}

// New returns the handler of a guard.
func New(c Config) *Handler {
	return &Handler{
		Config: c, answers: make(slots, maxAnswers), live: make(slots, 1),
		static: static(), policy: policy(), // variables of the package would be linked into programs without a handler, too
	}
}

// maxAnswers is how many answers are under way at most. One holds at most 16 MiB.
const maxAnswers = 6

// refuse answers in one line of text.
func refuse(w http.ResponseWriter, status int, why string) {
	w.Header().Del("Content-Disposition")
	http.Error(w, "profguard: "+pattern.Clipped(why, 1000), status)
}

//go:embed page.html
var markup string

//go:embed page.css
var style string

//go:embed page.js
var script string

// static is the page, with its style sheet and script in it.
func static() []byte {
	return []byte(strings.NewReplacer("/*style*/", style, "/*script*/", script).Replace(markup))
}

// policy is the Content-Security-Policy of all answers. The empty icon in the page keeps
// browsers from requesting one from the host. Trusted types forbid the script to make HTML out
// of text.
func policy() string {
	return "default-src 'none'; script-src " + hash(script) + "; style-src " + hash(style) + "; connect-src 'self'; img-src data:; " +
		"form-action 'self'; frame-ancestors 'none'; base-uri 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
}

func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// privateSuffixes are the domains that have no public names below them (RFC 6761, 6762, 8375,
// ICANN's internal), and that of Kubernetes services, which is not delegated.
var privateSuffixes = [...]string{".localhost", ".local", ".internal", ".home.arpa", ".svc"}

// refuses keeps other web sites from reading the pages through a visitor's browser: it says why
// a request is refused, or "". It does not authenticate visitors. linked says that the request
// is for a page, which links of other web sites may lead to.
func (h *Handler) refuses(r *http.Request, linked bool) string {
	if r.TLS == nil && !h.knows(r.Host) {
		return "403: the request's Host is a public name, so any web site could be behind it (DNS rebinding); " +
			"ask for an IP address, localhost or this machine's hostname, use TLS, or set r.Host in the handler that checks who asks"
	}
	switch site := r.Header.Get("Sec-Fetch-Site"); site {
	case "", "none", "same-origin":
	default:
		navigates := r.Header.Get("Sec-Fetch-Mode") == "navigate" && r.Header.Get("Sec-Fetch-Dest") == "document"
		if !linked || !navigates || r.Method != http.MethodGet {
			return "403: another web site has caused this request; open the guard's page itself"
		}
	}
	if origin := r.Header.Get("Origin"); origin != "" {
		if u, err := url.Parse(origin); err != nil || u.Host == "" || !strings.EqualFold(u.Host, r.Host) {
			return "403: the request comes from another origin; open the guard's page itself"
		}
	}
	return ""
}

// knows reports whether a Host header has a name that other web sites cannot make resolve to
// this process.
func (h *Handler) knows(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.TrimSuffix(strings.TrimSuffix(strings.TrimPrefix(host, "["), "]"), ".")
	if _, err := netip.ParseAddr(host); err == nil {
		return true
	}
	// HTTP/1.0 has no Host, and no browser speaks it.
	if !strings.Contains(host, ".") || h.Hostname != "" && strings.EqualFold(host, h.Hostname) {
		return true
	}
	return slices.ContainsFunc(privateSuffixes[:], func(suffix string) bool { return strings.HasSuffix(strings.ToLower(host), suffix) })
}
