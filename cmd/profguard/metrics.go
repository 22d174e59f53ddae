package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/profguard/profguard/internal/charge"
	"github.com/profguard/profguard/internal/unit"
)

// What is read of a service's metrics at the most, of one line, and what is kept of it: the series
// that somebody asks for.
const maxMetrics, maxLine, maxKept = 64 << 20, 1 << 20, 4 << 20

// metrics are the metrics of a service at one moment, in the text format of Prometheus.
type metrics struct {
	at     time.Time
	types  map[string]string
	series map[string][]oneSeries // by name
}

type oneSeries struct {
	text  string // with its labels
	value float64
}

// readMetrics asks a service for its metrics of the names that are asked for.
func (s *source) readMetrics(ctx context.Context, at *url.URL, asked func(name []byte) bool) (*metrics, error) {
	resp, err := s.request(ctx, at.String(), patience)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s answered %s%s", at.Redacted(), resp.Status, s.credentials.remedy(resp.StatusCode))
	}
	m, err := parseMetrics(resp.Body, asked)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", at.Redacted(), err)
	}
	return m, nil
}

// namesOf asks for the metrics that tell the figures of a process, what it has used and what it is, and
// for those that count units of work.
func namesOf(units []string) (asked func(name []byte) bool) {
	names := map[string]bool{startTime: true, cpuTotal: true, bytesTotal: true, objectsTotal: true, buildInfo: true, goInfo: true}
	for _, name := range figureMetrics {
		names[name] = true
	}
	for _, text := range units {
		if u, ok := unit.ParseWork(text); ok {
			names[u.Name], names[u.Name+"_count"] = true, true
		}
	}
	return func(name []byte) bool { return names[string(name)] }
}

// Metrics of client_golang's collectors.
const (
	startTime    = "process_start_time_seconds"
	cpuTotal     = "process_cpu_seconds_total"
	bytesTotal   = "go_memstats_alloc_bytes_total"
	objectsTotal = "go_memstats_mallocs_total"
	buildInfo    = "go_build_info"
	goInfo       = "go_info"
)

// parseMetrics reads the lines "# TYPE name type" and "name{labels} value" of the names that are
// asked for, and skips others.
func parseMetrics(r io.Reader, asked func(name []byte) bool) (*metrics, error) {
	m := &metrics{at: time.Now(), types: map[string]string{}, series: map[string][]oneSeries{}}
	body := &io.LimitedReader{R: r, N: maxMetrics}
	lines := bufio.NewScanner(body)
	lines.Buffer(nil, maxLine)
	kept := 0
	for lines.Scan() {
		line := lines.Bytes()
		if f := bytes.Fields(line[:min(len(line), 1000)]); len(f) == 4 && string(f[0]) == "#" && string(f[1]) == "TYPE" && asked(f[2]) {
			m.types[string(f[2])] = string(f[3])
		}
		end := bytes.LastIndexByte(line, '}') + 1
		if end == 0 {
			end = max(bytes.IndexByte(line, ' '), 0)
		}
		name, _, _ := bytes.Cut(line[:end], []byte("{"))
		if !asked(name) {
			continue
		}
		value, _, _ := strings.Cut(strings.TrimSpace(string(line[end:])), " ") // a time may follow
		if v, err := strconv.ParseFloat(value, 64); err == nil {
			if kept += end + 64; kept > maxKept {
				return nil, fmt.Errorf("expected at most %d MiB of series of %s and the others that are asked for, found more", maxKept>>20, name)
			}
			m.series[string(name)] = append(m.series[string(name)], oneSeries{string(line[:end]), v})
		}
	}
	if body.N <= 0 {
		return nil, fmt.Errorf("expected at most %d MiB of metrics, found more", maxMetrics>>20)
	}
	return m, lines.Err()
}

// label is a label of the only series of a metric, "" if there is none.
func (m *metrics) label(name, label string) string {
	list := m.series[name]
	if len(list) != 1 {
		return ""
	}
	u, _ := unit.ParseWork(list[0].text)
	return u.Labels[label]
}

// of yields the labels and the value of the series of a metric that have the labels of a unit of work. known says that
// the metric has series that count.
func (m *metrics) of(u unit.Work, yield func(labels map[string]string, value float64)) (known bool) {
	name := u.Name
	switch m.types[name] {
	case "histogram", "summary":
		name += "_count"
	case "gauge":
		return false
	}
	for _, s := range m.series[name] {
		has, ok := unit.ParseWork(s.text)
		known = known || ok
		for key, value := range u.Labels {
			ok = ok && has.Labels[key] == value
		}
		if ok {
			yield(has.Labels, s.value)
		}
	}
	return known
}

// sum adds them up.
func (m *metrics) sum(u unit.Work) (sum float64, known bool) {
	known = m.of(u, func(_ map[string]string, value float64) { sum += value })
	return sum, known
}

// by adds up the series of each value of the label behind "by", of those with the largest counts.
func (m *metrics) by(u unit.Work) map[string]float64 {
	sums := map[string]float64{}
	m.of(u, func(labels map[string]string, value float64) {
		if of, labelled := labels[u.By]; labelled {
			sums[of] += value
		}
	})
	return charge.Largest(sums)
}

// has reports whether the metric of a unit of work has series.
func (m *metrics) has(u unit.Work) bool {
	return len(m.series[u.Name])+len(m.series[u.Name+"_count"]) > 0
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
	a, known := m.value(startTime)
	b, both := other.value(startTime)
	return !known || !both || a == b
}
