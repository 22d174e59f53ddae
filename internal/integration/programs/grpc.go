package main

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	testgrpc "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/profguard/profguard/internal/integration/programs/shop"
)

// grpcServer answers the calls of gRPC's own test service.
type grpcServer struct {
	testgrpc.UnimplementedTestServiceServer
	catalogue shop.Catalogue
}

func (s *grpcServer) UnaryCall(_ context.Context, r *testgrpc.SimpleRequest) (*testgrpc.SimpleResponse, error) {
	o := shop.Decode(r.GetPayload().GetBody())
	items := shop.Rank(s.catalogue.Search(o.Text))
	shop.Inspect(o)
	return &testgrpc.SimpleResponse{Payload: &testgrpc.Payload{Body: shop.Encode(o, items)}}, nil
}

func (s *grpcServer) EmptyCall(context.Context, *testgrpc.Empty) (*testgrpc.Empty, error) {
	shop.Inspect(shop.Sample)
	return &testgrpc.Empty{}, nil
}

func startGRPC(w work) (string, error) {
	s := grpc.NewServer(grpc.ChainUnaryInterceptor(intercept, interceptTime, interceptUser))
	testgrpc.RegisterTestServiceServer(s, &grpcServer{catalogue: w.catalogue()})
	return inBackground(s.Serve)
}

func intercept(ctx context.Context, r any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (answer any, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = status.Error(codes.Internal, fmt.Sprint(p))
		}
	}()
	return next(ctx, r)
}

func interceptTime(ctx context.Context, r any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	start := time.Now()
	answer, err := next(ctx, r)
	slog.Debug("call", "method", info.FullMethod, "took", time.Since(start))
	return answer, err
}

func interceptUser(ctx context.Context, r any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	if md, ok := metadata.FromIncomingContext(ctx); !ok || len(md["user"]) > 1 {
		return nil, status.Error(codes.Unauthenticated, "two users")
	}
	shop.Dump(r)
	return next(ctx, r)
}
