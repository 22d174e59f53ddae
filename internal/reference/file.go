// Package reference keeps what is normal for a build of a program: the samples of its windows, added
// up within bounds ([release.Side]), as an ordinary pprof file with facts in its comments ([Encode],
// [Decode]). A guard writes one for each build, and a check one as its baseline.
package reference

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/release"
	"github.com/profguard/profguard/internal/tree"
)

// prefix begins the comment that has the facts. Behind it is the form, then there is a line for each fact. A line
// that is not known is a later profguard's:
//
//	profguard reference 2
//	written 2026-01-31T12:00:00Z
//	since 2026-01-31T08:00:00.25Z
//	version "v1.42.0"
//	pieces 30 28500 291.3 300 27090000
//	cost "request" 30 291.3 126000 ...
//	machine 280.1 0.31 4.5 0 20
//	tree
//	function "main.load" 950 30400 902500 "request" 3990000
//	label "tenant" 30 28500 27090000 2850 0
//	value "tenant" "acme" 4750 760000 4512500 "request" 19950000
//
// "tree" says that the profile is one: see [tree.Tree.Table]. The others are the fields of [release.Pieces]. A reference
// without a label says nothing of its values. JSON would
// be as good, but its decoder calls UnmarshalText of all types: a service without budgets of its own would have the
// parser of sentences for that, and be 0.14 MB larger.
const prefix = "profguard reference "

// Since is when the build of a reference was first seen: the time of its first window, or else of its file, which
// an older profguard has written.
func Since(s *release.Side, file time.Time) time.Time {
	if s.Since.IsZero() {
		return file
	}
	return s.Since
}

// form is the version of the facts. One that cannot be read by those who know an older one has a
// higher number.
const form = 2

// mostFacts bounds what is read of the facts: 1,000 functions are 100 KB.
const mostFacts = 1 << 20

// Encode writes a side as a reference.
func Encode(s *release.Side, now time.Time) []byte {
	return s.Tree.Table().Encode(FactsOf(s, now) + "tree\n")
}

// EncodeWhole writes a side with the profile that it was made of, for those who ask more of it than a tree has.
func EncodeWhole(s *release.Side, t *decode.Table, now time.Time) []byte {
	return t.Encode(FactsOf(s, now))
}

// FactsOf is the comment with the facts of a side.
func FactsOf(s *release.Side, now time.Time) string {
	var b strings.Builder
	line := func(format string, values ...any) { fmt.Fprintf(&b, format+"\n", values...) }
	line("%s%d", prefix, form)
	line("written %s", now.UTC().Format(time.RFC3339))
	if !s.Since.IsZero() {
		line("since %s", s.Since.UTC().Format(time.RFC3339Nano))
	}
	for _, text := range texts(&s.Build) {
		if *text.value != "" {
			line("%s %q", text.name, *text.value)
		}
	}
	if s.Build.Modified {
		line("modified")
	}
	writePieces(&b, &s.Pieces)
	return b.String()
}

// A text is one of a build, with its name in the facts.
type text struct {
	name  string
	value *string
}

func texts(b *release.Build) []text {
	return []text{
		{"program", &b.Program}, {"version", &b.Version}, {"revision", &b.Revision}, {"go", &b.Go}, {"arch", &b.Arch}, {"binary", &b.Binary},
	}
}

// Decode reads a reference.
func Decode(d *decode.Decoder, b []byte, module string) (*release.Side, error) {
	t, err := d.Bytes(b)
	if err != nil {
		return nil, fmt.Errorf("decode reference: %w", err)
	}
	s, isTree, err := Facts(t.Comments())
	switch {
	case err != nil:
		return nil, err
	case !isTree:
		return nil, errors.New("decode reference: it is another profile")
	}
	s.Tree = *tree.Of(t, module)
	return s, nil
}

// Of is the side of a decoded profile with its comments: of a reference, or of any profile of CPU as one without facts.
func Of(ctx context.Context, c *tree.Counter, t *decode.Table, comments []string) (*release.Side, error) {
	s, isTree, err := Facts(comments)
	switch {
	case err != nil:
		return nil, err
	case s == nil:
		return release.Of(ctx, c, t, release.Piece{CPU: release.SampledCPU(t), Elapsed: float64(t.DurationNanos) * 1e-9})
	case isTree:
		s.Tree = *tree.Of(t, c.Module)
		return s, nil
	}
	sum, err := c.Tree(ctx, t)
	if err != nil {
		return nil, fmt.Errorf("decode reference: %w", err)
	}
	if s.Tree = *sum; s.Pieces.Count == 0 { // it does not say how it was measured
		s.Pieces.Add(release.Piece{Samples: sum.N(), CPU: release.SampledCPU(t), Elapsed: float64(t.DurationNanos) * 1e-9, Hits: sum.Hits()})
	}
	s.Pieces.AddValues(sum, c.Labels)
	return s, nil
}

// Facts are what the comments of a reference say, nil if it is none. isTree says that its profile is a tree.
func Facts(comments []string) (s *release.Side, isTree bool, err error) {
	for _, comment := range comments {
		facts, is := strings.CutPrefix(comment, prefix)
		if !is {
			continue
		}
		if len(facts) > mostFacts {
			return nil, false, fmt.Errorf("decode reference: its facts have %d bytes, expected at most %d", len(facts), mostFacts)
		}
		first, facts, _ := strings.Cut(facts, "\n")
		version, err := strconv.Atoi(first)
		switch {
		case err == nil && version > form:
			return nil, false, fmt.Errorf("decode reference: a newer profguard wrote it (form %d, expected at most %d): use that, or a reference of this one", version, form)
		case err == nil && version < form:
			return nil, false, fmt.Errorf("decode reference: an older profguard wrote it (form %d, expected %d): this build leaves a new one, with which the next is compared; a baseline has to be made anew", version, form)
		}
		s := &release.Side{}
		for line := range strings.Lines(facts) {
			if isTree = isTree || line == "tree\n"; err == nil {
				err = read(s, line)
			}
		}
		if err != nil {
			return nil, false, fmt.Errorf("decode reference: its facts are damaged: %w", err)
		}
		return s, isTree, nil
	}
	return nil, false, nil
}

// read adds what a line of the facts says.
func read(s *release.Side, line string) error {
	line = strings.TrimSpace(line)
	key, rest, _ := strings.Cut(line, " ")
	f := fields{rest: rest}
	switch key {
	case "since":
		s.Since, f.err = time.Parse(time.RFC3339Nano, f.rest)
	case "modified":
		s.Build.Modified = true
	case "pieces", "cost", "machine", "function", "label", "value":
		readPieces(&s.Pieces, key, &f)
	default:
		for _, text := range texts(&s.Build) {
			if text.name == key {
				*text.value = clipped(f.text())
			}
		}
	}
	if f.err != nil {
		return fmt.Errorf("%.80q: %w", line, f.err)
	}
	return nil
}

// fields reads numbers and quoted texts with a space between them. After an error it reads zeros.
type fields struct {
	rest string
	err  error
}

func (f *fields) text() (v string) {
	quoted, err := strconv.QuotedPrefix(f.rest)
	if err == nil {
		f.rest = strings.TrimPrefix(f.rest[len(quoted):], " ")
		v, err = strconv.Unquote(quoted)
	}
	f.err = cmp.Or(f.err, err)
	return v
}

func (f *fields) number() float64 {
	word, rest, _ := strings.Cut(f.rest, " ")
	v, err := strconv.ParseFloat(word, 64)
	switch {
	case err == nil && !(v >= 0 && v <= most):
		v, err = 0, errors.New("expected numbers from 0 on")
	case v < 1/most: // nothing; quotients of it would become infinite
		v = 0
	}
	f.rest, f.err = rest, cmp.Or(f.err, err)
	return v
}

// most is the largest number in facts: a sum of squares of work that a counter may have counted in a window, see package
// loop. Quotients and products of some such numbers are finite.
const most = 1e60

// errOrder is of a line that stands before the one that it is about.
var errOrder = errors.New("expected it behind the line of pieces")

// longest is the longest text of a build.
const longest = 200

// clipped is a text of a build that is not too long for a line.
func clipped(v string) string { return strings.ToValidUTF8(v[:min(len(v), longest)], "") }
