package guard

import (
	"context"
	"log/slog"
)

// slogSink writes a line for each event. Without a logger it takes the default logger of
// that moment. dir is DumpDir.
func slogSink(logger *slog.Logger, dir string) func(Event) {
	return func(e Event) {
		l := logger
		if l == nil {
			l = slog.Default()
		}
		attrs := []slog.Attr{slog.String("event", string(e.Name))}
		e.attributes(dir, func(_, name string, value any) {
			if name != "" {
				attrs = append(attrs, slog.Any(name, value))
			}
		})
		l.LogAttrs(context.Background(), e.level(), e.Message, attrs...)
	}
}
