package guard

import (
	"context"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/profguard/profguard/internal/dumps"
	"github.com/profguard/profguard/internal/release"
)

// slogSink writes a line for each event. Without a logger it takes the default logger of
// that moment. dir is DumpDir.
func slogSink(logger *slog.Logger, dir string) func(Event) {
	return func(e Event) {
		attrs := []slog.Attr{slog.String("event", string(e.Name))}
		e.attributes(dir, func(_, name string, value any) {
			if name != "" {
				attrs = append(attrs, slog.Any(name, value))
			}
		})
		loggerOf(logger).LogAttrs(context.Background(), e.level(), e.Message, attrs...)
	}
}

func loggerOf(logger *slog.Logger) *slog.Logger {
	if logger == nil {
		return slog.Default()
	}
	return logger
}

// knownWithin is how long the first line waits until it is known which build this one is compared with. To
// read references takes milliseconds, and much longer only on a disk that hangs.
const knownWithin = 5 * time.Second

// announce logs that the guard has started, and what it works with. It is a line of the log only, and no
// event: nothing has changed.
func (g *Guard) announce(ctx context.Context) {
	if g.keeper != nil {
		select {
		case <-g.keeper.Begin():
		case <-ctx.Done():
		case <-time.After(knownWithin):
		}
	}
	attrs := []slog.Attr{
		slog.String("event", "profguard.guard.started"),   // always `profguard.guard.started`
		slog.Int("budgets", len(g.inForce().entries)),     // the number of budgets
		slog.String("folder", g.folder()),                 // the folder of dumps, or why there is none
		slog.String("compared_with", g.comparedWith(ctx)), // the build that this one is compared with, or why there is none
	}
	g.sinks[0].add(func() { // that of the log
		loggerOf(g.cfg.Logger).LogAttrs(context.Background(), slog.LevelInfo, "profguard has started", attrs...)
	})
}

// folder is where dumps are kept, or why they are not.
func (g *Guard) folder() string {
	if g.cfg.DumpDir == "" {
		return "none: there is no DumpDir"
	}
	if g.dumps.Load() == nil {
		g.mu.Lock()
		defer g.mu.Unlock()
		return "none: " + g.faults.by["dumps"]
	}
	return filepath.Join(g.cfg.DumpDir, dumps.FolderName)
}

// comparedWith is the build that this one is compared with, or why there is none.
func (g *Guard) comparedWith(ctx context.Context) string {
	if g.keeper == nil {
		return "none: there is no DumpDir and no Baseline"
	}
	if before := g.keeper.Before(); before != nil {
		return before.Build.String()
	}
	_, why := g.keeper.Compare(ctx, release.Options{})
	return "none: " + why
}
