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
	"time"

	"github.com/profguard/profguard/internal/decode"
)

const (
	// maxBytes is the most that the decoder reads.
	maxBytes = 8 << 20
	// maxStacks is the most stacks that all profiles may have together, which limits the
	// memory for their sum.
	maxStacks = 400_000
	// patience is how much longer than its profile a service may take to answer.
	patience = 30 * time.Second
)

// A source reads profiles from files, services and standard input.
type source struct {
	streams
	seconds int
}

// An input is the profile that a command is about, which may be the sum of several.
type input struct {
	from  string // where it comes from, as people read it
	table *decode.Table
}

// read reads the profiles of all arguments, one after the other, and adds them up.
func (s *source) read(ctx context.Context, args []string) (*input, error) {
	switch {
	case len(args) == 0:
		return nil, errors.New("no profile: expected a file, a URL such as http://localhost:6060, or - for standard input")
	case s.seconds < 1 || s.seconds > 300:
		return nil, fmt.Errorf("-seconds: expected 1 to 300, found %d", s.seconds)
	}
	var names []string
	var total decode.Merger
	stacks := 0
	for _, arg := range args {
		name := redacted(arg)
		names = append(names, name)
		data, err := s.readOne(ctx, arg)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		table, err := decoded(name, data)
		if err != nil {
			return nil, err
		}
		if len(args) == 1 {
			return &input{name, table}, nil
		}
		if stacks += len(table.Samples); stacks > maxStacks {
			return nil, fmt.Errorf("%s: more than %d stacks in all: profile a shorter time", name, maxStacks)
		}
		if err := total.Add(table); err != nil {
			return nil, fmt.Errorf("%s cannot be added to those before it, which are of another kind", name)
		}
	}
	var data bytes.Buffer
	if err := total.Write(&data); err != nil {
		return nil, err
	}
	table, err := decoded("the sum", data.Bytes())
	return &input{strings.Join(names, ", "), table}, err
}

// decoded returns a profile's table, or an error for one that is broken or too large.
func decoded(name string, data []byte) (*decode.Table, error) {
	table, err := new(decode.Decoder).Bytes(data)
	if l := (*decode.LimitError)(nil); errors.As(err, &l) {
		err = fmt.Errorf("%d %s, the limit is %d: profile a shorter time", l.Got, l.What, l.Limit)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return table, nil
}

func (s *source) readOne(ctx context.Context, arg string) (data []byte, err error) {
	switch {
	case arg == "-":
		data, err = readBounded(s.in)
	case strings.Contains(arg, "://"):
		data, err = s.get(ctx, arg)
	default:
		data, err = readFile(arg)
	}
	if err == nil && len(data) == 0 {
		err = errors.New("expected a profile, found nothing")
	}
	return data, err
}

func readFile(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		if host, port, found := strings.Cut(name, ":"); found && errors.Is(err, fs.ErrNotExist) && !strings.Contains(host, "/") && port != "" {
			return nil, fmt.Errorf("there is no such file; a service is http://%s", name)
		}
		return nil, errors.Unwrap(err) // which has no name of the file
	}
	defer f.Close()
	return readBounded(f)
}

func readBounded(r io.Reader) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxBytes+1))
	if err == nil && len(data) > maxBytes {
		err = fmt.Errorf("more than %d MiB: profile a shorter time", maxBytes>>20)
	}
	return data, err
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
	if longest := wait(u); longest > 0 {
		fmt.Fprintf(s.err, "profiling for %v\n", longest)
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
