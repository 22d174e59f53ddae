// Command shop takes orders and searches its catalog. releases_test.go builds it with changes.
package main

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"sort"
	"strings"

	"github.com/profguard/profguard/internal/integration/releases/load"
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

func main() {
	mux := http.NewServeMux()
	mux.HandleFunc("/checkout", checkout)
	mux.HandleFunc("/search", search)
	load.Run("/checkout", "/search", mux)
}
