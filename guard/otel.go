package guard

import (
	"context"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/log"
)

// scopeName is the instrumentation scope of the guard's events.
const scopeName = "github.com/profguard/profguard/guard"

// otelSink emits events as OpenTelemetry log records. Without a provider it takes the global
// one at each event, so that the host may set that up after Start.
func otelSink(provider log.LoggerProvider) func(Event) {
	return func(e Event) {
		p := provider
		if p == nil {
			p = otel.GetLoggerProvider()
		}
		p.Logger(scopeName).Emit(context.Background(), record(e))
	}
}

// record converts an event to a log record.
func record(e Event) log.Record {
	var rec log.Record
	rec.SetEventName(string(e.Name))
	rec.SetTimestamp(e.Time)
	rec.SetObservedTimestamp(e.Time)
	rec.SetBody(attribute.StringValue(e.Message))
	severity := log.Severity(e.level()) + log.SeverityInfo // both count in fours, slog from info
	rec.SetSeverity(severity)
	rec.SetSeverityText(severity.String())
	e.attributes("", func(name, _ string, value any) {
		kv := attribute.KeyValue{Key: attribute.Key(name)}
		switch v := value.(type) {
		case string:
			kv.Value = attribute.StringValue(v)
		case float64:
			kv.Value = attribute.Float64Value(v)
		case int64:
			kv.Value = attribute.Int64Value(v)
		case time.Time:
			kv.Value = attribute.StringValue(v.Format(time.RFC3339))
		}
		if name != "" {
			rec.AddAttributes(kv)
		}
	})
	return rec
}
