// Package load runs the services of this folder without a network: their handlers are called as a
// server would, at a steady rate, while a guard keeps the reference of the build.
package load

import (
	"bytes"
	"flag"
	"log"
	"net/http"
	"net/url"
	"sync/atomic"
	"time"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/guard"
)

var requests atomic.Int64

// reply is a response that nobody reads.
type reply struct {
	header http.Header
	body   bytes.Buffer
}

func (r *reply) Header() http.Header         { return r.header }
func (r *reply) WriteHeader(int)             {}
func (r *reply) Write(b []byte) (int, error) { return r.body.Write(b) }

// Run serves two paths, as the command line says.
func Run(one, two string, mux http.Handler) {
	dir := flag.String("dir", "", "DumpDir")
	seconds := flag.Int("seconds", 20, "how long")
	rate := flag.Float64("rate", 5000, "requests a second")
	mix := flag.Float64("mix", 0.5, "part of the first path")
	flag.Parse()
	g, err := guard.Start(guard.Config{
		Budgets: budget.Must("no function grows above 3 points per request"), DumpDir: *dir, Every: 3 * time.Second, Window: 3 * time.Second,
		Work: map[string]func() float64{"request": func() float64 { return float64(requests.Load()) }},
	})
	if err != nil {
		log.Fatal(err)
	}
	start, end := time.Now(), time.Now().Add(time.Duration(*seconds)*time.Second)
	a := &http.Request{Method: "GET", URL: &url.URL{Path: one}, RequestURI: one}
	b := &http.Request{Method: "GET", URL: &url.URL{Path: two}, RequestURI: two}
	done, first := 0, 0.0
	for time.Now().Before(end) {
		due := int(time.Since(start).Seconds() * *rate)
		if due <= done {
			time.Sleep(5 * time.Millisecond)
			continue
		}
		if done < due-int(*rate) { // too slow a machine: the rate is what it can do
			done = due - int(*rate)
		}
		for ; done < due && time.Now().Before(end); done++ {
			r := b
			if first += *mix; first >= 1 {
				r, first = a, first-1
			}
			mux.ServeHTTP(&reply{header: http.Header{}}, r)
			requests.Add(1)
		}
	}
	g.Stop()
}
