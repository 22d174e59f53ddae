// Command shop is a service without a network: its handlers are called as a server would, at a steady
// rate, while a guard keeps the reference of the build. releases_test.go builds it with changes.
package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"net/http"
	"net/url"
	"sort"
	"strings"
	"sync/atomic"
	"time"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/guard"
)

type item struct {
	Name  string
	Price int
	Count int
	Tags  []string
}

type order struct {
	ID    int
	Items []item
}

var body, catalog = func() ([]byte, []item) {
	var o order
	for i := range 12 {
		o.Items = append(o.Items, item{fmt.Sprintf("item-%03d", i*7), 100 + i, i, []string{"red", "blue", fmt.Sprint("t", i)}})
	}
	b, err := json.Marshal(o)
	if err != nil {
		log.Fatal(err)
	}
	var list []item
	for i := range 120 {
		list = append(list, item{fmt.Sprintf("thing-%03d", (i*37)%120), i, 1, nil})
	}
	return b, list
}()

var requests atomic.Int64

// valid reports whether a name has only allowed letters, and no word that is not allowed.
func valid(name string) bool {
	for _, r := range name {
		if !strings.ContainsRune("abcdefghijklmnopqrstuvwxyz0123456789-", r) {
			return false
		}
	}
	return !strings.Contains(name, "forbidden")
}

func sum(items []item) (total int) {
	for range 40 {
		for i := range items {
			total += items[i].Price*items[i].Count ^ total>>3
		}
	}
	return total
}

func digest(text string) string {
	h := sha256.New()
	for range 4 {
		h.Write([]byte(text))
	}
	return fmt.Sprintf("%x", h.Sum(nil))
}

func checkout(w http.ResponseWriter, r *http.Request) {
	var o order
	if err := json.Unmarshal(body, &o); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	for i := range o.Items {
		if !valid(o.Items[i].Name) {
			http.Error(w, "name", http.StatusBadRequest)
			return
		}
	}
	o.ID = sum(o.Items)
	reply, err := json.Marshal(o)
	if err != nil {
		return
	}
	w.Write(reply)
}

func search(w http.ResponseWriter, r *http.Request) {
	found := make([]item, 0, len(catalog))
	for _, c := range catalog {
		if strings.Contains(c.Name, "thing") {
			found = append(found, c)
		}
	}
	sort.Slice(found, func(i, j int) bool { return found[i].Name < found[j].Name })
	for _, f := range found[:10] {
		if valid(f.Name) {
			fmt.Fprintf(w, "%s %d\n", f.Name, f.Price)
		}
	}
	fmt.Fprintln(w, digest(r.URL.Path))
}

// reply is a response that nobody reads.
type reply struct {
	header http.Header
	body   bytes.Buffer
}

func (r *reply) Header() http.Header         { return r.header }
func (r *reply) WriteHeader(int)             {}
func (r *reply) Write(b []byte) (int, error) { return r.body.Write(b) }

func main() {
	dir := flag.String("dir", "", "DumpDir")
	seconds := flag.Int("seconds", 20, "how long")
	rate := flag.Float64("rate", 5000, "requests a second")
	mix := flag.Float64("mix", 0.5, "part of checkouts")
	flag.Parse()
	mux := http.NewServeMux()
	mux.HandleFunc("/checkout", checkout)
	mux.HandleFunc("/search", search)
	g, err := guard.Start(guard.Config{
		Budgets: budget.Must("no function grows above 3 points per request"), DumpDir: *dir, Every: 3 * time.Second, Window: 3 * time.Second,
		Work: map[string]func() float64{"request": func() float64 { return float64(requests.Load()) }},
	})
	if err != nil {
		log.Fatal(err)
	}
	start, end := time.Now(), time.Now().Add(time.Duration(*seconds)*time.Second)
	a, b := &http.Request{Method: "GET", URL: &url.URL{Path: "/checkout"}, RequestURI: "/checkout"}, &http.Request{Method: "GET", URL: &url.URL{Path: "/search"}, RequestURI: "/search"}
	done, checkouts := 0, 0.0
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
			if checkouts += *mix; checkouts >= 1 {
				r, checkouts = a, checkouts-1
			}
			mux.ServeHTTP(&reply{header: http.Header{}}, r)
			requests.Add(1)
		}
	}
	g.Stop()
}
