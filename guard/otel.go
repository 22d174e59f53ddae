package guard

import (
	"context"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/log"

	"github.com/profguard/profguard/budget"
)

// scopeName is the instrumentation scope of the guard's events.
const scopeName = "github.com/profguard/profguard/guard"

// otelSink emits events as OpenTelemetry log records. With no provider given it
// asks for the global one each time, so that the host may set it up after Start.
func otelSink(provider log.LoggerProvider) func(Event) {
	return func(e Event) {
		p := provider
		if p == nil {
			p = otel.GetLoggerProvider()
		}
		p.Logger(scopeName).Emit(context.Background(), record(e))
	}
}

// record says an event in OpenTelemetry's words.
func record(e Event) log.Record {
	var rec log.Record
	rec.SetEventName(e.Name)
	rec.SetTimestamp(e.Time)
	rec.SetObservedTimestamp(e.Time)
	rec.SetBody(attribute.StringValue(e.Message))
	severity := log.Severity(e.level()) + log.SeverityInfo // both count in fours, slog from info
	rec.SetSeverity(severity)
	rec.SetSeverityText(severity.String())
	if e.Dump != "" {
		rec.AddAttributes(attribute.String("profguard.dump.id", e.Dump), attribute.String("profguard.dump.time", e.Dumped.Format(time.RFC3339)))
	}
	if e.Budget == "" {
		return rec
	}
	r := e.Result
	rec.AddAttributes(
		attribute.String("profguard.budget.name", e.Budget),
		attribute.String("profguard.budget.sentence", r.Budget.String()),
		attribute.String("profguard.verdict", r.Verdict.String()),
		attribute.Float64("profguard.value", r.Share),
		attribute.Float64("profguard.low", r.Low),
		attribute.Float64("profguard.high", r.High),
		attribute.String("profguard.limit", limitText(r.Budget)),
		attribute.Int64("profguard.samples", r.Samples),
		attribute.Int64("profguard.hits", r.Hits),
	)
	if e.hasReason() {
		rec.AddAttributes(attribute.String("profguard.reason", r.Reason))
	}
	if len(r.Offenders) == 0 {
		return rec
	}
	o := r.Offenders[0]
	rec.AddAttributes(code("code", o.Frame)...)
	if o.Blame.Function != "" {
		rec.AddAttributes(code("profguard.blame.code", o.Blame)...)
	}
	return rec
}

// code are OpenTelemetry's attributes of a place in the source.
func code(prefix string, f budget.Frame) []attribute.KeyValue {
	list := []attribute.KeyValue{attribute.String(prefix+".function.name", f.Function)}
	if f.File != "" {
		list = append(list, attribute.String(prefix+".file.path", f.File))
	}
	if f.Line > 0 {
		list = append(list, attribute.Int(prefix+".line.number", f.Line))
	}
	return list
}

func limitText(b budget.Budget) string {
	if b.Limit == (budget.Amount{}) {
		return b.Rule
	}
	return b.Limit.String()
}
