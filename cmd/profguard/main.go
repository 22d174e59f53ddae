// Command profguard judges profiles, benchmarks and builds of Go programs by budgets.
//
//	profguard check -budget 'no function above 20% cumulative' http://localhost:6060
//	profguard check -b budgets.txt -base before.pprof after.pprof
//	profguard diff before.pprof after.pprof -base-work request=9000 -work request=8000
//	profguard suggest http://localhost:6060 > budgets.txt
//	profguard compare -base origin/main ./...
//	profguard rollout -prometheus http://prometheus:9090 -job shop
//
// "profguard help" lists the commands, and "profguard COMMAND -h" the flags of one.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second interrupt ends the process, which may be reading its input
	status := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(status)
}

// run is the command, with its arguments.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	if len(args) == 0 {
		fmt.Fprint(stderr, usage())
		return exitMisuse
	}
	switch args[0] {
	case "help", "-h", "-help", "--help":
		fmt.Fprint(stdout, usage())
		return exitKept
	case "version", "-version", "--version":
		fmt.Fprintln(stdout, installed())
		return exitKept
	}
	c, found := named(args[0])
	if !found {
		fmt.Fprintf(stderr, "profguard: expected %s, found %q\n\n%s", allNames(), args[0], usage())
		return exitMisuse
	}
	status, err := c.run(ctx, args[1:], streams{stdin, stdout, stderr})
	switch {
	case errors.Is(err, flag.ErrHelp):
		return exitKept
	case err != nil:
		fmt.Fprintf(stderr, "profguard %s: %v\n", args[0], err)
	}
	return status
}

// installed is the version of the command, and the Go release and platform that it was built with.
func installed() string {
	v := "(devel)"
	if b, ok := debug.ReadBuildInfo(); ok && b.Main.Version != "" {
		v = b.Main.Version
	}
	return fmt.Sprintf("profguard %s, %s, %s/%s", v, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

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
