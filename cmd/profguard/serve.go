package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"
)

// serve serves at the address of -listen until the context ends. A profile that an answer waits for may take minutes.
func serve(ctx context.Context, said io.Writer, address, paths string, handler http.Handler) (int, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return exitMisuse, fmt.Errorf("-listen: %w", err)
	}
	fmt.Fprintf(said, "listening on %s: %s\n", listener.Addr(), paths)
	server := &http.Server{
		Handler: handler, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 10 * time.Second, WriteTimeout: 10 * time.Minute,
		IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10,
	}
	stop := context.AfterFunc(ctx, func() {
		ending, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if server.Shutdown(ending) != nil {
			server.Close()
		}
	})
	defer stop()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return exitMisuse, err
	}
	return exitKept, nil
}
