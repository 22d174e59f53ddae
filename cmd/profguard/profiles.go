package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/judge"
	"github.com/profguard/profguard/internal/kinds"
)

// patience is how much longer than its profile a service may take to answer.
const patience = 30 * time.Second

// A source reads profiles from files, services and standard input.
type source struct {
	streams
	credentials credentials
	seconds     int
	metrics     string // where a service's metrics are, "" for /metrics
	stays       bool   // redirections are not followed

	pause time.Duration // until a service that is being profiled is asked once more, by check
}

func (s *source) checkSeconds() error {
	if s.seconds < 1 || s.seconds > 300 {
		return fmt.Errorf("-seconds: expected 1 to 300, found %d", s.seconds)
	}
	return nil
}

// An input is the profile that a command is about, which may be the sum of several.
type input struct {
	from  string // where it comes from, as people read it
	kind  string // what its address says, or ""
	table *decode.Table
	err   error       // why there is no table, of one of several kinds
	facts judge.Facts // about it
}

// read reads the profiles of all arguments, one after the other, and adds them up.
func (s *source) read(ctx context.Context, args []string) (*input, error) {
	if len(args) == 0 {
		return nil, errors.New("no profile: expected a file, a URL such as http://localhost:6060, or - for standard input")
	}
	if err := s.checkSeconds(); err != nil {
		return nil, err
	}
	if err := s.credentials.load(); err != nil {
		return nil, err
	}
	var names []string
	var total decode.Merger
	kind := addressedKind(args[0])
	seen := map[[sha256.Size]byte]string{} // the arguments, by their contents
	for _, arg := range args {
		if addressedKind(arg) != kind {
			kind = "" // of such a sum, a verdict would be about both
		}
		name := redacted(arg)
		table, content, err := s.decode(ctx, arg)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if same := seen[content]; same != "" { // a guard keeps a profile once for each budget
			fmt.Fprintf(s.err, "%s is the same profile as %s, and is not added again\n", name, same)
			continue
		}
		seen[content], names = name, append(names, name)
		if len(args) == 1 {
			return &input{from: name, kind: kind, table: table}, nil
		}
		var tooLarge *decode.LimitError
		switch err := total.Add(table); {
		case errors.As(err, &tooLarge):
			return nil, fmt.Errorf("all profiles up to %s together: %w", name, err)
		case err != nil:
			return nil, fmt.Errorf("%s cannot be added to those before it: %w", name, err)
		}
	}
	return &input{from: strings.Join(names, ", "), kind: kind, table: total.Table()}, nil
}

// decode reads the profile of an argument, and returns also the hash of its content.
func (s *source) decode(ctx context.Context, arg string) (t *decode.Table, content [sha256.Size]byte, err error) {
	from, err := s.open(ctx, arg)
	if err != nil {
		return nil, content, err
	}
	defer from.Close()
	h := sha256.New()
	t, err = new(decode.Decoder).Decode(io.TeeReader(from, h))
	h.Sum(content[:0])
	return t, content, err
}

func (s *source) open(ctx context.Context, arg string) (io.ReadCloser, error) {
	switch {
	case arg == "-":
		return io.NopCloser(s.in), nil
	case strings.Contains(arg, "://"):
		return s.get(ctx, arg)
	}
	f, err := os.Open(arg)
	if err != nil {
		err = errors.Unwrap(err) // which has no name of the file
		if _, _, noAddress := net.SplitHostPort(arg); noAddress == nil {
			err = fmt.Errorf("%w; to profile a service, say http://%s", err, arg)
		}
		return nil, err
	}
	return f, nil
}

// address completes the URL of a service: its profile is at /debug/pprof/profile.
func address(arg string, seconds int) (*url.URL, error) {
	u, err := url.Parse(arg)
	if err != nil {
		return nil, err
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

// addressedKind is the kind of profile at an address of net/http/pprof, "" for others. A profile of
// mutex looks like one of block, and the growth of allocs (with "seconds") like that of heap.
func addressedKind(arg string) string {
	if _, name := pprofAt(arg); slices.Contains(kinds.Names(), name) {
		return name
	}
	return ""
}

// ofGuard is an example of the address of a guard's profile.
const ofGuard = "http://localhost:6060/debug/profguard/profile"

// noProfile is an answer of a service that is no profile.
type noProfile struct {
	text string
	busy bool // the service's profiler is in use
}

func (e noProfile) Error() string { return e.text }

func (s *source) get(ctx context.Context, arg string) (io.ReadCloser, error) {
	u, err := address(arg, s.seconds)
	if err != nil {
		return nil, err
	}
	seconds, _ := strconv.Atoi(u.Query().Get("seconds"))
	profiling := time.Duration(seconds) * time.Second
	if profiling > 0 {
		fmt.Fprintf(s.err, "profiling for %v\n", profiling)
	}
	resp, err := s.request(ctx, u.String(), profiling+patience)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		defer resp.Body.Close()
		answer, _ := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
		said := s.credentials.hidden(string(answer))
		said = said[:min(len(said), 300)]
		remedy := s.credentials.remedy(resp.StatusCode)
		busy := strings.Contains(string(answer), "already in use")
		switch {
		case resp.StatusCode/100 == 3:
			remedy = "; the probe follows no redirection, nor does a request with -authorization: give the address that it leads to"
		case resp.StatusCode == http.StatusNotFound:
			remedy = "; is net/http/pprof there? A guard's page has a profile, too, at an address such as " + ofGuard
		case busy:
			remedy = "; a guard in the service may be taking its profile, which lasts ten seconds: try again then, or give the address of the guard's profile, such as " + ofGuard
		}
		return nil, noProfile{fmt.Sprintf("answered %s: %q%s", resp.Status, strings.TrimSpace(said), remedy), busy}
	}
	if strings.HasPrefix(resp.Header.Get("Content-Type"), "text/html") {
		resp.Body.Close()
		return nil, noProfile{text: "answered with a page: give the address of a profile, such as that of a guard, " + ofGuard}
	}
	return resp.Body, nil
}

// redacted is an argument without the password of an address.
func redacted(arg string) string {
	if arg == "-" {
		return "standard input"
	}
	u, err := url.Parse(arg)
	if err != nil || !strings.Contains(arg, "://") {
		return arg // a file
	}
	return u.Redacted()
}
