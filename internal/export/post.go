package export

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// maxAnswer limits what is read of an answer.
const maxAnswer = 64 << 10

// A StatusError is an answer that is no success. Answers that no later attempt can change wrap
// [ErrPermanent].
type StatusError struct {
	Status string
	Said   string // the first line of the answer
	after  time.Duration
	code   int
}

func (e *StatusError) Error() string {
	if e.Said == "" {
		return e.Status
	}
	return fmt.Sprintf("%s: %q", e.Status, e.Said)
}

// RetryAfter is what the answer asked for, or 0.
func (e *StatusError) RetryAfter() time.Duration { return e.after }

// Unwrap is [ErrPermanent] for a profile that is malformed or too large. Other answers, as of a
// wrong address or token, may be mended on either side, and cost four calls an hour until then.
func (e *StatusError) Unwrap() error {
	if slices.Contains([]int{http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity}, e.code) {
		return ErrPermanent
	}
	return nil
}

// Post sends a body, and returns the answer to it. Redirects are not followed, as they would turn
// it into a GET. client may be nil.
func Post(ctx context.Context, client *http.Client, url string, header http.Header, body []byte) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(string(body)))
	if err != nil {
		return nil, err
	}
	req.Header = header
	direct := http.Client{}
	if client != nil {
		direct = *client
	}
	direct.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	resp, err := direct.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if resp.StatusCode/100 != 2 { // the status counts, also if the text is cut
		return nil, &StatusError{Status: resp.Status, Said: firstLine(answer), after: retryAfter(resp.Header.Get("Retry-After"), time.Now()), code: resp.StatusCode}
	}
	if err != nil {
		return nil, fmt.Errorf("read the answer: %w", err)
	}
	return answer, nil
}

// firstLine is the first line of a text, and "" for what is none.
func firstLine(b []byte) string {
	line, _, _ := strings.Cut(strings.TrimSpace(string(b)), "\n")
	line = line[:min(len(line), 200)]
	if strings.ContainsFunc(line, func(r rune) bool { return r < ' ' || r == '\uFFFD' }) {
		return ""
	}
	return line
}

// retryAfter is the value of the header of that name: seconds, or a date.
func retryAfter(v string, now time.Time) time.Duration {
	if n, err := strconv.Atoi(v); err == nil {
		return time.Duration(max(n, 0)) * time.Second
	}
	if at, err := http.ParseTime(v); err == nil {
		return max(at.Sub(now), 0)
	}
	return 0
}

// Address checks the address of a server, as an exporter's field has it. The exporter adds a path to
// it, which it must not have.
func Address(field, v, example string, paths ...string) error {
	u, err := url.Parse(v)
	switch {
	case v == "":
		err = errors.New("found none")
	case err != nil:
	case u.Scheme != "http" && u.Scheme != "https":
		err = fmt.Errorf("found %q without http:// or https://", v)
	case u.Host == "":
		err = fmt.Errorf("found %q without a host", v)
	default:
		i := slices.IndexFunc(paths, func(path string) bool { return strings.HasSuffix(strings.TrimRight(u.Path, "/"), path) })
		if i < 0 {
			return nil
		}
		err = fmt.Errorf("found %q with %s at its end: leave that out, the exporter adds its own", v, paths[i])
	}
	return fmt.Errorf("%s: expected an address such as %s: %w", field, example, err)
}
