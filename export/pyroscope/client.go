package pyroscope

import (
	"mime/multipart"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/profguard/profguard/guard"
	"github.com/profguard/profguard/internal/export"
)

// Client returns the HTTP client for Pyroscope's agent, pyroscope-go, which has the process's CPU
// profiler all the time. The guard judges the CPU profiles that the agent sends, also if the server
// does not take them. From this call on it takes no CPU profiles itself:
//
//	import agent "github.com/grafana/pyroscope-go"
//
//	agent.Start(agent.Config{HTTPClient: pyroscope.Client(g, nil), ...})
//
// The agent's requests go on unchanged, through base. nil means a client like the agent's own,
// with a limit of 30 seconds and without redirects. A nil guard judges nothing.
func Client(g *guard.Guard, base *http.Client) *http.Client {
	g.ExpectFeed()
	c := http.Client{
		Timeout:       30 * time.Second,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	if base != nil {
		c = *base
	}
	c.Transport = export.NewTap(c.Transport, isIngest, func(r *http.Request, body []byte) { feed(g, r, body) })
	return &c
}

func isIngest(r *http.Request) bool {
	return strings.HasSuffix(r.URL.Path, "/ingest") && strings.HasPrefix(r.Header.Get("Content-Type"), "multipart/")
}

// feed hands the profile in a request to the guard. Its error becomes an event of the guard.
func feed(g *guard.Guard, r *http.Request, body []byte) {
	from, until := nanos(r.URL.Query().Get("from")), nanos(r.URL.Query().Get("until"))
	if data := export.Part(r, body, func(p *multipart.Part) bool { return p.FormName() == "profile" }); data != nil {
		_ = g.Feed(data, from, until)
	}
}

// nanos is a time as the agent writes it.
func nanos(v string) time.Time {
	n, err := strconv.ParseInt(v, 10, 64)
	if err != nil {
		return time.Time{}
	}
	return time.Unix(0, n)
}
