// Package shop is the work of the programs: an order is read, a catalogue searched,
// and what was found sorted and written. Into each request a fault can be planted.
package shop

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"regexp"
	"sort"
	"strings"
	"sync/atomic"
)

// Plant is the fault in Inspect: "", "regexp", "sprintf" or "fprintf". "message" is gRPC's own.
var Plant string

// Served is how many requests there were.
var Served atomic.Int64

// An Order is what a client sends.
type Order struct {
	ID    string            `json:"id"`
	Text  string            `json:"text"`
	Lines []Line            `json:"lines"`
	Tags  map[string]string `json:"tags"`
}

// A Line is an article of an order.
type Line struct {
	SKU      string  `json:"sku"`
	Quantity int     `json:"quantity"`
	Price    float64 `json:"price"`
}

// An Item stands in the catalogue.
type Item struct {
	Name  string  `json:"name"`
	Text  string  `json:"text"`
	Price float64 `json:"price"`
	Score int     `json:"score"`
}

// Body returns an order with so many lines, as a client sends it.
func Body(lines int) []byte {
	o := Order{ID: "o-1", Text: "copper kettle with a stool of oak", Tags: map[string]string{"region": "eu", "channel": "web"}}
	for i := range lines {
		o.Lines = append(o.Lines, Line{SKU: fmt.Sprintf("sku-%d", i), Quantity: i, Price: 1.25})
	}
	body, err := json.Marshal(o)
	if err != nil {
		panic(err)
	}
	return body
}

// Sample is what a request without a body stands for.
var Sample = func() (o Order) {
	if err := json.Unmarshal(Body(4), &o); err != nil {
		panic(err)
	}
	return o
}()

// Decode reads an order. One that is wrong is empty, which the answer shows.
func Decode(body []byte) (o Order) {
	if err := json.Unmarshal(body, &o); err != nil {
		return Order{}
	}
	return o
}

// A Catalogue is what is searched.
type Catalogue []Item

// NewCatalogue returns a catalogue of so many items.
func NewCatalogue(items int) Catalogue {
	words := strings.Fields("brass copper enamel glass granite kettle ladle lamp linen oak pan pewter rack stool tray")
	c := make(Catalogue, items)
	for i := range c {
		var text []string
		for k := range 9 {
			text = append(text, words[(i*7+k*k*3+i/len(words))%len(words)])
		}
		c[i] = Item{Name: fmt.Sprintf("item-%d", i), Text: strings.Join(text, " "), Price: float64(i * 37 % 101)}
	}
	return c
}

// Short is what a slower search takes as long for: a few items, and a part of the rest.
func (c Catalogue) Short() Catalogue { return c[:min(len(c), 10+len(c)/25)] }

// Search returns the items that have words of the text near their beginning.
func (c Catalogue) Search(text string) []Item {
	words := strings.Fields(text)
	var found []Item
	for _, item := range c {
		for _, word := range words {
			if at := strings.Index(item.Text, word); at >= 0 {
				item.Score += 100 - at
			}
		}
		if item.Score > 250 {
			found = append(found, item)
		}
	}
	return found
}

// Rank sorts the best items to the front and returns ten.
func Rank(items []Item) []Item {
	sort.Slice(items, func(i, j int) bool {
		if items[i].Score != items[j].Score {
			return items[i].Score > items[j].Score
		}
		return items[i].Price < items[j].Price
	})
	return items[:min(10, len(items))]
}

// Encode writes an answer.
func Encode(o Order, items []Item) []byte {
	answer, err := json.Marshal(map[string]any{"id": o.ID, "items": items})
	if err != nil {
		panic(err)
	}
	return answer
}

var debug io.Writer = func() io.Writer {
	f, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		panic(err)
	}
	return f
}()

// length keeps what a plant makes.
var length atomic.Int64

// Inspect counts a request, and makes the planted mistake.
func Inspect(o Order) {
	Served.Add(1)
	switch Plant {
	case "regexp":
		for _, field := range []string{o.ID, o.Text, o.Tags["region"]} {
			address := regexp.MustCompile(`^[a-z0-9._%+-]{1,32}@([a-z0-9-]{1,32}\.){1,4}[a-z]{2,16}$`)
			if address.MatchString(field) {
				length.Add(1)
			}
		}
	case "sprintf":
		for range 16 {
			length.Add(int64(len(fmt.Sprintf("request %+v", o))))
		}
	case "fprintf":
		for range 16 {
			fmt.Fprintf(debug, "request %+v\n", o)
		}
	}
}

// Dump prints a message that has a String method, where that is the mistake. fmt calls
// the method, and a protobuf message's walks through the fields by functions that call
// each other through interfaces.
func Dump(message any) {
	if Plant != "message" {
		return
	}
	for range 16 {
		length.Add(int64(len(fmt.Sprintf("%v", message))))
	}
}
