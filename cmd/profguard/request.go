package main

import (
	"cmp"
	"context"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"
	"unicode"
)

// credentials are sent to services in the Authorization header. They come from a file, as others can read
// arguments, and no message shows them.
type credentials struct {
	file   string
	header string            // "" until the file is read
	secret *strings.Replacer // hides them
}

func (c *credentials) flag(f *flag.FlagSet) {
	f.StringVar(&c.file, "authorization", "", "a `file` with a bearer token, or with user:password")
}

// noCredentials is why there are none in the file.
type noCredentials string

func (e noCredentials) Error() string { return "-authorization: " + string(e) }

// load reads the file, if there is one and it is not read yet. Errors do not name it: somebody may have given the
// token in its place.
func (c *credentials) load() error {
	if c.file == "" || c.header != "" {
		return nil
	}
	b, err := os.ReadFile(c.file)
	if err != nil {
		return noCredentials(fmt.Sprintf("expected a file with a token or user:password: %v", errors.Unwrap(err)))
	}
	text := strings.TrimSpace(string(b))
	if name, value, _ := strings.Cut(text, ":"); strings.EqualFold(name, "Authorization") {
		text = strings.TrimSpace(value)
	}
	if text == "" || strings.ContainsFunc(text, unicode.IsControl) {
		return noCredentials(fmt.Sprintf("expected one line in the file, with a token or user:password, found %d bytes in %d lines", len(b), strings.Count(text, "\n")+1))
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
	c.header = scheme + " " + value
	c.secret = strings.NewReplacer(value, "xxxxx", cmp.Or(password, value), "xxxxx")
	return nil
}

// hidden is a text of a service without the credentials, which it may repeat.
func (c *credentials) hidden(text string) string {
	if c.secret == nil {
		return text
	}
	return c.secret.Replace(text)
}

// remedy says what to do about a status, "" if that has nothing to do with credentials.
func (c *credentials) remedy(status int) string {
	switch {
	case c.header == "" && status == http.StatusUnauthorized:
		return "; -authorization FILE sends the token, or user:password, that is in FILE"
	case c.header != "" && (status == http.StatusUnauthorized || status == http.StatusForbidden):
		return "; it rejects the token or password in the -authorization file"
	}
	return ""
}

// request asks a service, which may take so long to answer.
func (s *source) request(ctx context.Context, address string, timeout time.Duration) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	c := &http.Client{Timeout: timeout}
	if s.credentials.header != "" {
		req.Header.Set("Authorization", s.credentials.header)
	}
	if s.stays || s.credentials.header != "" { // net/http would send it on to other ports, and to subdomains
		c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	}
	resp, err := c.Do(req)
	if _, unknown := errors.AsType[x509.UnknownAuthorityError](err); unknown {
		if e, whole := errors.AsType[*url.Error](err); whole { // callers leave the address out
			e.Err = fmt.Errorf("%w; the environment variable SSL_CERT_FILE names a file with an authority of your own", e.Err)
		}
	}
	return resp, err
}
