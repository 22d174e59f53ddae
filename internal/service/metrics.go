package service

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/profguard/profguard/internal/charge"
	"github.com/profguard/profguard/internal/unit"
)

// What is read of a service's metrics at the most, of one line, and what is kept of it: the series
// that somebody asks for.
const maxMetrics, maxLine, maxKept = 64 << 20, 1 << 20, 4 << 20

// Metrics are the metrics of a service at one moment, in the text format of Prometheus.
type Metrics struct {
	At     time.Time
	types  map[string]string
	series map[string][]oneSeries // by name
}

type oneSeries struct {
	text  string // with its labels
	value float64
}

// readMetrics asks a service for its metrics of the names that are asked for.
func (c *Client) readMetrics(ctx context.Context, at *url.URL, asked func(name []byte) bool) (*Metrics, error) {
	resp, err := c.Get(ctx, at.String(), Patience)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s answered %s%s", at.Redacted(), resp.Status, c.Credentials.Remedy(resp.StatusCode))
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
func parseMetrics(r io.Reader, asked func(name []byte) bool) (*Metrics, error) {
	m := &Metrics{At: time.Now(), types: map[string]string{}, series: map[string][]oneSeries{}}
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

// of yields the labels and the value of the series of a metric that have the labels of a unit of work. known says that
// the metric has series that count.
func (m *Metrics) of(u unit.Work, yield func(labels map[string]string, value float64)) (known bool) {
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

// Sum adds up the series of a unit of work. known says that there are some that count.
func (m *Metrics) Sum(u unit.Work) (sum float64, known bool) {
	known = m.of(u, func(_ map[string]string, value float64) { sum += value })
	return sum, known
}

// by adds up the series of each value of the label behind "by", of those with the largest counts.
func (m *Metrics) by(u unit.Work) map[string]float64 {
	sums := map[string]float64{}
	m.of(u, func(labels map[string]string, value float64) {
		if of, labelled := labels[u.By]; labelled {
			sums[of] += value
		}
	})
	return charge.Largest(sums)
}

// Has reports whether the metric of a unit of work has series.
func (m *Metrics) Has(u unit.Work) bool {
	return len(m.series[u.Name])+len(m.series[u.Name+"_count"]) > 0
}

// value is the value of a metric without labels.
func (m *Metrics) value(name string) (v float64, known bool) {
	if list := m.series[name]; len(list) == 1 {
		return list[0].value, true
	}
	return 0, false
}

// Started is when the process was started by its own clock, in seconds.
func (m *Metrics) Started() (seconds float64, known bool) { return m.value(startTime) }

// CPU is what the process has used, in seconds.
func (m *Metrics) CPU() (seconds float64, known bool) { return m.value(cpuTotal) }

// Allocated is what the process has allocated.
func (m *Metrics) Allocated() (bytes, objects float64, known bool) {
	bytes, hasBytes := m.value(bytesTotal)
	objects, hasObjects := m.value(objectsTotal)
	return bytes, objects, hasBytes && hasObjects
}

// Build is which build the process is of, "" for what is not known.
func (m *Metrics) Build() (version, revision, golang string) {
	label := func(name, label string) string {
		if list := m.series[name]; len(list) == 1 {
			u, _ := unit.ParseWork(list[0].text)
			return u.Labels[label]
		}
		return ""
	}
	return label(buildInfo, "version"), label(buildInfo, "checksum"), label(goInfo, "version")
}

// workWords are in the names of metrics that count what a service does for others, the likeliest first.
var workWords = []string{"request", "grpc", "rpc", "handled", "message", "job", "task", "order", "event", "quer"}

// otherWords are in the names of metrics that count something else, or only a part of the work.
var otherWords = []string{"client", "error", "fail", "retr", "drop", "bytes", "size", "in_flight"}

// otherBeginnings are those of the metrics of the runtime and of libraries, which each program may have.
var otherBeginnings = []string{"go_", "process_", "promhttp_", "prometheus_", "profguard_"}

// countsWork reports whether a metric or series may count a service's work, by its name.
func countsWork(name []byte) bool {
	in := func(word string) bool { return bytes.Contains(name, []byte(word)) }
	begins := func(word string) bool { return bytes.HasPrefix(name, []byte(word)) }
	for _, end := range []string{"_bucket", "_sum", "_created", "_seconds_total"} {
		if bytes.HasSuffix(name, []byte(end)) {
			return false
		}
	}
	return slices.ContainsFunc(workWords, in) && !slices.ContainsFunc(otherWords, in) && !slices.ContainsFunc(otherBeginnings, begins)
}

// A Counted is a unit of work, with how much was done of it.
type Counted struct {
	Unit string
	Done float64
}

// leastDone is how much must have been done: the work at the beginning and at the end of a profile is only a
// part of what is counted.
const leastDone = 50

// Work are the units of work that a service has counted in a profile of so many seconds, the likeliest first.
func (a *Answer) Work(seconds float64) (list []Counted) {
	if a.Failed != nil {
		return nil
	}
	part := min(seconds/a.After.At.Sub(a.Before.At).Seconds(), 1)
	for name := range a.After.types {
		if n, known := a.grown(name); known && n >= leastDone && countsWork([]byte(name)) {
			list = append(list, Counted{name, n * part})
		}
	}
	likeliness := func(c Counted) int {
		return slices.IndexFunc(workWords, func(word string) bool { return strings.Contains(c.Unit, word) })
	}
	isCounter := func(c Counted) int { // of one and the same, the counter has the better name
		return map[bool]int{true: 1}[a.After.types[c.Unit] == "counter"]
	}
	slices.SortFunc(list, func(a, b Counted) int {
		return cmp.Or(cmp.Compare(likeliness(a), likeliness(b)), cmp.Compare(isCounter(b), isCounter(a)), cmp.Compare(b.Done, a.Done), strings.Compare(a.Unit, b.Unit))
	})
	return list
}
