// Command rollout is a service that is rolled out: it serves prices to itself all the time, and its
// metrics to Prometheus.
//
//	go build -ldflags "-X main.release=v2 -X main.taxes=2"
//	go build -tags plain    # imports nothing of profguard
package main

import (
	"flag"
	"fmt"
	"log"
	"math"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	_ "net/http/pprof"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// What differs between releases: how often a price is taxed.
var release, taxes = "v1", "1"

var requests = promauto.NewCounter(prometheus.CounterOpts{Name: "requests_total", Help: "Prices that were asked for."})

func main() {
	addr := flag.String("addr", "localhost:0", "where it serves")
	load := flag.Float64("load", 0.04, "how much of a core it uses, about")
	flag.Parse()
	watch()
	times, err := strconv.Atoi(taxes)
	if err != nil {
		log.Fatal(err)
	}
	http.HandleFunc("/price", func(w http.ResponseWriter, r *http.Request) { price(w, times) })
	http.Handle("/metrics", promhttp.Handler())
	go serveItself(*load)
	log.Fatal(http.ListenAndServe(*addr, nil))
}

// serveItself asks for prices. What a request takes on a quiet machine is measured first, so that
// releases that cost more use more.
func serveItself(load float64) {
	const each = 100 * time.Microsecond
	for {
		for range 20 {
			http.DefaultServeMux.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/price", nil))
			requests.Inc()
		}
		time.Sleep(time.Duration(float64(20*each) * (1/load - 1)))
	}
}

//go:noinline
func price(w http.ResponseWriter, times int) {
	sum := lookUp()
	for range times {
		sum += tax()
	}
	fmt.Fprintf(w, "%s: %.3f\n", release, sum)
}

//go:noinline
func lookUp() (sum float64) { return spin(9000) }

//go:noinline
func tax() (sum float64) { return spin(500) }

//go:noinline
func spin(n int) (sum float64) {
	x := rand.Float64()
	for range n {
		x = math.Sqrt(x + 1)
		sum += x
	}
	return sum
}
