package integration

import (
	"context"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/receiver/otlpreceiver"
	"go.opentelemetry.io/collector/receiver/receivertest"
	"go.opentelemetry.io/otel/exporters/otlp/otlplog/otlploggrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlplog/otlploghttp"
	"go.opentelemetry.io/otel/log"
	"go.opentelemetry.io/otel/log/embedded"
	"go.opentelemetry.io/otel/log/logtest"
	sdklog "go.opentelemetry.io/otel/sdk/log"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/guard"
	"github.com/profguard/profguard/internal/waiting"
)

// TestEventsArrive sends the guard's events to the API's recorder, and through
// the SDK's exporters to a real receiver by gRPC and to another by HTTP: all see
// the same events, one for each transition.
func TestEventsArrive(t *testing.T) {
	byGRPC, grpcAddr := receiver(t, "grpc")
	byHTTP, httpAddr := receiver(t, "http")
	grpcExporter, err := otlploggrpc.New(t.Context(), otlploggrpc.WithEndpoint(grpcAddr), otlploggrpc.WithInsecure())
	if err != nil {
		t.Fatal(err)
	}
	httpExporter, err := otlploghttp.New(t.Context(), otlploghttp.WithEndpoint(httpAddr), otlploghttp.WithInsecure())
	if err != nil {
		t.Fatal(err)
	}
	sdk := sdklog.NewLoggerProvider(
		sdklog.WithProcessor(sdklog.NewBatchProcessor(grpcExporter, sdklog.WithExportInterval(100*time.Millisecond))),
		sdklog.WithProcessor(sdklog.NewBatchProcessor(httpExporter, sdklog.WithExportInterval(100*time.Millisecond))))
	t.Cleanup(func() { sdk.Shutdown(context.Background()) })
	recorder := logtest.NewRecorder()

	stopBurning := during(t, burn)
	g := start(t, guard.Config{
		LoggerProvider: tee{providers: []log.LoggerProvider{sdk, recorder}},
		Budgets: budget.Must(
			"hot: integration.burn absent",
			"crowd: goroutines below 1000",
			"ineffective: integration.nobody below 5%",
		),
	})
	waiting.Until(t, "hot to fire", func() bool { return state(g, "hot") == "firing" })
	stopBurning()
	leave := crowd(2000)
	waiting.Until(t, "crowd to fire", func() bool { return state(g, "crowd") == "firing" })
	leave()
	waiting.Until(t, "crowd to be resolved", func() bool { return state(g, "crowd") == "ok" })

	want := map[string]int{
		"profguard.budget.ineffective ineffective": 1,
		"profguard.budget.firing hot":              1,
		"profguard.budget.firing crowd":            1,
		"profguard.budget.resolved crowd":          1,
	}
	for name, events := range map[string]func() []event{
		"logtest": func() []event { return recorded(recorder) },
		"gRPC":    func() []event { return received(byGRPC) },
		"HTTP":    func() []event { return received(byHTTP) },
	} {
		waiting.Until(t, "all events by "+name, func() bool { return len(mine(events())) >= len(want) })
		counts := map[string]int{}
		for _, e := range mine(events()) {
			counts[e.name+" "+e.attributes["profguard.budget.name"]]++
			e.check(t, name)
		}
		for event, n := range want {
			if counts[event] != n {
				t.Errorf("%s: %d of %s, want %d; all: %v", name, counts[event], event, n, counts)
			}
		}
	}
}

// event is what both sides of the wire know of one.
type event struct {
	name       string
	severity   int // OpenTelemetry's number
	text       string
	body       string
	attributes map[string]string
}

// mine leaves out events about windows: on a busy machine some are lost.
func mine(events []event) []event {
	var list []event
	for _, e := range events {
		if strings.HasPrefix(e.name, "profguard.budget.") {
			list = append(list, e)
		}
	}
	return list
}

func (e event) check(t *testing.T, way string) {
	t.Helper()
	severity := map[string]int{
		"profguard.budget.firing":      int(log.SeverityError),
		"profguard.budget.ineffective": int(log.SeverityWarn),
		"profguard.budget.resolved":    int(log.SeverityInfo),
	}[e.name]
	if e.severity != severity || e.text == "" || e.body == "" {
		t.Errorf("%s: %s has severity %d %q and body %q, want severity %d", way, e.name, e.severity, e.text, e.body, severity)
	}
	if e.attributes["profguard.budget.sentence"] == "" {
		t.Errorf("%s: %s without its sentence: %v", way, e.name, e.attributes)
	}
	if e.name != "profguard.budget.firing" || e.attributes["profguard.budget.name"] != "hot" {
		return
	}
	if got := e.attributes["code.function.name"]; !strings.HasSuffix(got, "integration.burn") {
		t.Errorf("%s: code.function.name is %q, want burn", way, got)
	}
	if got := e.attributes["code.file.path"]; !strings.HasSuffix(got, "world_test.go") {
		t.Errorf("%s: code.file.path is %q, want that of burn", way, got)
	}
	if got := e.attributes["code.line.number"]; got == "" || got == "0" {
		t.Errorf("%s: code.line.number is %q", way, got)
	}
}

func recorded(r *logtest.Recorder) []event {
	var list []event
	for _, records := range r.Result() {
		for _, rec := range records {
			e := event{name: rec.EventName, severity: int(rec.Severity), text: rec.SeverityText, body: rec.Body.AsString(), attributes: map[string]string{}}
			for _, a := range rec.Attributes {
				e.attributes[string(a.Key)] = a.Value.String()
			}
			list = append(list, e)
		}
	}
	return list
}

func received(sink *consumertest.LogsSink) []event {
	var list []event
	for _, logs := range sink.AllLogs() {
		for _, resource := range logs.ResourceLogs().All() {
			for _, scope := range resource.ScopeLogs().All() {
				for _, rec := range scope.LogRecords().All() {
					list = append(list, ofRecord(rec))
				}
			}
		}
	}
	return list
}

func ofRecord(rec plog.LogRecord) event {
	e := event{name: rec.EventName(), severity: int(rec.SeverityNumber()), text: rec.SeverityText(), body: rec.Body().AsString(), attributes: map[string]string{}}
	for key, value := range rec.Attributes().All() {
		e.attributes[key] = value.AsString()
	}
	return e
}

// receiver starts the Collector's OTLP receiver for one protocol.
func receiver(t *testing.T, protocol string) (sink *consumertest.LogsSink, addr string) {
	t.Helper()
	addr = freeAddr(t)
	factory := otlpreceiver.NewFactory()
	cfg := factory.CreateDefaultConfig().(*otlpreceiver.Config)
	switch protocol {
	case "grpc":
		cfg.Protocols.GRPC.GetOrInsertDefault().NetAddr.Endpoint = addr
	case "http":
		cfg.Protocols.HTTP.GetOrInsertDefault().ServerConfig.NetAddr.Endpoint = addr
	}
	sink = new(consumertest.LogsSink)
	r, err := factory.CreateLogs(t.Context(), receivertest.NewNopSettings(factory.Type()), cfg, sink)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Start(context.Background(), componenttest.NewNopHost()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return sink, addr
}

// freeAddr returns an address that nobody listens on at the moment.
func freeAddr(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// crowd starts goroutines that wait until leave is called.
func crowd(n int) (leave func()) {
	gate := make(chan struct{})
	var waiting sync.WaitGroup
	for range n {
		waiting.Go(func() { <-gate })
	}
	return func() {
		close(gate)
		waiting.Wait()
	}
}

// tee is a provider that hands everything to several.
type tee struct {
	embedded.LoggerProvider
	providers []log.LoggerProvider
}

func (t tee) Logger(name string, options ...log.LoggerOption) log.Logger {
	var all teeLogger
	for _, p := range t.providers {
		all.loggers = append(all.loggers, p.Logger(name, options...))
	}
	return all
}

type teeLogger struct {
	embedded.Logger
	loggers []log.Logger
}

func (t teeLogger) Enabled(context.Context, log.EnabledParameters) bool { return true }

func (t teeLogger) Emit(ctx context.Context, rec log.Record) {
	for _, l := range t.loggers {
		l.Emit(ctx, rec)
	}
}

// TestFault_30_ExporterHangs: an exporter behind the SDK's synchronous processor
// never returns. The windows go on, what does not fit the queue is dropped and
// counted, and Stop does not wait. There is room for the events of these budgets: those
// that follow when they are replaced again and again are too many.
func TestFault_30_ExporterHangs(t *testing.T) {
	hang := &exporter{entered: make(chan struct{}), release: make(chan struct{})}
	defer close(hang.release)
	g := start(t, guard.Config{LoggerProvider: simple(hang), Budgets: manyBroken("b")})
	<-hang.entered
	replaced := 0
	waiting.Until(t, "events to be dropped", func() bool {
		s := g.Status()
		if s.Budgets[0].State == guard.StateFiring {
			replaced++
			if err := g.SetBudgets(manyBroken(fmt.Sprintf("again%d-", replaced))); err != nil {
				t.Fatal(err)
			}
		}
		return s.Dropped["otel"] > 0
	})
	before := good(g)
	waiting.Until(t, "windows to go on", func() bool { return good(g) > before })
	begin := time.Now()
	g.Stop()
	// Stop promises 250 ms; a starved machine may need longer to wake up.
	if took := time.Since(begin); took > 2*time.Second {
		t.Errorf("Stop took %v", took)
	}
}

// TestFault_31_ExporterPanics: three panics, and the sink is off.
func TestFault_31_ExporterPanics(t *testing.T) {
	bad := &exporter{panics: true}
	g := start(t, guard.Config{LoggerProvider: simple(bad), Budgets: manyBroken("b")})
	waiting.Until(t, "the events to be dropped", func() bool { return g.Status().Dropped["otel"] >= 100 })
	if n := g.Status().Panics["otel"]; n != 3 {
		t.Errorf("%d panics counted, want 3: then the sink is off", n)
	}
	before := good(g)
	waiting.Until(t, "windows to go on", func() bool { return good(g) > before })
}

func good(g *guard.Guard) int { return g.Status().Windows["ok"] }

// manyBroken are budgets that all fire in the first window: a quarter of the events that
// have room in a queue.
func manyBroken(name string) budget.Set {
	var lines []string
	for i := range 500 {
		lines = append(lines, fmt.Sprintf("%s%d: goroutines below 1", name, i))
	}
	return budget.Must(append(lines, "cpu: integration.burn below 99%")...)
}

func simple(e sdklog.Exporter) log.LoggerProvider {
	return sdklog.NewLoggerProvider(sdklog.WithProcessor(sdklog.NewSimpleProcessor(e)))
}

// exporter misbehaves.
type exporter struct {
	panics  bool
	once    sync.Once
	entered chan struct{}
	release chan struct{}
}

func (e *exporter) Export(context.Context, []sdklog.Record) error {
	if e.panics {
		panic("exporter: planted")
	}
	e.once.Do(func() { close(e.entered) })
	<-e.release
	return nil
}

func (e *exporter) Shutdown(context.Context) error   { return nil }
func (e *exporter) ForceFlush(context.Context) error { return nil }
