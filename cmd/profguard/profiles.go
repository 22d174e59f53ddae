package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/judge"
	"github.com/profguard/profguard/internal/kinds"
	"github.com/profguard/profguard/internal/service"
)

// A source reads profiles from files, services and standard input.
type source struct {
	streams
	client        service.Client
	authorization string // the file with the credentials
	seconds       int
	pause         time.Duration // until a service that is being profiled is asked once more, by check
}

// ready checks the flags about services, and reads the credentials if they are not read yet: a pipe has them only once.
func (s *source) ready() (err error) {
	if err := service.CheckSeconds(s.seconds); err != nil {
		return err
	}
	if s.client.Credentials == (service.Credentials{}) {
		s.client.Credentials, err = service.ReadCredentials(s.authorization)
	}
	return err
}

// An input is the profile that a command is about, which may be the sum of several.
type input struct {
	from    string            // where it comes from, as people read it
	content [sha256.Size]byte // of the one profile that it is, zero for a sum
	service.Profile
}

// differsFrom returns an error if both are one profile, in which nothing can have grown: a script may name a file twice.
func (in *input) differsFrom(base *input) error {
	if in.content == base.content && in.content != [sha256.Size]byte{} {
		return fmt.Errorf("both sides are the same profile, %s: expected one of the build before, and one of this build", in.from)
	}
	return nil
}

// read reads the profiles of all arguments, one after the other, and adds them up.
func (s *source) read(ctx context.Context, args []string) (*input, error) {
	if len(args) == 0 {
		return nil, errors.New("no profile: expected a file, a URL such as http://localhost:6060, or - for standard input")
	}
	if err := s.ready(); err != nil {
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
			return &input{name, content, service.Profile{Kind: kind, Table: table}}, nil
		}
		var tooLarge *decode.LimitError
		switch err := total.Add(table); {
		case errors.As(err, &tooLarge):
			return nil, fmt.Errorf("all profiles up to %s together: %w", name, err)
		case err != nil:
			return nil, fmt.Errorf("%s cannot be added to those before it: %w", name, err)
		}
	}
	return &input{from: strings.Join(names, ", "), Profile: service.Profile{Kind: kind, Table: total.Table()}}, nil
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
		at, lasts, err := service.ProfileAt(arg, s.seconds)
		if err != nil {
			return nil, err
		}
		if lasts > 0 {
			fmt.Fprintf(s.err, "profiling for %v\n", lasts)
		}
		return s.client.Open(ctx, at, lasts)
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

// addressedKind is the kind of profile at an address of net/http/pprof, "" for others. A profile of
// mutex looks like one of block, and the growth of allocs (with "seconds") like that of heap.
func addressedKind(arg string) string {
	if _, name := service.Root(arg); slices.Contains(kinds.Names(), name) {
		return name
	}
	return ""
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

// busyFor is how long a guard's profile keeps the profiler of a service by default, and a little more.
const busyFor = 11 * time.Second

// survey asks a service for all that the rules need, and says what it lacks.
func (s *source) survey(ctx context.Context, root *url.URL, rules []judge.Rule, facts judge.Facts) (list []*input, err error) {
	if n, err := strconv.Atoi(root.Query().Get("seconds")); err == nil {
		s.seconds = n
	}
	if err := service.CheckSeconds(s.seconds); err != nil {
		return nil, err
	}
	root.RawQuery = ""
	q := service.QuestionOf(rules)
	q.Seconds, q.Facts = s.seconds, facts
	if slices.ContainsFunc(q.Kinds, service.Lasts) {
		fmt.Fprintf(s.err, "profiling for %v\n", time.Duration(s.seconds)*time.Second)
	}
	if err := s.ready(); err != nil {
		return nil, err
	}
	a, err := s.client.Ask(ctx, root, &q)
	if a != nil && slices.ContainsFunc(a.Profiles, func(p service.Profile) bool { return service.IsBusy(p.Err) }) {
		fmt.Fprintf(s.err, "the service is being profiled, as by a guard in it: asking again in %v\n", s.pause)
		select {
		case <-time.After(s.pause):
			a, err = s.client.Ask(ctx, root, &q) // also for metrics, which are of the time of the profiles
		case <-ctx.Done():
		}
	}
	from := strings.TrimSuffix(root.Redacted(), "/")
	if a == nil {
		return nil, err
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", from, err)
	}
	if a.Failed != nil && slices.ContainsFunc(rules, func(r judge.Rule) bool { return r.Per != "" || r.Subject == "rss" || r.When.Figure == "rss" }) {
		fmt.Fprintf(s.err, "no metrics: %v; -metrics says where they are\n", a.Failed)
	}
	for _, text := range q.Units {
		if _, given := facts.Work[text]; !given && a.Failed == nil && !a.Counts(text) {
			fmt.Fprintf(s.err, "no counter %s in %s\n", text, a.At.Redacted())
		}
	}
	for _, p := range a.Profiles {
		list = append(list, &input{from: from, Profile: p})
	}
	return list, nil
}
