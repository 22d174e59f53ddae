package guard

import (
	"context"
	"log/slog"
	"path/filepath"

	"github.com/profguard/profguard/internal/dumps"
)

// slogSink writes a line for each event. With no logger given it takes the
// default one, as it is at that moment. dir is where dumps are.
func slogSink(logger *slog.Logger, dir string) func(Event) {
	return func(e Event) {
		l := logger
		if l == nil {
			l = slog.Default()
		}
		level := slog.LevelInfo
		switch {
		case e.Name == eventFiring, e.Name == eventOffender:
			level = slog.LevelError
		case e.warns():
			level = slog.LevelWarn
		}
		attrs := []slog.Attr{slog.String("event", e.Name)}
		if e.Budget != "" {
			r := e.Result
			attrs = append(attrs,
				slog.String("budget", e.Budget),
				slog.String("sentence", r.Budget.String()))
			if r.Reason != "" {
				attrs = append(attrs, slog.String("reason", r.Reason))
			}
			if accept := accepting(r); accept != "" && e.Name == eventFiring {
				attrs = append(attrs, slog.String("accept", accept))
			}
			if len(r.Offenders) > 0 {
				o := r.Offenders[0]
				attrs = append(attrs, slog.String("offender", o.Function))
				if o.Blame.Function != "" {
					attrs = append(attrs, slog.Group("blame",
						slog.String("function", o.Blame.Function), slog.String("file", o.Blame.File), slog.Int("line", o.Blame.Line)))
				}
			}
		}
		if e.Dump != "" {
			attrs = append(attrs, slog.String("dump", e.Dump), slog.String("dump_dir", filepath.Join(dir, dumps.ID(e.Dump).Folder())))
		}
		l.LogAttrs(context.Background(), level, e.Message, attrs...)
	}
}
