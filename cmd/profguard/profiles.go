package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/google/pprof/profile"

	"github.com/profguard/profguard/internal/decode"
)

const (
	// maxBytes is what budget.Set.JudgeReader reads at most.
	maxBytes = 8 << 20
	// maxProfiles are added up.
	maxProfiles = 32
	// maxSamples is how many stacks of those may have.
	maxSamples = 100_000
	// patience is how much longer than its profile a service may take to answer.
	patience = 30 * time.Second
)

// A source reads profiles from files, services and standard input.
type source struct {
	streams
	seconds int
}

// read returns the profiles of all arguments, added up.
func (s *source) read(ctx context.Context, args []string) ([]byte, error) {
	switch {
	case len(args) == 0:
		return nil, errors.New("no profile: expected a file, a URL such as http://localhost:6060, or - for standard input")
	case len(args) > maxProfiles:
		return nil, fmt.Errorf("%d profiles: expected at most %d", len(args), maxProfiles)
	case s.seconds < 1 || s.seconds > 300:
		return nil, fmt.Errorf("-seconds: expected 1 to 300, found %d", s.seconds)
	}
	parts, failed := make([][]byte, len(args)), make([]error, len(args))
	stop := s.progress(ctx, args)
	var running sync.WaitGroup
	inputs := 0
	for i, arg := range args {
		if arg == "-" {
			if inputs++; inputs > 1 {
				failed[i] = errors.New("-: standard input can be read once")
				continue
			}
		}
		running.Go(func() {
			parts[i], failed[i] = s.readOne(ctx, arg)
		})
	}
	running.Wait()
	stop()
	if err := errors.Join(failed...); err != nil {
		return nil, err
	}
	if len(parts) == 1 {
		return parts[0], nil
	}
	return sum(args, parts)
}

func (s *source) readOne(ctx context.Context, arg string) (data []byte, err error) {
	switch {
	case arg == "-":
		data, err = readBounded(s.in)
	case strings.Contains(arg, "://"):
		data, err = s.get(ctx, arg)
	default:
		var f *os.File
		if f, err = os.Open(arg); err != nil {
			if host, port, found := strings.Cut(arg, ":"); found && errors.Is(err, fs.ErrNotExist) && !strings.Contains(host, "/") && port != "" {
				err = fmt.Errorf("%w; a service is http://%s", err, arg)
			}
			return nil, err
		}
		defer f.Close()
		data, err = readBounded(f)
	}
	arg = redacted(arg)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", arg, err)
	}
	if len(data) == 0 {
		return nil, fmt.Errorf("%s: expected a profile, found nothing", arg)
	}
	_, err = decoded(decode.Limits{}, arg, data)
	return data, err
}

// decoded returns the profile's table, and an error for a profile that is broken or out
// of proportion.
func decoded(limits decode.Limits, name string, data []byte) (*decode.Table, error) {
	d := decode.Decoder{Limits: limits}
	table, err := d.Bytes(data)
	if l := (*decode.LimitError)(nil); errors.As(err, &l) {
		return nil, fmt.Errorf("%s: too many %s: the limit is %d: profile a shorter time", name, l.What, l.Limit)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return table, nil
}

// parse is for what the decoder cannot do. It takes more memory, so that a profile may
// have less.
func parse(name string, data []byte) (*profile.Profile, error) {
	if _, err := decoded(decode.Limits{Raw: 8 << 20, Samples: maxSamples}, name, data); err != nil {
		return nil, err
	}
	p, err := profile.ParseData(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return p, nil
}

func readBounded(r io.Reader) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxBytes+1))
	if err == nil && len(data) > maxBytes {
		err = fmt.Errorf("more than %d MiB: profile a shorter time", maxBytes>>20)
	}
	return data, err
}

// sum adds profiles up, one after the other.
func sum(args []string, parts [][]byte) ([]byte, error) {
	var total *profile.Profile
	for i, data := range parts {
		p, err := parse(args[i], data)
		if err != nil {
			return nil, err
		}
		if total != nil {
			if p, err = profile.Merge([]*profile.Profile{total, p}); err != nil {
				return nil, fmt.Errorf("%s cannot be added to those before it, which are of another kind", args[i])
			}
		}
		if total = p; len(total.Sample) > maxSamples {
			return nil, fmt.Errorf("%s: more than %d different stacks in all", args[i], maxSamples)
		}
	}
	var out bytes.Buffer
	err := total.Write(&out)
	return out.Bytes(), err
}

// address completes the URL of a service: its profile is at /debug/pprof/profile.
func address(arg string, seconds int) (*url.URL, error) {
	u, err := url.Parse(arg)
	if err != nil {
		return nil, err
	}
	if u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("expected http or https, found %q", u.Scheme)
	}
	if strings.Trim(u.Path, "/") == "" {
		u.Path = "/debug/pprof/profile"
	}
	if strings.HasSuffix(u.Path, "/profile") && !u.Query().Has("seconds") {
		q := u.Query()
		q.Set("seconds", strconv.Itoa(seconds))
		u.RawQuery = q.Encode()
	}
	return u, nil
}

// wait is how long a service profiles before it answers.
func wait(u *url.URL) time.Duration {
	n, err := strconv.ParseFloat(u.Query().Get("seconds"), 64)
	if err != nil || n < 0 || n > 3600 {
		return 0
	}
	return time.Duration(n * float64(time.Second))
}

func (s *source) get(ctx context.Context, arg string) ([]byte, error) {
	u, err := address(arg, s.seconds)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, wait(u)+patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, refused(resp)
	}
	return readBounded(resp.Body)
}

// refused says what a service answered instead of a profile, and what to do.
func refused(resp *http.Response) error {
	said, _ := io.ReadAll(io.LimitReader(resp.Body, 300))
	line, _, _ := strings.Cut(strings.TrimSpace(string(said)), "\n")
	remedy := ""
	switch {
	case strings.Contains(line, "already in use"):
		remedy = "; another profile is being taken there: try again, or ask a guard's profile?seconds=, which shares its own"
	case strings.Contains(line, "exceeds server's WriteTimeout"):
		remedy = "; choose a smaller -seconds"
	case resp.StatusCode == http.StatusNotFound:
		remedy = `; does the service import _ "net/http/pprof", and is this its address?`
	}
	return fmt.Errorf("answered %s: %q%s", resp.Status, line, remedy)
}

// progress says how long services are profiled: on a terminal each second, in a log
// once.
func (s *source) progress(ctx context.Context, args []string) (stop func()) {
	longest, services := time.Duration(0), 0
	for _, arg := range args {
		if u, err := address(arg, s.seconds); strings.Contains(arg, "://") && err == nil {
			longest = max(longest, wait(u))
			services++
		}
	}
	if longest == 0 {
		return func() {}
	}
	what := "the service"
	if services > 1 {
		what = fmt.Sprintf("%d services", services)
	}
	file, ok := s.err.(*os.File)
	if info, err := statOf(file); !ok || err != nil || info.Mode()&os.ModeCharDevice == 0 {
		fmt.Fprintf(s.err, "profiling %s for %v\n", what, longest)
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() {
		start, tick := time.Now(), time.NewTicker(time.Second)
		defer tick.Stop()
		for {
			fmt.Fprintf(s.err, "\rprofiling %s: %v of %v ", what, time.Since(start).Truncate(time.Second), longest)
			select {
			case <-tick.C:
			case <-ctx.Done():
				fmt.Fprint(s.err, "\r\033[K")
				return
			}
		}
	})
	return func() {
		cancel()
		running.Wait()
	}
}

func statOf(f *os.File) (os.FileInfo, error) {
	if f == nil {
		return nil, os.ErrInvalid
	}
	return f.Stat()
}
