package main

import (
	"log/slog"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/panjf2000/ants/v2"

	"github.com/profguard/profguard/internal/integration/programs/refresh"
	"github.com/profguard/profguard/internal/integration/programs/shop"
)

// again calls do for ever, at the rate that is asked for.
func (w work) again(do func()) {
	for {
		do()
		time.Sleep(w.pause(1))
	}
}

// once is what programs do that serve nobody.
func (w work) once() func() {
	catalogue, body := w.catalogue(), shop.Body(w.lines())
	return func() {
		if w.name == "tiny" {
			shop.Inspect(shop.Sample)
			return
		}
		o := shop.Decode(body)
		items := shop.Rank(catalogue.Search(o.Text))
		shop.Inspect(o)
		shop.Encode(o, items)
	}
}

// startSort sorts by a function that is expensive.
func startSort(w work) (string, error) {
	items := w.catalogue()
	if w.name == "tiny" {
		items = items[:5]
	}
	go w.again(func() {
		sorted := slices.Clone(items)
		sort.Slice(sorted, func(i, j int) bool {
			if shop.Plant != "" {
				shop.Inspect(shop.Sample)
			}
			return initials(sorted[i].Text) < initials(sorted[j].Text)
		})
		shop.Served.Add(1)
	})
	return "", nil
}

func initials(text string) string {
	var b strings.Builder
	for _, word := range strings.Fields(strings.ToUpper(text)) {
		b.WriteByte(word[0])
	}
	return b.String()
}

// startRefresh works in a goroutine that a library started.
func startRefresh(w work) (string, error) {
	refresh.Start(w.pause(1), w.once())
	return "", nil
}

// startPool works in goroutines of a pool.
func startPool(w work) (string, error) {
	pool, err := ants.NewPool(2)
	if err != nil {
		return "", err
	}
	once := w.once()
	go w.again(func() {
		if err := pool.Submit(once); err != nil {
			slog.Error("submit", "error", err)
		}
	})
	return "", nil
}
