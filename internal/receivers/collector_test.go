package receivers

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"runtime/pprof"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/pprof/profile"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/confmap/provider/yamlprovider"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/consumer/xconsumer"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/exporter/xexporter"
	"go.opentelemetry.io/collector/featuregate"
	"go.opentelemetry.io/collector/otelcol"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/receiver/otlpreceiver"
	"go.opentelemetry.io/collector/receiver/receivertest"
	"go.opentelemetry.io/collector/receiver/xreceiver"
	"go.opentelemetry.io/collector/service/telemetry/otelconftelemetry"

	"github.com/profguard/profguard/export/otlp"
	"github.com/profguard/profguard/guard"
	"github.com/profguard/profguard/internal/waiting"
)

// A sink keeps the profiles that a pipeline delivers.
type sink struct {
	mu   sync.Mutex
	got  []pprofile.Profiles
	fail error
}

func (s *sink) consume(_ context.Context, p pprofile.Profiles) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fail != nil {
		return s.fail
	}
	to := pprofile.NewProfiles()
	p.CopyTo(to)
	s.got = append(s.got, to)
	return nil
}

func (s *sink) received() []pprofile.Profiles {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.got)
}

func (s *sink) failing(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fail = err
}

// freePort is an address on which nothing listens.
func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// listening starts the collector's own receiver on an address.
func listening(t *testing.T, addr string, s *sink) (stop func()) {
	t.Helper()
	next, err := xconsumer.NewProfiles(s.consume)
	if err != nil {
		t.Fatal(err)
	}
	factory := otlpreceiver.NewFactory().(xreceiver.Factory)
	cfg := factory.CreateDefaultConfig()
	conf := confmap.NewFromStringMap(map[string]any{"protocols": map[string]any{"http": map[string]any{"endpoint": addr}}})
	if err := conf.Unmarshal(cfg); err != nil {
		t.Fatal(err)
	}
	r, err := factory.CreateProfiles(context.Background(), receivertest.NewNopSettings(factory.Type()), cfg, next)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Start(context.Background(), componenttest.NewNopHost()); err != nil {
		t.Fatal(err)
	}
	return sync.OnceFunc(func() { r.Shutdown(context.Background()) })
}

// taken are profiles of this process, as a guard exports them.
func taken(t *testing.T) map[string]guard.Profile {
	t.Helper()
	var cpu bytes.Buffer
	start := time.Now()
	if err := pprof.StartCPUProfile(&cpu); err != nil {
		t.Fatal(err)
	}
	for _, endpoint := range []string{"/a", "/b"} {
		pprof.Do(context.Background(), pprof.Labels("endpoint", endpoint), func(context.Context) { burn(300 * time.Millisecond) })
	}
	pprof.StopCPUProfile()
	all := map[string]guard.Profile{}
	add := func(kind string, data []byte) {
		all[kind] = guard.Profile{
			ID: "profguard-1." + kind, Kind: kind, Data: data, Start: start, End: time.Now(), Budget: "hot",
			Attributes: map[string]string{"service.name": "shop", "service.version": "v1.2.3", "vcs.revision": "abc", "profguard.verdict": "fail"},
		}
	}
	add("cpu", cpu.Bytes())
	for _, kind := range []string{"heap", "goroutine", "block", "mutex"} {
		var b bytes.Buffer
		if err := pprof.Lookup(kind).WriteTo(&b, 0); err != nil {
			t.Fatal(err)
		}
		add(kind, b.Bytes())
	}
	return all
}

func burn(d time.Duration) {
	for end := time.Now().Add(d); time.Now().Before(end); {
		for range 1000 {
			_ = strings.Repeat("x", 10)
		}
	}
}

// A meaning is all that a profile says: the values of each stack with its labels, by type.
type meaning map[string]map[string]int64

func (m meaning) add(valueType, sample string, v int64) {
	if m[valueType] == nil {
		m[valueType] = map[string]int64{}
	}
	if v != 0 {
		m[valueType][sample] += v
	}
}

func ofPprof(t *testing.T, data []byte) meaning {
	t.Helper()
	p, err := profile.ParseData(data)
	if err != nil {
		t.Fatal(err)
	}
	m := meaning{}
	for _, s := range p.Sample {
		var b strings.Builder
		for _, l := range s.Location {
			file := ""
			if l.Mapping != nil {
				file = l.Mapping.File
			}
			fmt.Fprintf(&b, "%x %s", l.Address, file)
			for _, line := range l.Line {
				fmt.Fprintf(&b, " %s %s %s %d:%d", line.Function.Name, line.Function.SystemName, line.Function.Filename, line.Line, line.Function.StartLine)
			}
			b.WriteByte(';')
		}
		var labels []string
		for k, v := range s.Label {
			labels = append(labels, fmt.Sprint(k, "=", v[0]))
		}
		for k, v := range s.NumLabel {
			labels = append(labels, fmt.Sprint(k, "=", v[0]))
		}
		slices.Sort(labels)
		for i, v := range s.Value {
			m.add(p.SampleType[i].Type+"/"+p.SampleType[i].Unit, b.String()+fmt.Sprint(labels), v)
		}
	}
	m.add("header", fmt.Sprint("of ", p.PeriodType), p.Period)
	m.add("header", "time", p.TimeNanos)
	m.add("header", "duration", p.DurationNanos)
	return m
}

func ofOTLP(t *testing.T, p pprofile.Profiles) meaning {
	t.Helper()
	m, d := meaning{}, p.Dictionary()
	text := func(i int32) string { return d.StringTable().At(int(i)) }
	attributes := func(indices pcommon.Int32Slice) (all []string) {
		for _, i := range indices.All() {
			a := d.AttributeTable().At(int(i))
			all = append(all, text(a.KeyStrindex())+"="+a.Value().AsString())
		}
		slices.Sort(all)
		return all
	}
	profiles := p.ResourceProfiles().At(0).ScopeProfiles().At(0).Profiles()
	for _, p := range profiles.All() {
		valueType := text(p.SampleType().TypeStrindex()) + "/" + text(p.SampleType().UnitStrindex())
		m.add(valueType, "", 0)
		for _, s := range p.Samples().All() {
			var b strings.Builder
			for _, i := range d.StackTable().At(int(s.StackIndex())).LocationIndices().All() {
				l := d.LocationTable().At(int(i))
				fmt.Fprintf(&b, "%x %s", l.Address(), text(d.MappingTable().At(int(l.MappingIndex())).FilenameStrindex()))
				for _, line := range l.Lines().All() {
					f := d.FunctionTable().At(int(line.FunctionIndex()))
					fmt.Fprintf(&b, " %s %s %s %d:%d", text(f.NameStrindex()), text(f.SystemNameStrindex()), text(f.FilenameStrindex()), line.Line(), f.StartLine())
				}
				b.WriteByte(';')
			}
			m.add(valueType, b.String()+fmt.Sprint(attributes(s.AttributeIndices())), s.Values().At(0))
		}
		m["header"] = nil // each of them says the same
		period := profile.ValueType{Type: text(p.PeriodType().TypeStrindex()), Unit: text(p.PeriodType().UnitStrindex())}
		m.add("header", fmt.Sprint("of ", &period), p.Period())
		m.add("header", "time", int64(p.Time()))
		m.add("header", "duration", int64(p.DurationNano()))
	}
	return m
}

func same(a, b meaning) string {
	var diffs []string
	for _, t := range slices.Sorted(maps.Keys(a)) {
		for s, v := range a[t] {
			if b[t][s] != v {
				diffs = append(diffs, fmt.Sprintf("%s of %.300s: %d, found %d", t, s, v, b[t][s]))
			}
		}
		if len(a[t]) != len(b[t]) {
			diffs = append(diffs, fmt.Sprintf("%s: %d samples, found %d", t, len(a[t]), len(b[t])))
		}
	}
	if len(a) != len(b) {
		diffs = append(diffs, fmt.Sprintf("types %v, found %v", slices.Sorted(maps.Keys(a)), slices.Sorted(maps.Keys(b))))
	}
	return strings.Join(diffs[:min(5, len(diffs))], "\n")
}

// What the collector's own receiver reads is what was sent, sample by sample.
func TestRoundTrip(t *testing.T) {
	s, addr := new(sink), freePort(t)
	defer listening(t, addr, s)()
	e := &otlp.Exporter{Endpoint: "http://" + addr}
	for kind, p := range taken(t) {
		if err := e.Export(t.Context(), p); err != nil {
			t.Fatal(err)
		}
		got := s.received()
		want := ofPprof(t, p.Data)
		samples := 0
		for _, of := range want {
			samples += len(of)
		}
		if samples == len(want["header"]) {
			continue // the receiver passes nothing on that has no samples
		}
		arrived := got[len(got)-1]
		found := ofOTLP(t, arrived)
		if kind == "goroutine" || kind == "heap" || kind == "block" || kind == "mutex" {
			want["header"], found["header"] = nil, nil // these have no duration in pprof, and get their window's
		}
		if diff := same(want, found); diff != "" {
			t.Errorf("%s: %s", kind, diff)
		}
		attributes := arrived.ResourceProfiles().At(0).Resource().Attributes().AsRaw()
		if !maps.Equal(attributes, map[string]any{"service.name": "shop", "service.version": "v1.2.3", "vcs.revision": "abc"}) {
			t.Errorf("resource %v", attributes)
		}
	}
	if len(s.received()) < 3 {
		t.Errorf("%d profiles arrived", len(s.received()))
	}
	// The comparison finds a sample that differs by one.
	p := taken(t)["cpu"]
	want := ofPprof(t, p.Data)
	for sample := range want["cpu/nanoseconds"] {
		want["cpu/nanoseconds"][sample]++
		break
	}
	if same(ofPprof(t, p.Data), want) == "" {
		t.Error("a planted difference is not found")
	}
}

// A pipeline that fails answers as a collector does, and the exporter tells apart what is worth
// another attempt.
func TestReceiverFails(t *testing.T) {
	s, addr := new(sink), freePort(t)
	e, p := &otlp.Exporter{Endpoint: "http://" + addr}, taken(t)["cpu"]
	if err := e.Export(t.Context(), p); err == nil || errors.Is(err, guard.ErrPermanent) {
		t.Errorf("nobody listens: %v", err)
	}
	stop := listening(t, addr, s)
	defer stop()
	s.failing(errors.New("the next one is away"))
	if err := e.Export(t.Context(), p); err == nil || errors.Is(err, guard.ErrPermanent) || !strings.Contains(err.Error(), "503") {
		t.Errorf("the pipeline fails: %v", err)
	}
	s.failing(nil)
	if err := e.Export(t.Context(), p); err != nil || len(s.received()) != 1 {
		t.Errorf("it works again: %v", err)
	}
	p.Data = []byte("no profile")
	if err := e.Export(t.Context(), p); !errors.Is(err, guard.ErrPermanent) {
		t.Errorf("no profile: %v", err)
	}
}

// A whole collector, configured by text and with its gate, takes what is sent.
func TestCollector(t *testing.T) {
	if err := featuregate.GlobalRegistry().Set("service.profilesSupport", true); err != nil {
		t.Fatal(err)
	}
	s, addr := new(sink), freePort(t)
	keeps := component.MustNewType("keeps")
	factories := func() (f otelcol.Factories, err error) {
		f.Telemetry = otelconftelemetry.NewFactory()
		if f.Receivers, err = otelcol.MakeFactoryMap[receiver.Factory](otlpreceiver.NewFactory()); err != nil {
			return f, err
		}
		f.Exporters, err = otelcol.MakeFactoryMap[exporter.Factory](xexporter.NewFactory(keeps, func() component.Config { return &struct{}{} },
			xexporter.WithProfiles(func(context.Context, exporter.Settings, component.Config) (xexporter.Profiles, error) {
				next, err := xconsumer.NewProfiles(s.consume, consumer.WithCapabilities(consumer.Capabilities{}))
				return struct {
					component.Component
					xconsumer.Profiles
				}{nothing{}, next}, err
			}, component.StabilityLevelDevelopment)))
		return f, err
	}
	text := fmt.Sprintf(`yaml:
receivers: {otlp: {protocols: {http: {endpoint: %q}}}}
exporters: {keeps: {}}
service:
  telemetry: {metrics: {level: none}, logs: {level: error}}
  pipelines: {profiles: {receivers: [otlp], exporters: [keeps]}}
`, addr)
	c, err := otelcol.NewCollector(otelcol.CollectorSettings{
		Factories: factories, DisableGracefulShutdown: true,
		ConfigProviderSettings: otelcol.ConfigProviderSettings{ResolverSettings: confmap.ResolverSettings{
			URIs: []string{text}, ProviderFactories: []confmap.ProviderFactory{yamlprovider.NewFactory()},
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- c.Run(context.Background()) }()
	defer func() {
		c.Shutdown()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()
	waiting.Until(t, "the collector to run", func() bool { return c.GetState() == otelcol.StateRunning })
	e := &otlp.Exporter{Endpoint: "http://" + addr}
	p := taken(t)["cpu"]
	if err := e.Export(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	waiting.Until(t, "the profile to arrive", func() bool { return len(s.received()) == 1 })
	if diff := same(ofPprof(t, p.Data), ofOTLP(t, s.received()[0])); diff != "" {
		t.Error(diff)
	}
}

// nothing is a component without a start or an end.
type nothing struct{}

func (nothing) Start(context.Context, component.Host) error { return nil }
func (nothing) Shutdown(context.Context) error              { return nil }
