package rollout

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// What is read of an answer at the most: a thousand processes with a hundred functions have some 50 MiB.
const (
	mostBytes  = 256 << 20
	mostSeries = 500_000
	patience   = time.Minute
)

// A Client asks a server that has the HTTP API of Prometheus.
type Client struct {
	Address string // as http://prometheus:9090, perhaps with a path
	// Get asks for an address.
	Get func(ctx context.Context, address string, timeout time.Duration) (*http.Response, error)
	// Hidden is a text of the server without secrets.
	Hidden func(string) string
}

// A series has the samples of a range, oldest first.
type series struct {
	labels map[string]string
	points []point
}

type point struct {
	at    time.Time
	value float64
}

// last is the newest sample.
func (s *series) last() point { return s.points[len(s.points)-1] }

// ask asks for the series of a query, with the other parameters of the path.
func (c *Client) ask(ctx context.Context, path, query string, with url.Values) ([]series, error) {
	u, err := url.Parse(c.Address)
	if err != nil || u.Host == "" {
		return nil, fmt.Errorf("expected the address of a Prometheus, as http://prometheus:9090, found %q", c.Address)
	}
	u = u.JoinPath("api/v1", path)
	with.Set("query", query)
	u.RawQuery = with.Encode()
	resp, err := c.Get(ctx, u.String(), patience)
	if err != nil {
		if e, ok := errors.AsType[*url.Error](err); ok {
			err = e.Err // the address is long, and may have a password
		}
		return nil, fmt.Errorf("%s: %w", u.Host, err)
	}
	defer resp.Body.Close()
	body := &io.LimitedReader{R: resp.Body, N: mostBytes}
	list, err := decode(body)
	switch {
	case body.N <= 0:
		return nil, fmt.Errorf("%s: expected an answer of at most %d MiB, found more: narrow it with -match", u.Host, mostBytes>>20)
	case resp.StatusCode != http.StatusOK && err == nil:
		err = fmt.Errorf("it answered %s", resp.Status)
	case errors.Is(err, errForm) && resp.StatusCode != http.StatusOK: // a page
		err = fmt.Errorf("it answered %s, and no %w", resp.Status, errForm)
	case err != nil && resp.StatusCode != http.StatusOK:
		err = fmt.Errorf("it answered %s: %w", resp.Status, err)
	}
	if err != nil {
		text := c.Hidden(clipped(err.Error()))
		if resp.StatusCode == http.StatusBadRequest { // such as a mistake in -match
			return nil, fmt.Errorf("%s: %w", u.Host, Refused(text))
		}
		return nil, fmt.Errorf("%s: %s", u.Host, text)
	}
	return list, nil
}

// Refused is why a server does not answer a question, and will not if it is asked again.
type Refused string

func (e Refused) Error() string { return string(e) }

// clipped is the beginning of a text of a server.
func clipped(text string) string {
	const most = 300
	if len(text) > most {
		text = text[:most] + "..."
	}
	return strings.ToValidUTF8(text, "?")
}

// document is the form of an answer.
type document struct {
	Status    string
	Error     string
	Warnings  []string
	IsPartial bool // a cluster of VictoriaMetrics, which does not warn
	Data      struct {
		ResultType string
		Result     []struct {
			Metric map[string]string
			Value  sample
			Values []sample
		}
	}
}

// A sample is a pair of a time and a number in a text.
type sample [2]any

func (s sample) point() (p point, ok bool) {
	at, ok := s[0].(float64)
	text, isText := s[1].(string)
	v, err := strconv.ParseFloat(text, 64)
	if !ok || !isText || err != nil || math.IsInf(v, 0) || !(v >= 0) {
		return p, false
	}
	return point{time.UnixMilli(int64(math.Round(at * 1000))), v}, true
}

// errForm is for what another server may have answered.
var errForm = errors.New("JSON of Prometheus's API")

// decode reads an answer. Samples that are no numbers from 0 on are left out. An answer that lacks something decides nothing.
func decode(r io.Reader) (list []series, err error) {
	var d document
	if err := json.NewDecoder(r).Decode(&d); err != nil {
		return nil, fmt.Errorf("expected %w: %w", errForm, err)
	}
	switch {
	case d.Status != "success":
		return nil, fmt.Errorf("expected the status success, found %q: %s", d.Status, d.Error)
	case d.Data.ResultType != "vector" && d.Data.ResultType != "matrix":
		return nil, fmt.Errorf("expected a vector or a matrix, found %q", d.Data.ResultType)
	case len(d.Warnings) > 0 || d.IsPartial:
		return nil, fmt.Errorf("its answer may be incomplete: %s", cmp.Or(strings.Join(d.Warnings, "; "), "isPartial is true"))
	case len(d.Data.Result) > mostSeries:
		return nil, fmt.Errorf("expected at most %d series, found %d: narrow it with -match", mostSeries, len(d.Data.Result))
	}
	for _, x := range d.Data.Result {
		s := series{labels: own(x.Metric)}
		for _, v := range append(x.Values, x.Value) {
			if p, ok := v.point(); ok {
				s.points = append(s.points, p)
			}
		}
		if len(s.points) > 0 {
			list = append(list, s)
		}
	}
	return list, nil
}

// at asks for a query at a time.
func (c *Client) at(ctx context.Context, query string, t time.Time) ([]series, error) {
	return c.ask(ctx, "query", query, url.Values{"time": {seconds(t)}})
}

// between asks for a query at each step of a time.
func (c *Client) between(ctx context.Context, query string, from, to time.Time, step time.Duration) ([]series, error) {
	return c.ask(ctx, "query_range", query, url.Values{"start": {seconds(from)}, "end": {seconds(to)}, "step": {strconv.FormatFloat(step.Seconds(), 'f', -1, 64)}})
}

func seconds(t time.Time) string { return strconv.FormatFloat(float64(t.UnixMilli())/1000, 'f', 3, 64) }
