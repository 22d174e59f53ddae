package main

import (
	"context"
	"crypto/sha256"
	"fmt"
	"sync/atomic"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// api is the service that customers call. It takes a product from the cache and
// adds what it costs with tax, in every country, and a tag by which customers
// know that they have it already.
type api struct {
	cache client
	debug atomic.Bool
	calls atomic.Int64
}

func (a *api) Get(ctx context.Context, id *wrapperspb.StringValue) (*structpb.Struct, error) {
	a.calls.Add(1)
	product, err := a.cache.Get(ctx, id)
	if err != nil {
		return nil, err
	}
	for _, price := range product.GetFields()["prices"].GetStructValue().GetFields() {
		fields := price.GetStructValue().GetFields()
		if a.debug.Load() {
			fmt.Println(product) // forgotten
		}
		gross := fields["net"].GetNumberValue() * (1 + fields["tax"].GetNumberValue())
		fields["gross"] = structpb.NewNumberValue(gross)
	}
	return product, tag(product)
}

func tag(product *structpb.Struct) error {
	text, err := proto.MarshalOptions{Deterministic: true}.Marshal(product)
	if err != nil {
		return err
	}
	product.Fields["tag"] = structpb.NewStringValue(fmt.Sprintf("%x", sha256.Sum256(text)))
	return nil
}
