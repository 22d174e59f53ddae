package web

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

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
