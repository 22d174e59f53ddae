package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/profguard/profguard/internal/forms"
	"github.com/profguard/profguard/internal/pattern"
	"github.com/profguard/profguard/internal/rollout"
	"github.com/profguard/profguard/internal/service"
)

// A roller compares builds of a service by what a Prometheus knows of its processes.
type roller struct {
	err           io.Writer
	authorization string // the file with the credentials
	asks          service.Client
	client        rollout.Client
	options       rollout.Options
	wait          time.Duration
}

// rollOut compares two builds.
func rollOut(ctx context.Context, args []string, std streams) (int, error) {
	r := &roller{err: std.err, asks: service.Client{Stays: true}}
	o := &r.options
	var jobs []string
	f := newFlags("rollout")
	f.StringVar(&r.client.Address, "prometheus", "", "the `address` of a Prometheus, or of another server with its HTTP API, such as http://prometheus:9090")
	authorizationFlag(f, &r.authorization)
	f.Func("job", "the `name` of the job in Prometheus; with -listen it may be given several times, or left out for all jobs that count functions", appending(&jobs))
	f.StringVar(&o.Match, "match", "", "more `conditions` for series, as in the braces of a query, such as 'namespace=\"prod\"'")
	f.Func("build", "the version or revision of the new `build` (default: the build that appeared last)", given(func(s string) { o.Build = s }))
	f.Func("base", "the `build` to compare with (default: the build that ran longest, apart from the new one)", given(func(s string) { o.Base = s }))
	f.Func("per", "the `unit` of work (default: the unit with the most work in the build before)", given(func(s string) { o.Per = s }))
	limit := f.Float64("limit", 5, "how many `points` more a function may cost in an equal build; growth that is certain is reported from a tenth of a point on")
	process := f.Float64("process", 10, "how many `percent` more a unit of work may cost in all")
	f.Func("except", "a `pattern` of functions whose cost is accepted, in the process as well; may be given several times", func(s string) error {
		_, err := pattern.Parse(s)
		o.Except = append(o.Except, s)
		return err
	})
	f.DurationVar(&o.Since, "since", 24*time.Hour, "how far back to look for builds")
	f.DurationVar(&r.wait, "wait", 0, "how long to wait for a decision, such as 20m")
	listen := f.String("listen", "", "compare all jobs again and again, and serve /metrics, /gate and /healthz at this `address`, such as :9090")
	every := f.Duration("every", time.Minute, "the time between two comparisons with -listen")
	to := outputsFlag(f, std.out, "text", "json", "markdown", "junit")
	args, err := parseFlags(f, args, std.out)
	switch {
	case err != nil:
		return exitMisuse, err
	case len(args) > 0:
		return exitMisuse, fmt.Errorf("expected no arguments, found %q", args[0])
	case *limit <= 0 || *process <= 0:
		return exitMisuse, fmt.Errorf("-limit and -process: expected numbers above 0, found %v and %v", *limit, *process)
	case o.Since < time.Minute || o.Since > 30*24*time.Hour:
		return exitMisuse, fmt.Errorf("-since: expected a minute to 30 days, found %v", o.Since)
	case *every < time.Second || r.wait < 0:
		return exitMisuse, fmt.Errorf("expected -every of a second or more and -wait of 0 or more, found %v and %v", *every, r.wait)
	}
	if u, err := url.Parse(r.client.Address); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return exitMisuse, errors.New("expected -prometheus with an address, such as http://prometheus:9090")
	}
	if r.asks.Credentials, err = service.ReadCredentials(r.authorization); err != nil {
		return exitMisuse, err
	}
	o.Limit, o.Process = *limit/100, *process/100
	r.client.Get, r.client.Hidden = r.request, func(text string) string { return r.asks.Credentials.Hidden(text) }
	if *listen != "" {
		if o.Build != "" || o.Base != "" || r.wait > 0 || len(to.list) > 0 {
			return exitMisuse, errors.New("-listen serves the newest builds of jobs: expected none of -build, -base, -wait and -o")
		}
		return r.listen(ctx, *listen, jobs, *every)
	}
	if len(jobs) != 1 {
		return exitMisuse, fmt.Errorf("expected one -job, found %d", len(jobs))
	}
	o.Job = jobs[0]
	out, err := r.judge(ctx)
	if err != nil {
		to.failed(err)
		if ctx.Err() != nil {
			return exitUndecided, err
		}
		return exitMisuse, err
	}
	if err := to.write(func(w io.Writer, format string) error { return writeRollout(w, format, out) }); err != nil {
		return exitMisuse, err
	}
	return map[rollout.State]int{rollout.Equal: exitKept, rollout.Dearer: exitBroken, rollout.Undecided: exitUndecided}[out.State], nil
}

// request asks with the token as it is in the file now: it may have been renewed. A pipe has it once only. Questions are
// asked one after the other.
func (r *roller) request(ctx context.Context, address string, timeout time.Duration) (*http.Response, error) {
	if at, err := os.Stat(r.authorization); err != nil || at.Mode().IsRegular() {
		if r.asks.Credentials, err = service.ReadCredentials(r.authorization); err != nil {
			return nil, err
		}
	}
	resp, err := r.asks.Get(ctx, address, timeout)
	if err == nil && (resp.StatusCode == http.StatusUnauthorized || resp.StatusCode == http.StatusForbidden) {
		resp.Body.Close()
		return nil, rollout.Refused("it answered " + resp.Status + r.asks.Credentials.Remedy(resp.StatusCode))
	}
	return resp, err
}

// judge asks until it is decided, or the time is up. A Prometheus that does not answer may do so later, but not one that
// refuses; with one that has not at the end nothing could be compared, which a gate must not take for undecided.
func (r *roller) judge(ctx context.Context) (*rollout.Outcome, error) {
	end := time.Now().Add(r.wait)
	for {
		now := time.Now()
		out, err := r.client.Ask(ctx, r.options, now)
		switch left := end.Sub(now); {
		case ctx.Err() != nil:
			return nil, errors.New("interrupted")
		case err == nil && (out.State != rollout.Undecided || left <= 0):
			return out, nil
		case left <= 0 || errors.As(err, new(rollout.Refused)):
			return nil, err
		default:
			said := err
			if err == nil {
				said = errors.New(out.Text)
			}
			fmt.Fprintf(r.err, "waiting for %v more: %s\n", left.Round(time.Second), pattern.Visible(said.Error()))
			pause := time.NewTimer(min(left, max(time.Second, min(time.Minute, r.wait/20))))
			select {
			case <-pause.C:
			case <-ctx.Done():
				pause.Stop()
			}
		}
	}
}

// listen serves outcomes until it is told to end.
func (r *roller) listen(ctx context.Context, address string, jobs []string, every time.Duration) (int, error) {
	serves := &rollout.Service{Client: &r.client, Options: r.options, Jobs: jobs, Every: every, Log: func(format string, args ...any) { fmt.Fprintf(r.err, format+"\n", args...) }}
	ctx, end := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() { serves.Run(ctx) })
	defer running.Wait()
	defer end()
	return serve(ctx, r.err, address, "/metrics, /gate?job=JOB&state=equal, /healthz", serves)
}

// writeRollout writes an outcome in a format.
func writeRollout(w io.Writer, format string, out *rollout.Outcome) error {
	switch format {
	case "json":
		out.Functions = append([]rollout.Function{}, out.Functions...) // a list if there are none, too
		return forms.JSON(w, struct {
			Version int `json:"version"`
			*rollout.Outcome
		}{1, out})
	case "junit":
		return rolloutSuite(out).Write(w)
	case "markdown":
		fmt.Fprint(w, rolloutMarkdown(out))
	default:
		fmt.Fprint(w, rolloutText(out))
	}
	return nil
}

// mostRows is how many functions are listed of those that may cost more, or that do not.
const mostRows = 5

// told are the functions to list: all that cost more, and the first of the others that are undecided.
func told(out *rollout.Outcome) (list []rollout.Function) {
	open := 0
	for _, f := range out.Functions {
		switch {
		case f.State == rollout.Dearer:
			list = append(list, f)
		case f.State == rollout.Undecided && open < mostRows:
			list, open = append(list, f), open+1
		}
	}
	return list
}

func rolloutText(out *rollout.Outcome) string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintln(&b, pattern.Visible(fmt.Sprintf(format, args...))) }
	line("%s", out.Text)
	for _, f := range told(out) {
		line("  %-9s %s: %s", f.State, f.Name, f.Costs())
	}
	for _, note := range out.Notes {
		line("Note: %s", note)
	}
	return b.String()
}

func rolloutMarkdown(out *rollout.Outcome) string {
	var rows [][]string
	for _, f := range told(out) {
		rows = append(rows, []string{string(f.State), forms.Code(f.Name), forms.Escape(f.Costs())})
	}
	text := fmt.Sprintf("**profguard rollout: %s** %s\n\n", out.State, forms.Escape(out.Text))
	if len(rows) > 0 {
		text += forms.Table([]string{"", "function", "points:"}, rows) + "\n"
	}
	for _, note := range out.Notes {
		text += "Note: " + forms.Escape(note) + "\n\n"
	}
	return text
}

// rolloutSuite has a case for the rollout. Undecided counts as skipped.
func rolloutSuite(out *rollout.Outcome) *forms.Suite {
	return &forms.Suite{Name: "profguard rollout", Cases: []forms.Case{{
		Class: "profguard.rollout", Name: cmp.Or(out.Now.String(), out.Job),
		Failed: out.State == rollout.Dearer, Skipped: out.State == rollout.Undecided, Message: pattern.Visible(out.Text), Text: rolloutText(out), Out: rolloutText(out),
	}}}
}
