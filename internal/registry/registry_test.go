package registry

import (
	"fmt"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/profguard/profguard/internal/charge"
	"github.com/profguard/profguard/internal/loop"
	"github.com/profguard/profguard/internal/registrytest"
	"github.com/profguard/profguard/internal/unit"
)

func TestRead(t *testing.T) {
	r, _ := registrytest.Shop()
	tests := []struct {
		unit string
		want float64
		not  string
	}{
		{"http_requests_total", 100, ""},
		{`http_requests_total{code="200"}`, 90, ""},
		{`http_requests_total{code="200", method="GET"}`, 70, ""},
		{`http_requests_total{code="404"}`, 0, ""},
		{`http_requests_total{status="200"}`, 0, "no series of http_requests_total has these labels; the first has: code method"},
		{"rpc_duration_seconds", 2, ""},
		{"rpc_duration_seconds_count", 2, ""},
		{`rpc_duration_seconds{method="a"}`, 1, ""},
		{"order_size", 1, ""},
		{"jobs_total", 0, ""}, // it has no series yet
		{"in_flight", 0, "in_flight is a gauge, not a counter, histogram or summary"},
	}
	for _, test := range tests {
		if got := reading(t, NewReader(r), test.unit); got.N != test.want || got.Why != test.not {
			t.Errorf("%s: %+v, want %v %s", test.unit, got, test.want, test.not)
		}
	}
}

// unchecked is a collector without descriptions, as that of OpenTelemetry: its series may have
// different labels.
type unchecked struct{}

func (unchecked) Describe(chan<- *prometheus.Desc) {}
func (unchecked) Collect(ch chan<- prometheus.Metric) {
	ch <- prometheus.MustNewConstMetric(prometheus.NewDesc("http_requests_total", "h", []string{"route"}, nil), prometheus.CounterValue, 90, "/a")
	ch <- prometheus.MustNewConstMetric(prometheus.NewDesc("http_requests_total", "h", []string{"route", "error_type"}, nil), prometheus.CounterValue, 10, "/a", "500")
}

func TestReadUnchecked(t *testing.T) {
	r := prometheus.NewRegistry()
	r.MustRegister(unchecked{})
	for name, want := range map[string]float64{"http_requests_total": 100, `http_requests_total{error_type="500"}`: 10, `http_requests_total{route="/a"}`: 100} {
		if got := reading(t, NewReader(r), name); got.N != want || got.Why != "" {
			t.Errorf("%s: %+v, want %v", name, got, want)
		}
	}
	jobs := "jobs_total"
	if a := sum(&dto.MetricFamily{Name: &jobs}, unit.Work{Name: jobs, Labels: map[string]string{"queue": "mail"}}); a.N != 0 || a.Why != "" {
		t.Errorf("a family without series: %+v", a)
	}
}

func reading(t *testing.T, r *Reader, unit string) loop.Answer {
	t.Helper()
	list, err := r.Read([]string{unit})
	if err != nil {
		t.Fatal(err)
	}
	return list[unit]
}

// TestCounterBlinks: a counter that is missing has not begun anew.
func TestCounterBlinks(t *testing.T) {
	r := prometheus.NewRegistry()
	jobs := prometheus.NewCounter(prometheus.CounterOpts{Name: "jobs_total", Help: "."})
	r.MustRegister(jobs)
	jobs.Add(10)
	reader := NewReader(r)
	if a := reading(t, reader, "jobs_total"); a.N != 10 {
		t.Errorf("while it is there: %+v", a)
	}
	r.Unregister(jobs)
	if a := reading(t, reader, "jobs_total"); a.Why == "" {
		t.Errorf("when it has gone: %+v, want no number", a)
	}
}

// A registry of which a collector fails may have lost series of others: nothing that it
// has is believed.
func TestRegistryInPart(t *testing.T) {
	r, _ := registrytest.Shop()
	registrytest.Break(r)
	for _, unit := range []string{"http_requests_total", "order_size"} {
		_, err := NewReader(r).Read([]string{unit})
		if err == nil || !strings.Contains(err.Error(), "could not be read in full: ") || !strings.Contains(err.Error(), "its disk is gone") {
			t.Errorf("%s: %v", unit, err)
		}
	}
	if why, err := Uncounted(r, []string{"order_size", "lost_total"}); err == nil || why != nil { // no unit is said to be unknown
		t.Errorf("%v, %v", why, err)
	}
}

// TestReadByLabel: of the series of a counter, those of the values with the most are kept, whatever clients send.
func TestReadByLabel(t *testing.T) {
	r := prometheus.NewRegistry()
	counter := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "http_requests_total", Help: "Requests."}, []string{"user", "code"})
	r.MustRegister(counter)
	long := strings.Repeat("x", 5000)
	for i := range 10_000 {
		counter.WithLabelValues(fmt.Sprintf("%s%d", long[:i%200], i), "200").Add(1)
	}
	counter.WithLabelValues(long+"a", "200").Add(7)
	counter.WithLabelValues(long+"b", "200").Add(8)
	counter.WithLabelValues(long+"b", "500").Add(2)
	a := reading(t, NewReader(r), "http_requests_total by user")
	bytes := 0
	for value := range a.By {
		bytes += len(value)
	}
	if len(a.By) != charge.MostValues || bytes > 130*charge.MostValues || a.By[charge.Shown(long+"a")] != 7 || a.By[charge.Shown(long+"b")] != 10 || a.Why != "" {
		t.Errorf("%d values, %d bytes, %v and %v, %q", len(a.By), bytes, a.By[charge.Shown(long+"a")], a.By[charge.Shown(long+"b")], a.Why)
	}
	if a := reading(t, NewReader(r), `http_requests_total{code="500"} by user`); len(a.By) != 1 || a.By[charge.Shown(long+"b")] != 2 {
		t.Errorf("of one code: %+v", a)
	}
	if a := reading(t, NewReader(r), "http_requests_total by tenant"); a.Why == "" {
		t.Errorf("a label that no series has: %+v", a)
	}
	if a := reading(t, NewReader(r), "other_total by tenant"); a.By == nil || a.Why != "" {
		t.Errorf("no series yet: %+v", a)
	}
	if a := reading(t, &Reader{r, map[string]bool{"other_total": true}}, "other_total by tenant"); a.Why == "" {
		t.Errorf("its series are gone: %+v", a)
	}
	if w, ok := unit.ParseWork("a by b"); !ok || w.Of("c\n") != `a{b="c\n"}` {
		t.Errorf("%+v", w)
	}
}

// BenchmarkRead is what a window pays twice.
func BenchmarkRead(b *testing.B) {
	for _, series := range []int{100, 1000, 10_000} {
		b.Run(fmt.Sprint(series), func(b *testing.B) {
			r, requests := registrytest.Shop()
			for i := range series {
				requests.WithLabelValues(fmt.Sprint(i), "GET").Inc()
			}
			reader := NewReader(r)
			b.ReportAllocs()
			for b.Loop() {
				_, _ = reader.Read([]string{"http_requests_total"})
			}
		})
	}
}
