package main

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/profguard/profguard/internal/folded"
)

// counting is a service whose profile is always the same, of 6 seconds of CPU in 10, and whose metrics are those
// before it and after it.
func counting(t *testing.T, before, after string) *httptest.Server {
	t.Helper()
	text := "cpu 10s\n"
	for i := range 20 {
		text += fmt.Sprintf("main.main;main.serve;main.part%d 30\n", i)
	}
	var profile bytes.Buffer
	if err := folded.Must(text).Write(&profile); err != nil {
		t.Fatal(err)
	}
	answers := []string{before, after}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasSuffix(r.URL.Path, "/debug/pprof/profile"):
			_, _ = w.Write(profile.Bytes())
		case r.URL.Path == "/metrics" && answers[0] != "":
			fmt.Fprint(w, answers[0])
			answers = answers[1:]
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(server.Close)
	return server
}

// Where a service counts work, suggest proposes a budget per unit of it, which the same window keeps.
func TestSuggestPerWork(t *testing.T) {
	counts := func(requests, others int) string {
		return fmt.Sprintf(`# TYPE http_requests_total counter
http_requests_total{code="200"} %d
http_requests_total{code="500"} 7
# TYPE http_request_duration_seconds histogram
http_request_duration_seconds_bucket{le="+Inf"} %[1]d
http_request_duration_seconds_sum 3
http_request_duration_seconds_count %[1]d
# TYPE jobs_total counter
jobs_total %[2]d
# TYPE http_requests_in_flight gauge
http_requests_in_flight %[2]d
# TYPE http_request_errors_total counter
http_request_errors_total %[2]d
# TYPE promhttp_metric_handler_requests_total counter
promhttp_metric_handler_requests_total{code="200"} %[2]d
process_start_time_seconds 1
`, requests, others)
	}
	for _, tt := range []struct {
		name, before, after string
		want, said          string
		not                 string
	}{
		{name: "requests", before: counts(100, 0), after: counts(7100, 5000), not: "_errors_",
			want: "\n# The CPU of the whole process for each http_requests_total: 1.7ms, with 7000 of them in this profile.\n# A guard finds their counter in its Registerer, or in Config.Work.\n" +
				"# Other units that are counted: http_request_duration_seconds (7000), jobs_total (5000).\ncpu-per-work: process below 4ms per http_requests_total when process above 0.1 cores\n"},
		{name: "few", before: counts(100, 0), after: counts(120, 0), said: " counts no work that was done meanwhile", not: "cpu-per-work"},
		{name: "no metrics", said: "no metrics, so no budget per unit of work: ", not: "cpu-per-work"},
		{name: "another process", before: counts(100, 0), after: strings.Replace(counts(7100, 5000), "_seconds 1\n", "_seconds 2\n", 1), said: "they are of two processes", not: "cpu-per-work"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			server := counting(t, tt.before, tt.after)
			var out, said bytes.Buffer
			if status := run(t.Context(), []string{"suggest", server.URL}, nil, &out, &said); status != exitKept {
				t.Fatalf("status %d: %s", status, &said)
			}
			if !strings.Contains(out.String(), tt.want) || !strings.Contains(said.String(), tt.said) || tt.not != "" && strings.Contains(out.String(), tt.not) {
				t.Errorf("expected %q, and said %q, and no %q; found\n%s\n%s", tt.want, tt.said, tt.not, &out, &said)
			}
			put(t, "suggested.txt", out.String())
			again := counting(t, tt.before, tt.after)
			out.Reset()
			status := run(t.Context(), []string{"check", "-b", "suggested.txt", "-work", "http_requests_total=7000", again.URL + "/debug/pprof/profile?seconds=10"}, nil, &out, &out)
			if status != exitKept {
				t.Errorf("the same window does not keep what was suggested:\n%s", &out)
			}
		})
	}
}

// Limits on time are round numbers.
func TestRoundTimes(t *testing.T) {
	for seconds, want := range map[float64]string{
		0.00083 * 2: "[2ms 2.5ms 3ms 4ms", 0.001: "[1ms 1.5ms 2ms", 0.00101: "[1.5ms", 9.5: "[10s 15s", 1.2e-7: "[150ns 200ns", 0.6: "[600ms 800ms 1s", 7.1e-6: "[8us",
	} {
		if got := fmt.Sprint(round(seconds)); !strings.HasPrefix(got, want) {
			t.Errorf("from %v s on: %s, want %s...", seconds, got, want)
		}
	}
}
