package rollout

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// A server is a Prometheus that knows the queries of this package. Its series have a sample each minute.
type server struct {
	series []series
	warns  string
	part   bool                             // as a cluster of VictoriaMetrics says that a part is missing
	mangle func(w http.ResponseWriter) bool // answers something else, if it wants to
}

// began is when the first sample is.
var began = time.UnixMilli(1_700_000_000_000)

func minute(n int) time.Time { return began.Add(time.Duration(n) * time.Minute) }

// A scrape is what a process exports in a minute; nil where it is not scraped.
type scrape struct {
	Process
	build string
}

// add adds what the process of an instance exports, minute by minute.
func (s *server) add(job, instance string, scrapes []*scrape) {
	by := map[string]*series{}
	put := func(at int, v float64, labels ...string) {
		key := strings.Join(labels, "\x00")
		if by[key] == nil {
			m := map[string]string{"job": job, "instance": instance, "__name__": labels[0]}
			for i := 1; i < len(labels); i += 2 {
				m[labels[i]] = labels[i+1]
			}
			by[key] = &series{labels: m}
		}
		by[key].points = append(by[key].points, point{minute(at), v})
	}
	for at, x := range scrapes {
		if x == nil {
			continue
		}
		put(at, 1, metricBuild, "version", x.build, "revision", "r-"+x.build, "goversion", "go1.27")
		if x.Seconds == 0 {
			continue
		}
		put(at, x.Samples, metricCounted)
		put(at, x.Rest, metricRest)
		put(at, x.Seconds, metricSeconds)
		for unit, n := range x.Work {
			put(at, n, metricWork, "unit", unit)
		}
		for f, n := range x.Hits {
			put(at, n, metricHits, "function", f)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(by)) {
		s.series = append(s.series, *by[key])
	}
}

var selects = regexp.MustCompile(`^\{__name__=~"([^"]*)",job="([^"]*)"(?:,instance=~"([^"]*)")?\}(\[\d+s\])?$`)

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if s.mangle != nil && s.mangle(w) {
		return
	}
	q := r.URL.Query()
	parts := selects.FindStringSubmatch(q.Get("query"))
	number := func(name string) time.Time {
		v, _ := strconv.ParseFloat(q.Get(name), 64)
		return time.UnixMilli(int64(v * 1000))
	}
	type one struct {
		Metric map[string]string `json:"metric"`
		Values [][2]any          `json:"values"`
	}
	result := []one{}
	for _, x := range s.series {
		if parts == nil || !slices.Contains(strings.Split(parts[1], "|"), x.labels["__name__"]) || x.labels["job"] != parts[2] {
			continue
		}
		if at := strings.ReplaceAll(parts[3], "\\\\", "\\"); at != "" && !regexp.MustCompile("^(?:"+at+")$").MatchString(x.labels["instance"]) {
			continue
		}
		is := one{Metric: x.labels}
		put := func(at time.Time, v float64) {
			is.Values = append(is.Values, [2]any{float64(at.UnixMilli()) / 1000, strconv.FormatFloat(v, 'g', -1, 64)})
		}
		if strings.HasSuffix(r.URL.Path, "/query_range") {
			step, _ := strconv.ParseFloat(q.Get("step"), 64)
			for at := number("start"); !at.After(number("end")); at = at.Add(time.Duration(step * float64(time.Second))) {
				if p, ok := x.before(at); ok {
					put(at, p.value)
				}
			}
		} else {
			at := number("time")
			for _, p := range x.points {
				if !p.at.After(at) && at.Sub(p.at) < recent {
					put(p.at, p.value)
				}
			}
		}
		if len(is.Values) > 0 {
			result = append(result, is)
		}
	}
	answer := map[string]any{"status": "success", "data": map[string]any{"resultType": "matrix", "result": result}}
	if s.part {
		answer["isPartial"] = true
	}
	if s.warns != "" {
		answer["warnings"] = []string{s.warns}
	}
	json.NewEncoder(w).Encode(answer)
}

// before is the newest sample at a time, which Prometheus takes for five minutes. It writes where a series ends, so that
// one that was scraped in the next minute is gone then.
func (s *series) before(at time.Time) (p point, ok bool) {
	n, found := slices.BinarySearchFunc(s.points, at, func(p point, at time.Time) int { return p.at.Compare(at) })
	if found {
		n++
	}
	if n == 0 || at.Sub(s.points[n-1].at) >= recent {
		return p, false
	}
	return s.points[n-1], true
}

// client asks it.
func (s *server) client(t testing.TB) *Client {
	t.Helper()
	served := httptest.NewServer(s)
	t.Cleanup(served.Close)
	return &Client{Address: served.URL, Hidden: func(text string) string { return text }, Get: get}
}

// lived are the scrapes of a pod of a build, from a minute until another.
func lived(r *rand.Rand, p *pod, build string, from, until int) []*scrape {
	list := make([]*scrape, from, until)
	for range until - from {
		now := p.Process
		now.Name, now.Hits, now.Work = "", maps.Clone(p.Hits), maps.Clone(p.Work)
		list = append(list, &scrape{now, build})
		p.run(r, 1, 1)
	}
	return list
}

// small is a service with few functions, one of which has a percent and more points.
func small(more float64) service {
	return service{shares: []float64{0.5 / (1 + more), 0.1 / (1 + more), (0.01 + more) / (1 + more), 0.02 / (1 + more)}, processes: 0.02, windows: 0.3, samples: 40 * (1 + more)}
}

const deployed, end = 200, 260

// A fault is something that goes wrong with a rollout: it gets the scrapes of the processes before and now.
type fault struct {
	name    string
	broken  func(r *rand.Rand, more float64, was, now [][]*scrape)
	open    bool   // nobody can tell anything
	renamed bool   // nobody knows which of the new functions is an old one
	unsure  bool   // equal builds are not sure to be
	why     string // a part of the text of equal builds
}

var faults = []fault{
	{name: "none"},
	{name: "processes start again, in the same place", broken: func(r *rand.Rand, more float64, was, now [][]*scrape) {
		for i := range 8 {
			copy(was[i][100:], lived(r, small(0).start(r, 1), "v1", 0, end))
			copy(now[i][deployed+30:], lived(r, small(more).start(r, 1), "v2", 0, end))
		}
	}},
	{name: "processes are killed", broken: func(_ *rand.Rand, _ float64, was, now [][]*scrape) {
		for i := range 8 {
			was[i], now[i] = was[i][:90+10*i], now[i][:deployed+40]
		}
	}},
	{name: "processes hang, and are scraped or not", broken: func(_ *rand.Rand, _ float64, was, now [][]*scrape) {
		for at := deployed + 30; at < end; at++ {
			now[0][at], was[0][at] = now[0][deployed+30], was[0][deployed+30]
			now[1][at], was[1][at] = nil, nil
		}
	}},
	{name: "Prometheus was away", broken: func(_ *rand.Rand, _ float64, was, now [][]*scrape) {
		for i := range was {
			clear(was[i][120:150])
			clear(was[i][deployed+10 : deployed+25])
			clear(now[i][deployed+10 : deployed+25])
		}
	}},
	{name: "half of the rollout is done", broken: func(_ *rand.Rand, _ float64, was, now [][]*scrape) {
		for i := range len(was) / 2 {
			now[i], was[len(was)-1-i] = nil, was[len(was)-1-i][:deployed]
		}
	}},
	{name: "the old build is gone", broken: func(_ *rand.Rand, _ float64, was, _ [][]*scrape) {
		for i := range was {
			was[i] = was[i][:deployed+5]
		}
	}},
	{name: "the new build takes the places of the old one", broken: func(_ *rand.Rand, _ float64, was, now [][]*scrape) {
		for i := range was {
			copy(was[i][deployed+i:], now[i][deployed:])
			now[i] = nil
		}
	}},
	{name: "all processes start again while nobody scrapes", broken: func(r *rand.Rand, more float64, was, now [][]*scrape) {
		for i := range now {
			again := lived(r, small(more).start(r, 1), "v2", 0, end)
			now[i][deployed+40] = nil
			for at := deployed + 41; at < end; at++ { // main.f001 has no series yet
				again[at-deployed-41].Hits = maps.Clone(again[at-deployed-41].Hits)
				delete(again[at-deployed-41].Hits, "main.f001")
				now[i][at] = again[at-deployed-41]
			}
		}
	}},
	{name: "most processes have not counted", broken: func(_ *rand.Rand, _ float64, _, now [][]*scrape) {
		for i := range now {
			for at := deployed; at < end && i > 4; at++ {
				now[i][at] = &scrape{build: "v2"}
			}
		}
	}, unsure: true, why: "5 of 16 processes of v2 (r-v2) have counted"},
	{name: "all names differ", broken: func(_ *rand.Rand, _ float64, _, now [][]*scrape) {
		for i := range now {
			for _, x := range now[i][deployed:] {
				hits := map[string]float64{}
				for f, n := range x.Hits {
					hits[strings.Replace(f, "main.", "other.Renamed", 1)] = n
				}
				x.Hits = hits
			}
		}
	}, renamed: true},
	{name: "another unit of work", broken: func(_ *rand.Rand, _ float64, _, now [][]*scrape) {
		for i := range now {
			for _, x := range now[i][deployed:] {
				x.Work = map[string]float64{"job": x.Work[request]}
			}
		}
	}, open: true, why: "no unit of work"},
	{name: "one process of each build", broken: func(_ *rand.Rand, _ float64, was, now [][]*scrape) {
		for i := range was[1:] {
			was[i+1], now[i+1] = nil, nil
		}
	}, open: true},
	{name: "only one build", broken: func(_ *rand.Rand, _ float64, was, _ [][]*scrape) {
		clear(was)
	}, open: true, why: "no other build"},
	{name: "rolled back", broken: func(_ *rand.Rand, _ float64, _, now [][]*scrape) {
		for i := range now {
			now[i] = now[i][:deployed+30]
		}
	}, open: true, why: "is gone"},
	{name: "both were there from the beginning", broken: func(_ *rand.Rand, _ float64, was, now [][]*scrape) {
		for i := range was {
			clear(was[i][:deployed])
		}
	}, open: true, why: "name it with -build"},
}

// loose are options by which sixteen processes are known to be equal after an hour.
var loose = Options{Job: "shop", Limit: 0.05, Process: 0.2, Since: 24 * time.Hour}

// rolledOut is a server that has seen a rollout, of which something is broken.
func rolledOut(t testing.TB, broken func(r *rand.Rand, more float64, was, now [][]*scrape), more float64, seed uint64) *server {
	t.Helper()
	r := rand.New(rand.NewPCG(53, seed))
	var was, now [][]*scrape
	for range 16 {
		was, now = append(was, lived(r, small(0).start(r, 1), "v1", 0, end)), append(now, lived(r, small(more).start(r, 1), "v2", deployed, end))
	}
	if broken != nil {
		broken(r, more, was, now)
	}
	s := &server{}
	for i := range was {
		s.add("shop", fmt.Sprint("old-", i), was[i])
		s.add("shop", fmt.Sprint("new-", i), now[i])
	}
	return s
}

// TestHotfix: a build that comes three minutes after another one is the newest, whenever one asks. The clean twin came
// in the same minute, and nobody knows.
func TestHotfix(t *testing.T) {
	for _, later := range []int{3, 0} {
		r := rand.New(rand.NewPCG(53, 1))
		s := &server{}
		for i := range 16 {
			s.add("shop", fmt.Sprint("old-", i), lived(r, small(0).start(r, 1), "v1", 0, end))
			s.add("shop", fmt.Sprint("new-", i), lived(r, small(0).start(r, 1), "v2", deployed, end))
			s.add("shop", fmt.Sprint("fix-", i), lived(r, small(0.1).start(r, 1), "v3", deployed+later, end))
		}
		for ago := range 5 {
			o := loose
			o.Base = "v1"
			out, err := s.client(t).Ask(t.Context(), o, minute(end-1).Add(-time.Duration(ago)*70*time.Second))
			switch {
			case err != nil:
				t.Error(err)
			case later > 0 && (out.Now.Version != "v3" || out.State != Dearer):
				t.Errorf("%d minutes later, asked %d times 70 seconds ago: %s: %s", later, ago, out.State, out.Text)
			case later == 0 && (out.State != Undecided || !strings.Contains(out.Text, "name it with -build")):
				t.Errorf("in the same minute: %s: %s", out.State, out.Text)
			}
		}
	}
}

// try tries faults by the beginning of their names. Whatever goes wrong, nothing is told of an equal build, and one that
// costs ten points more never passes; it is found unless there is nothing to know it by.
func try(t *testing.T, begins ...string) {
	t.Helper()
	tried := 0
	for i, fault := range faults {
		if !slices.ContainsFunc(begins, func(begin string) bool { return strings.HasPrefix(fault.name, begin) }) {
			continue
		}
		tried++
		for _, more := range []float64{0, 0.1} {
			s := rolledOut(t, fault.broken, more, uint64(i))
			out, err := s.client(t).Ask(t.Context(), loose, minute(end-1))
			if err != nil {
				t.Errorf("%s: %v", fault.name, err)
				continue
			}
			want := Dearer
			switch {
			case fault.open || more > 0 && fault.renamed || more == 0 && fault.unsure:
				want = Undecided
			case more == 0:
				want = Equal
			}
			if out.State != want || more == 0 && !strings.Contains(out.Text, fault.why) || want == Dearer && !strings.Contains(fmt.Sprint(names(out)), "f002") {
				t.Errorf("%s, %g points more, want %s: %s: %s %q", fault.name, 100*more, want, out.State, out.Text, out.Notes)
			}
		}
	}
	if tried != len(begins) {
		t.Errorf("%d faults begin with one of %q", tried, begins)
	}
}

func TestFault_110_CountersReset(t *testing.T) {
	try(t, "processes start again", "processes are killed", "all processes start again")
}

func TestFault_111_ProcessHangs(t *testing.T) { try(t, "processes hang", "Prometheus was away") }

func TestFault_112_AllNamesDiffer(t *testing.T) { try(t, "all names differ") }

func TestFault_114_UnitOfOneBuild(t *testing.T) { try(t, "another unit of work") }

// Times are those at which Prometheus has scraped: no clock of a process is read.
func TestFault_115_Clocks(t *testing.T) {
	for _, metric := range []string{metricCounted, metricBuild, metricHits, metricRest, metricWork, metricSeconds} {
		if strings.Contains(metric, "time_seconds") || strings.Contains(metric, "timestamp") {
			t.Errorf("%s has a time of a process", metric)
		}
	}
}

func TestFault_116_OneProcess(t *testing.T) { try(t, "one process of each build") }

// TestRollouts: how rollouts go on, and what there is to compare.
func TestRollouts(t *testing.T) {
	try(t, "none", "half of the rollout", "the old build is gone", "the new build takes", "most processes", "only one build", "rolled back", "both were there")
}

// An answer that lacks something is none.
func TestWarnings(t *testing.T) {
	for _, more := range []float64{0, 0.1} {
		s := rolledOut(t, nil, more, 1)
		for _, lacks := range []func(){func() {}, func() { s.warns = "a store did not answer" }, func() { s.warns, s.part = "", true }} {
			lacks()
			out, err := s.client(t).Ask(t.Context(), loose, minute(end-1))
			if whole := s.warns == "" && !s.part; whole != (err == nil) || err != nil && (!strings.Contains(err.Error(), "may be incomplete") || !strings.Contains(err.Error(), s.warns)) {
				t.Errorf("%g points more, warns %q, partial %t: %+v, %v", 100*more, s.warns, s.part, out, err)
			}
		}
	}
}

// TestScrapes: what a Prometheus does to series on the way from a process. The first is the clean twin.
func TestScrapes(t *testing.T) {
	without := func(metric string) func([]series) []series {
		return func(list []series) []series {
			return slices.DeleteFunc(list, func(s series) bool { return s.labels["__name__"] == metric })
		}
	}
	for _, tt := range []struct {
		name   string
		mangle func([]series) []series
		why    string // "": it makes no difference
	}{
		{"nothing", func(list []series) []series { return list }, ""},
		{"copies the labels of pods", func(list []series) []series {
			for _, s := range list {
				for _, name := range []string{"version", "unit"} {
					if own, has := s.labels[name]; has {
						s.labels["exported_"+name] = own
					}
					s.labels[name] = "of the pod"
				}
			}
			return list
		}, ""},
		{"is one of two", func(list []series) []series {
			for _, s := range list {
				again := series{maps.Clone(s.labels), s.points}
				s.labels["replica"], again.labels["replica"] = "a", "b"
				list = append(list, again)
			}
			return list
		}, `there twice, by replica="a" and by replica="b"`},
		{"drops functions", without(metricHits), "functions without a series"},
		{"drops the rest", without(metricRest), "is undecided"},
		{"drops seconds", without(metricSeconds), "have not both done work"},
	} {
		for more, want := range map[float64]State{0: Equal, 0.1: Dearer} {
			s := rolledOut(t, nil, more, 1)
			s.series = tt.mangle(s.series)
			out, err := s.client(t).Ask(t.Context(), loose, minute(end-1))
			if tt.why != "" && more == 0 {
				want = Undecided
			}
			if err != nil || out.State == Equal && want != Equal || more == 0 && out.State != want || want == Undecided && !strings.Contains(out.Text, tt.why) {
				t.Errorf("%s, %g points more, want %s %q: %+v, %v", tt.name, 100*more, want, tt.why, out, err)
			}
		}
	}
}

// TestNotCounted: a build of which no process counts functions is the newest all the same.
func TestNotCounted(t *testing.T) {
	for _, counts := range []bool{false, true} {
		r := rand.New(rand.NewPCG(53, 1))
		s := rolledOut(t, nil, 0, 1)
		scrapes := lived(r, small(0).start(r, 1), "v3", end-30, end)
		for i, x := range scrapes {
			if x != nil && !counts {
				scrapes[i] = &scrape{build: "v3"}
			}
		}
		s.add("shop", "newest", scrapes)
		out, err := s.client(t).Ask(t.Context(), loose, minute(end-1))
		if err != nil || out.Now.Version != "v3" || out.State != Undecided || counts == strings.Contains(out.Text, "has counted functions yet") {
			t.Errorf("counts %t: %+v, %v", counts, out, err)
		}
	}
}

// TestProcessesInLoops: processes that use CPU and do no work are a cost of their build.
func TestProcessesInLoops(t *testing.T) {
	for loops, want := range map[int]State{0: Equal, 6: Undecided} {
		s := rolledOut(t, func(_ *rand.Rand, _ float64, _, now [][]*scrape) {
			for i := range loops {
				for at, x := range now[i][deployed:] {
					n := float64(1000 * (1 + at))
					x.Samples, x.Hits, x.Work = n, map[string]float64{"main.f000": n}, map[string]float64{request: 0}
				}
			}
		}, 0, 1)
		out, err := s.client(t).Ask(t.Context(), loose, minute(end-1))
		if err != nil || out.State == Equal != (want == Equal) {
			t.Errorf("%d in loops: %+v, %v", loops, out, err)
		}
	}
}

// What is no answer of a Prometheus is an error that says what was found, and a server that never answers is given up.
func TestWrongAnswers(t *testing.T) {
	for want, answer := range map[string]string{
		"expected JSON of Prometheus's API": "<html>",
		"bad_data: no such function":        `{"status": "error", "error": "bad_data: no such function"}`,
		"expected a vector or a matrix":     `{"status": "success", "data": {"resultType": "scalar", "result": []}}`,
		"cannot unmarshal":                  `{"status": "success", "data": {"resultType": "matrix", "result": [{"metric": 7}]}}`,
	} {
		s := &server{mangle: func(w http.ResponseWriter) bool { fmt.Fprint(w, answer); return true }}
		if out, err := s.client(t).Ask(t.Context(), loose, minute(0)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %+v, %v", answer, out, err)
		}
	}
	// Samples that are no numbers, or no pairs, are left out.
	odd := `{"status": "success", "data": {"resultType": "matrix", "result": [{"metric": {"a": "b"}, "values": [[1, "NaN"], [2, "x"], ["3", "3"], [4, 4], [5, "-1"], [6, "+Inf"], [7], [8, "8"]]}, {"metric": {}}]}}`
	if list, err := decode(strings.NewReader(odd)); err != nil || len(list) != 1 || len(list[0].points) != 1 || list[0].points[0].value != 8 {
		t.Errorf("%+v, %v", list, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	hung := &server{mangle: func(http.ResponseWriter) bool { cancel(); <-t.Context().Done(); return true }}
	if out, err := hung.client(t).Ask(ctx, loose, minute(0)); err == nil {
		t.Errorf("%+v", out)
	}
}

func get(ctx context.Context, address string, timeout time.Duration) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	return (&http.Client{Timeout: timeout}).Do(req)
}
