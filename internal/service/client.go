// Package service asks services for their profiles and their metrics. A [Client] asks a [Question], which budgets make.
// The [Answer] has the metrics before and after the profiles: what was done meanwhile is their difference, unless they are
// of two processes. All of it comes from others, so what is read is limited, and no message repeats the [Credentials].
package service

import (
	"cmp"
	"context"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// Patience is how much longer than its profile a service may take to answer.
const Patience = 30 * time.Second

// A Client asks services.
type Client struct {
	Credentials Credentials
	Metrics     string // where their metrics are, as a reference from their root; "" for metrics below it
	Stays       bool   // redirections are not followed: others name the services
}

// Get asks for an address, which may take so long to answer.
func (c *Client) Get(ctx context.Context, address string, timeout time.Duration) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	to := &http.Client{Timeout: timeout}
	if c.Credentials.header != "" {
		req.Header.Set("Authorization", c.Credentials.header)
	}
	if c.Stays || c.Credentials.header != "" { // net/http would send it on to other ports, and to subdomains
		to.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	}
	resp, err := to.Do(req)
	if _, unknown := errors.AsType[x509.UnknownAuthorityError](err); unknown {
		if e, whole := errors.AsType[*url.Error](err); whole { // callers leave the address out
			e.Err = fmt.Errorf("%w; the environment variable SSL_CERT_FILE names a file with an authority of your own", e.Err)
		}
	}
	return resp, err
}

// CheckSeconds checks how long profiles are to last.
func CheckSeconds(n int) error {
	if n < 1 || n > 300 {
		return fmt.Errorf("-seconds: expected 1 to 300, found %d", n)
	}
	return nil
}

// Root is the root of the service whose net/http/pprof an address is in, nil if it is in none, and the name of the
// profile there, "" for the service as a whole.
func Root(address string) (root *url.URL, name string) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return nil, ""
	}
	path := strings.TrimRight(u.Path, "/")
	before, name, found := strings.Cut(path+"/", "/debug/pprof/")
	if !found && path != "" {
		return nil, ""
	}
	u.Path = strings.TrimRight(before, "/") + "/"
	return u, strings.TrimRight(name, "/")
}

// ProfileAt completes the address of a profile, and says for how long it is taken, 0 for one of a moment. That of a
// service is at /debug/pprof/profile.
func ProfileAt(address string, seconds int) (at *url.URL, lasts time.Duration, err error) {
	at, err = url.Parse(address)
	if err != nil {
		return nil, 0, err
	}
	if strings.Trim(at.Path, "/") == "" {
		at.Path = "/debug/pprof/profile"
	}
	q := at.Query()
	if strings.HasSuffix(at.Path, "/profile") && !q.Has("seconds") {
		q.Set("seconds", strconv.Itoa(seconds))
		at.RawQuery = q.Encode()
	}
	n, _ := strconv.Atoi(q.Get("seconds"))
	return at, time.Duration(n) * time.Second, nil
}

// ofGuard is an example of the address of a guard's profile.
const ofGuard = "http://localhost:6060/debug/profguard/profile"

// NoProfile is an answer of a service that is no profile.
type NoProfile struct {
	text string
	busy bool // the service's profiler is in use
}

func (e NoProfile) Error() string { return e.text }

// IsBusy reports whether there is no profile because the profiler was in use.
func IsBusy(err error) bool {
	answer, _ := errors.AsType[NoProfile](err)
	return answer.busy
}

// Open opens a profile that is taken for so long.
func (c *Client) Open(ctx context.Context, at *url.URL, lasts time.Duration) (io.ReadCloser, error) {
	resp, err := c.Get(ctx, at.String(), lasts+Patience)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		defer resp.Body.Close()
		answer, _ := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
		said := c.Credentials.Hidden(string(answer))
		said = said[:min(len(said), 300)]
		remedy := c.Credentials.Remedy(resp.StatusCode)
		busy := strings.Contains(string(answer), "already in use")
		switch {
		case resp.StatusCode/100 == 3:
			remedy = "; the probe follows no redirection, nor does a request with -authorization: give the address that it leads to"
		case resp.StatusCode == http.StatusNotFound:
			remedy = "; is net/http/pprof there? A guard's page has a profile, too, at an address such as " + ofGuard
		case busy:
			remedy = "; a guard in the service may be taking its profile, which lasts ten seconds: try again then, or give the address of the guard's profile, such as " + ofGuard
		}
		return nil, NoProfile{fmt.Sprintf("answered %s: %q%s", resp.Status, strings.TrimSpace(said), remedy), busy}
	}
	if strings.HasPrefix(resp.Header.Get("Content-Type"), "text/html") {
		resp.Body.Close()
		return nil, NoProfile{text: "answered with a page: give the address of a profile, such as that of a guard, " + ofGuard}
	}
	return resp.Body, nil
}

// Credentials are sent to services in the Authorization header. They come from a file, as others can read
// arguments, and no message shows them. The zero value has none.
type Credentials struct {
	header string
	secret *strings.Replacer // hides them
}

// NoCredentials is why there are none in the file.
type NoCredentials string

func (e NoCredentials) Error() string { return "-authorization: " + string(e) }

// ReadCredentials reads the file with a bearer token, or with user:password, if one is named. Errors do not name it:
// somebody may have given the token in its place.
func ReadCredentials(file string) (c Credentials, err error) {
	if file == "" {
		return c, nil
	}
	b, err := os.ReadFile(file)
	if err != nil {
		return c, NoCredentials(fmt.Sprintf("expected a file with a token or user:password: %v", errors.Unwrap(err)))
	}
	text := strings.TrimSpace(string(b))
	if name, value, _ := strings.Cut(text, ":"); strings.EqualFold(name, "Authorization") {
		text = strings.TrimSpace(value)
	}
	if text == "" || strings.ContainsFunc(text, unicode.IsControl) {
		return c, NoCredentials(fmt.Sprintf("expected one line in the file, with a token or user:password, found %d bytes in %d lines", len(b), strings.Count(text, "\n")+1))
	}
	scheme, value, whole := strings.Cut(text, " ")
	user, password, basic := strings.Cut(text, ":")
	switch {
	case whole && len(scheme) <= len(user): // such as "Bearer TOKEN"
		value = strings.TrimSpace(value)
	case basic:
		scheme, value = "Basic", base64.StdEncoding.EncodeToString([]byte(text))
	default: // a token alone, as Kubernetes mounts it
		scheme, value = "Bearer", text
	}
	return Credentials{header: scheme + " " + value, secret: strings.NewReplacer(value, "xxxxx", cmp.Or(password, value), "xxxxx")}, nil
}

// Hidden is a text of a service without the credentials, which it may repeat.
func (c Credentials) Hidden(text string) string {
	if c.secret == nil {
		return text
	}
	return c.secret.Replace(text)
}

// Remedy says what to do about a status, "" if that has nothing to do with credentials.
func (c Credentials) Remedy(status int) string {
	switch {
	case c.header == "" && status == http.StatusUnauthorized:
		return "; -authorization FILE sends the token, or user:password, that is in FILE"
	case c.header != "" && (status == http.StatusUnauthorized || status == http.StatusForbidden):
		return "; it rejects the token or password in the -authorization file"
	}
	return ""
}
