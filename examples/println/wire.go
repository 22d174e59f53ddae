package main

import (
	"context"
	"fmt"
	"net"
	"runtime/pprof"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// products is what both services offer: a product by its id. The messages are
// protobuf's own well-known ones, so that the example needs no protoc.
type products interface {
	Get(ctx context.Context, id *wrapperspb.StringValue) (*structpb.Struct, error)
}

const getMethod = "/shop.Products/Get"

// description is what protoc-gen-go-grpc would write for products.
var description = grpc.ServiceDesc{
	ServiceName: "shop.Products",
	HandlerType: (*products)(nil),
	Methods:     []grpc.MethodDesc{{MethodName: "Get", Handler: handleGet}},
}

func handleGet(server any, ctx context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
	id := new(wrapperspb.StringValue)
	if err := decode(id); err != nil {
		return nil, err
	}
	return server.(products).Get(ctx, id)
}

// A client calls a server of products.
type client struct{ conn *grpc.ClientConn }

func dial(addr string) (client, error) {
	conn, err := grpc.NewClient(addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return client{}, fmt.Errorf("dial %s: %w", addr, err)
	}
	return client{conn}, nil
}

func (c client) Get(ctx context.Context, id *wrapperspb.StringValue) (*structpb.Struct, error) {
	product := new(structpb.Struct)
	if err := c.conn.Invoke(ctx, getMethod, id, product); err != nil {
		return nil, err
	}
	return product, nil
}

func (c client) close() { _ = c.conn.Close() } // it can only have been closed before

// serve answers on loopback until stop is called. All that the server does carries
// the label service=name, for budgets "where service=api": goroutines inherit the
// labels of whoever starts them, gRPC's included.
func serve(name string, p products) (addr string, stop func(), err error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, fmt.Errorf("serve %s: %w", name, err)
	}
	server := grpc.NewServer(grpc.WaitForHandlers(true)) // Stop leaves nothing behind
	server.RegisterService(&description, p)
	var ended sync.WaitGroup
	ended.Go(func() {
		pprof.Do(context.Background(), pprof.Labels("service", name), func(context.Context) {
			_ = server.Serve(listener) // until Stop
		})
	})
	return listener.Addr().String(), func() { server.Stop(); ended.Wait() }, nil
}
