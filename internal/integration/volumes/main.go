// Volumes is a service of a pod: it has a DumpDir and an exporter, as docs/service.md says, and breaks its
// budget. It writes its log to standard output, and when standard input ends, the guard's status and its
// metrics of the dumps.
package main

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/guard"
)

// counted is a store of profiles, which counts them.
type counted struct{ profiles atomic.Int64 }

func (c *counted) Export(context.Context, guard.Profile) error {
	c.profiles.Add(1)
	return nil
}

func main() {
	var store counted
	registry := prometheus.NewRegistry()
	g, err := guard.Start(guard.Config{
		Budgets: budget.Must("hot: main.burn absent"), Every: time.Second, Window: time.Second,
		DumpDir: os.Args[1], DumpLimits: guard.DumpLimits{Every: time.Second}, Export: guard.Export{To: &store}, Registerer: registry,
		Logger: slog.New(slog.NewTextHandler(os.Stdout, nil)),
	})
	if err != nil {
		fmt.Println("not started:", err)
		os.Exit(1)
	}
	ended := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		close(ended)
	}()
	for data := make([]byte, 1<<20); ; burn(data) {
		select {
		case <-ended:
			ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
			err := g.Flush(ctx)
			cancel()
			s := g.Status()
			fmt.Printf("\nstate %s, reason %q, saved %d, exported %d, flush %v\n", s.State, s.Reason, s.Dumps["saved"], store.profiles.Load(), err)
			families, _ := registry.Gather()
			for _, f := range families {
				if strings.HasPrefix(f.GetName(), "profguard_dump_dir_") {
					fmt.Println(f.GetName(), f.Metric[0].GetGauge().GetValue()+f.Metric[0].GetCounter().GetValue())
				}
			}
			g.Stop()
			return
		case <-time.After(time.Millisecond): // half a core
		}
	}
}

//go:noinline
func burn(data []byte) { sha256.Sum256(data) }
