package probe

import (
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"path"
	"strings"
)

// Allowed are the targets that a probe may ask: who can reach the probe names them.
type Allowed struct {
	hosts []string // patterns of HOST:PORT
	nets  []netip.Prefix
}

// maxTargetText limits the text of a target.
const maxTargetText = 300

// Add adds a pattern of HOST:PORT, or a network.
func (a *Allowed) Add(text string) error {
	if network, err := netip.ParsePrefix(text); err == nil {
		a.nets = append(a.nets, network)
		return nil
	}
	if _, err := path.Match(text, ""); err != nil || text == "" || strings.Contains(text, "/") {
		return fmt.Errorf("expected a pattern of HOST:PORT such as *.shop:6060, or a network such as 10.1.0.0/16, found %q", text)
	}
	a.hosts = append(a.hosts, text)
	return nil
}

// root is the address of a target: HOST:PORT, or a URL without a user and a query. It must be
// allowed, or else there is an error with a status.
func (a *Allowed) root(target string) (u *url.URL, status int, err error) {
	const such = "expected /probe?target=HOST:PORT"
	text := target
	if !strings.Contains(text, "://") {
		text = "http://" + text
	}
	u, err = url.Parse(text)
	switch {
	case len(target) > maxTargetText:
		return nil, http.StatusBadRequest, fmt.Errorf("%s, found %d bytes", such, len(target))
	case err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" || u.Scheme != "http" && u.Scheme != "https":
		return nil, http.StatusBadRequest, fmt.Errorf("%s, found %q", such, target)
	}
	u.Path = "/" + strings.Trim(u.Path, "/")
	for _, pattern := range a.hosts {
		if ok, _ := path.Match(pattern, u.Host); ok {
			return u, http.StatusOK, nil
		}
	}
	if addr, err := netip.ParseAddr(u.Hostname()); err == nil {
		for _, network := range a.nets {
			if network.Contains(addr.Unmap()) {
				return u, http.StatusOK, nil
			}
		}
	}
	text = fmt.Sprintf("%s may not be probed: -allow says which targets may be", u.Host)
	if _, err := netip.ParseAddr(u.Hostname()); err != nil && len(a.nets) > 0 {
		text += fmt.Sprintf("; a network, such as %s, is compared with addresses, and names are not looked up: say -allow '%s:*', too", a.nets[0], u.Hostname())
	}
	return nil, http.StatusForbidden, errors.New(text)
}

// anyHost is an allowed pattern or network that a host of anybody can have, "" if there is none: 10.1.* matches
// 10.1.example.com, too.
func (a *Allowed) anyHost() string {
	for _, pattern := range a.hosts {
		host := pattern[:max(strings.LastIndexByte(pattern, ':'), 0)]
		if tail := host[strings.LastIndexAny(host, "*?]")+1:]; tail == "" || tail != host && !strings.HasPrefix(tail, ".") {
			return pattern
		}
	}
	for _, network := range a.nets {
		if network.Bits() == 0 {
			return network.String()
		}
	}
	return ""
}
