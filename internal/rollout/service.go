package rollout

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/profguard/profguard/internal/pattern"
)

const (
	mostJobs  = 500 // that a service looks at
	mostTold  = 20  // functions of a job that have a series
	longLabel = 200 // bytes of a label

	// A gate takes a look for today's for so many times Every, and for so long beyond that: 500 jobs take some minutes.
	staleLooks = 3
	staleAfter = 10 * time.Minute
)

// A Service compares the newest build of each job again and again, and serves the outcomes to Prometheus.
type Service struct {
	Client  *Client
	Options Options // without the job
	Jobs    []string
	Every   time.Duration
	Log     func(format string, args ...any)

	mu       sync.Mutex
	outcomes []*Outcome // in the order of their jobs
	asked    time.Time  // when the look at them began
	began    time.Time  // when they were first looked at
	looked   time.Time  // when all jobs were last looked at without an error
	failed   string     // why some were not, "" if none
	failures int
}

// Run looks at all jobs until the context ends.
func (s *Service) Run(ctx context.Context) {
	tick := time.NewTicker(s.Every)
	defer tick.Stop()
	for {
		s.look(ctx, time.Now())
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// look looks at all jobs. What could not be asked has no outcome: nobody is to take an old one for today's.
func (s *Service) look(ctx context.Context, now time.Time) {
	asked := time.Now()
	jobs, err := s.jobs(ctx, now)
	var outcomes []*Outcome
	for _, job := range jobs {
		o := s.Options
		o.Job = job
		r, failed := s.Client.Ask(ctx, o, now)
		if failed != nil {
			err = errors.Join(err, fmt.Errorf("%s: %w", job, failed))
			continue
		}
		outcomes = append(outcomes, r)
	}
	if ctx.Err() != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.began.IsZero() {
		s.began = now
	}
	was := s.failed
	if s.outcomes, s.asked, s.failed = outcomes, asked, ""; err != nil {
		s.failed, s.failures = pattern.Visible(clipped(err.Error())), s.failures+1
	} else {
		s.looked = now
	}
	if s.failed != was {
		s.Log("%s", orOK(s.failed))
	}
}

func orOK(failed string) string {
	if failed == "" {
		return "all jobs are looked at again"
	}
	return "not all jobs are looked at: " + failed
}

// jobs are those that the service is to look at, or all that count functions.
func (s *Service) jobs(ctx context.Context, now time.Time) ([]string, error) {
	if len(s.Jobs) > 0 {
		return s.Jobs, nil
	}
	within := ""
	if s.Options.Match != "" {
		within = "{" + s.Options.Match + "}"
	}
	list, err := s.Client.at(ctx, "count by (job) ("+metricCounted+within+")", now)
	if err != nil {
		return nil, err
	}
	var jobs []string
	for i := range list {
		jobs = append(jobs, list[i].labels["job"])
	}
	slices.Sort(jobs)
	if len(jobs) > mostJobs {
		return jobs[:mostJobs], fmt.Errorf("expected at most %d jobs, found %d: name some with -job, or narrow them with -match", mostJobs, len(jobs))
	}
	return jobs, nil
}

// gate answers whether a job is in one of some states, for what asks by HTTP before it goes on: 200 if it is. A build that
// is named and is not the newest one, because its processes have not been scraped yet, is undecided, and so is a name
// of both builds. While a look hangs, the one before is not taken for today's for long.
func (s *Service) gate(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	s.mu.Lock()
	outcomes, age := s.outcomes, time.Since(s.asked)
	s.mu.Unlock()
	if q.Has("build") && q.Get("build") == "" { // such as of a variable that is not set
		http.Error(w, "expected a build after build=, found none", http.StatusBadRequest)
		return
	}
	i := slices.IndexFunc(outcomes, func(r *Outcome) bool { return r.Job == q.Get("job") })
	if i < 0 {
		http.Error(w, "the job is unknown", http.StatusNotFound)
		return
	}
	state, text := outcomes[i].State, outcomes[i].Text
	switch name, now, before := q.Get("build"), outcomes[i].Now, outcomes[i].Before; {
	case age > staleLooks*s.Every+staleAfter:
		state, text = Undecided, fmt.Sprintf("the last look at %s began %v ago", outcomes[i].Job, age.Round(time.Second))
	case name != "" && !now.is(name):
		state, text = Undecided, fmt.Sprintf("the newest build of %s is %s, expected %s", outcomes[i].Job, now, clipped(name))
	case name != "" && before.is(name):
		state, text = Undecided, fmt.Sprintf("both %s and %s are %s: name one by its revision", before, now, clipped(name))
	}
	if text = pattern.Visible(text); slices.Contains(q["state"], string(state)) {
		fmt.Fprintln(w, text)
		return
	}
	http.Error(w, text, http.StatusConflict)
}

// ServeHTTP serves /metrics, /gate and /healthz.
func (s *Service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("X-Content-Type-Options", "nosniff")
	switch r.URL.Path {
	case "/metrics":
		w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
		fmt.Fprint(w, s.metrics())
	case "/gate":
		s.gate(w, r)
	case "/healthz":
		s.mu.Lock()
		failed, looked := s.failed, s.looked
		s.mu.Unlock()
		if failed != "" || looked.IsZero() {
			http.Error(w, "not all jobs were looked at: "+failed, http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ok")
	default:
		http.NotFound(w, r)
	}
}

// values are the numbers of states in metrics.
var values = map[State]int{Equal: 0, Undecided: -1, Dearer: 1}

// metrics are the outcomes in the text format of Prometheus.
func (s *Service) metrics() string {
	s.mu.Lock()
	outcomes, looked, failures := s.outcomes, s.looked, s.failures
	if looked.IsZero() {
		looked = s.began // so that it is told of a service that has never seen a job, too
	}
	s.mu.Unlock()
	var b strings.Builder
	head := func(name, kind, help string) {
		fmt.Fprintf(&b, "# HELP %s %s\n# TYPE %[1]s %[3]s\n", name, help, kind)
	}
	head("profguard_rollout_state", "gauge", "The newest build of a job against the one before: 1 costs more, 0 does not, -1 undecided.")
	for _, r := range outcomes {
		if r.Process != nil {
			fmt.Fprintf(&b, "profguard_rollout_state{%s} %d\n", labels(r), values[r.State])
		}
	}
	head("profguard_rollout_process_ratio", "gauge", "Cost of a unit of work relative to the build before: 1.03 is 3% more.")
	for _, r := range outcomes {
		if r.Process != nil {
			fmt.Fprintf(&b, "profguard_rollout_process_ratio{%s} %g\n", labels(r), 1+r.Process.Value)
		}
	}
	head("profguard_rollout_points", "gauge", "Points by which a function costs more, for functions that surely do. A unit of work cost 100 points before.")
	for _, r := range outcomes {
		more := r.Dearer()
		for _, f := range more[:min(len(more), mostTold)] {
			fmt.Fprintf(&b, "profguard_rollout_points{%s,function=%s} %g\n", labels(r), quoted(f.Name), 100*f.Points.Value)
		}
	}
	head("profguard_rollout_failures_total", "counter", "Looks that could not ask for all jobs.")
	fmt.Fprintf(&b, "profguard_rollout_failures_total %d\n", failures)
	if !looked.IsZero() {
		head("profguard_rollout_last_look_timestamp_seconds", "gauge", "When all jobs were last looked at, or the first attempt if none succeeded.")
		fmt.Fprintf(&b, "profguard_rollout_last_look_timestamp_seconds %.3f\n", float64(looked.UnixMilli())/1000)
	}
	return b.String()
}

// labels are those of a rollout. Prometheus keeps the job of a target's own series as exported_job, unless it is told to
// honor labels.
func labels(r *Outcome) string {
	return fmt.Sprintf("job=%s,version=%s,revision=%s,before=%s,unit=%s", quoted(r.Job), quoted(r.Now.Version), quoted(r.Now.Revision), quoted(r.Before.String()), quoted(r.Unit))
}

var labelEscapes = strings.NewReplacer("\\", "\\\\", "\"", "\\\"")

// quoted is the value of a label, without what is no text.
func quoted(text string) string {
	return "\"" + labelEscapes.Replace(pattern.Clipped(text, longLabel)) + "\""
}
