package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/profguard/profguard/internal/unit"
)

// maxMetrics is the most of a service's metrics that is read, and maxLine of one line.
const maxMetrics, maxLine = 64 << 20, 1 << 20

// metrics are the metrics of a service at one moment, in the text format of Prometheus.
type metrics struct {
	at     time.Time
	types  map[string]string
	series map[string][]series // by name
}

type series struct {
	text  string // with its labels
	value float64
}

// readMetrics asks a service for its metrics.
func readMetrics(ctx context.Context, at *url.URL) (*metrics, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), nil)
	if err != nil {
		return nil, err
	}
	client := http.Client{Timeout: patience}
	resp, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s answered %s", at.Redacted(), resp.Status)
	}
	m, err := parseMetrics(io.LimitReader(resp.Body, maxMetrics))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", at.Redacted(), err)
	}
	return m, nil
}

// parseMetrics reads the lines "# TYPE name type" and "name{labels} value", and skips others.
func parseMetrics(r io.Reader) (*metrics, error) {
	m := &metrics{at: time.Now(), types: map[string]string{}, series: map[string][]series{}}
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxLine)
	for lines.Scan() {
		line := lines.Text()
		if f := strings.Fields(line); len(f) == 4 && f[0] == "#" && f[1] == "TYPE" {
			m.types[f[2]] = f[3]
		}
		end := strings.LastIndexByte(line, '}') + 1
		if end == 0 {
			end = max(strings.IndexByte(line, ' '), 0)
		}
		value, _, _ := strings.Cut(strings.TrimSpace(line[end:]), " ") // a time may follow
		if v, err := strconv.ParseFloat(value, 64); err == nil && line[0] != '#' {
			name, _, _ := strings.Cut(line[:end], "{")
			m.series[name] = append(m.series[name], series{line[:end], v})
		}
	}
	return m, lines.Err()
}

// sum adds up the series of a metric that have the labels of a unit of work. known says that the
// metric has series.
func (m *metrics) sum(u unit.Work) (sum float64, known bool) {
	name := u.Name
	switch m.types[name] {
	case "histogram", "summary":
		name += "_count"
	case "gauge":
		return 0, false
	}
	for _, s := range m.series[name] {
		has, ok := unit.ParseWork(s.text)
		known = known || ok
		for key, value := range u.Labels {
			ok = ok && has.Labels[key] == value
		}
		if ok {
			sum += s.value
		}
	}
	return sum, known
}

// value is the value of a metric without labels.
func (m *metrics) value(name string) (v float64, known bool) {
	if list := m.series[name]; len(list) == 1 {
		return list[0].value, true
	}
	return 0, false
}

// sameProcess reports whether these are metrics of the same process as others, as far as they tell.
func (m *metrics) sameProcess(other *metrics) bool {
	const started = "process_start_time_seconds"
	a, known := m.value(started)
	b, both := other.value(started)
	return !known || !both || a == b
}

// grown is by how much a count has grown since earlier metrics. A series begins with its first
// event, so one that was not there counts 0. ok is false if there is none now, or if it went back.
func (m *metrics) grown(before *metrics, u unit.Work) (n float64, ok bool) {
	then, _ := before.sum(u)
	now, ok := m.sum(u)
	return now - then, ok && now >= then
}
