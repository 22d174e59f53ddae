package web

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

// privateSuffixes are the domains below which nobody can register a name that
// the whole internet resolves (RFC 6761, 6762, 8375, ICANN's internal), and the
// one of Kubernetes services, which is not delegated.
var privateSuffixes = [...]string{".localhost", ".local", ".internal", ".home.arpa", ".svc"}

// refuses keeps other web sites out: it says why a request is not answered, or "". It is
// about what a browser does on somebody else's behalf, not about who may see the pages.
// linked says that it is for a page that people may have followed a link to.
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

// knows reports whether a Host header names something that is surely here: nobody else
// can have pointed that name at this process.
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
