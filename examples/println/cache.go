package main

import (
	"context"
	"fmt"
	"sync/atomic"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// catalogue is how many products there are.
const catalogue = 100

// cache is the service that holds the products.
type cache struct {
	products map[string]*structpb.Struct
	lookups  atomic.Int64
}

func newCache() (*cache, error) {
	c := &cache{products: map[string]*structpb.Struct{}}
	for i := range catalogue {
		id := productID(i)
		product, err := newProduct(id)
		if err != nil {
			return nil, fmt.Errorf("fill the cache: %w", err)
		}
		c.products[id] = product
	}
	return c, nil
}

func (c *cache) Get(_ context.Context, id *wrapperspb.StringValue) (*structpb.Struct, error) {
	c.lookups.Add(1)
	product, ok := c.products[id.GetValue()]
	if !ok {
		return nil, status.Errorf(codes.NotFound, "product %q: the catalogue has %s to %s", id.GetValue(), productID(0), productID(catalogue-1))
	}
	return product, nil
}

func productID(i int) string { return fmt.Sprintf("product-%02d", i) }

// newProduct makes a product of the size that they have: some text, and a price
// for each country.
func newProduct(id string) (*structpb.Struct, error) {
	prices := map[string]any{}
	for country, tax := range map[string]float64{
		"at": 0.2, "be": 0.21, "bg": 0.2, "cy": 0.19, "cz": 0.21, "de": 0.19, "dk": 0.25,
		"ee": 0.24, "es": 0.21, "fi": 0.255, "fr": 0.2, "gr": 0.24, "hr": 0.25, "hu": 0.27,
		"ie": 0.23, "it": 0.22, "lt": 0.21, "lu": 0.17, "lv": 0.21, "mt": 0.18, "nl": 0.21,
		"pl": 0.23, "pt": 0.23, "ro": 0.21, "se": 0.25, "si": 0.22, "sk": 0.23,
	} {
		prices[country] = map[string]any{"net": 19.99, "tax": tax}
	}
	return structpb.NewStruct(map[string]any{
		"id":     id,
		"name":   "a lamp that looks like a gopher",
		"text":   "It shines \"warmly\" on whatever you do.",
		"prices": prices,
	})
}
