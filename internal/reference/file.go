// Package reference keeps what is normal for a build of a program: the samples of its windows, added
// up within bounds ([Sum]), as an ordinary pprof file with facts in its comments ([Encode],
// [Decode]). A guard writes one for each build, and a check one as its baseline.
package reference

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/release"
)

// prefix begins the comment that has the facts. Behind it is the form, then there is a line for each
// fact:
//
//	profguard reference 1
//	written 2026-01-31T12:00:00Z
//	since 2026-01-31T08:00:00.25Z
//	version "v1.42.0"
//	window 950 9.71 10 "request" 4200
//	machine 0.31 4.5 0 20
//	spread "main.load" 1.25
//
// "ended 20" says that stacks end in functions that they are charged to, and have 20 locations at most (0 is no
// limit). A window has its samples, its seconds of CPU, its seconds, and its work. What the machine did in it, as in
// [release.Machine], is behind it, where it is known. JSON would be as good, but
// its decoder calls UnmarshalText of all types: a service without budgets of its own would have the
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
const form = 1

// mostFacts bounds what is read of the facts: 64 windows and 500 functions are 60 KB.
const mostFacts = 1 << 20

// mostSpread is how many functions have their spread written, the most spread out first.
const mostSpread = 500

// Encode writes a side as a reference.
func Encode(s *release.Side, now time.Time) []byte {
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
	if s.Ended {
		line("ended %d", s.Depth)
	}
	for _, w := range s.Windows {
		fmt.Fprintf(&b, "window %v %v %v", w.Samples, w.CPU, w.Elapsed)
		for _, name := range slices.Sorted(maps.Keys(w.Work)) {
			fmt.Fprintf(&b, " %q %v", name, w.Work[name])
		}
		line("")
		if m := w.Machine; m.Cores > 0 {
			line("machine %.6g %.6g %.6g %.6g", m.Waited, m.Others, m.Stolen, m.Cores)
		}
	}
	spread := slices.SortedFunc(maps.Keys(s.Spread), func(a, b string) int {
		return cmp.Or(cmp.Compare(s.Spread[b], s.Spread[a]), cmp.Compare(a, b))
	})
	for _, name := range spread[:min(len(spread), mostSpread)] {
		line("spread %q %v", name, s.Spread[name])
	}
	return s.Table.Encode(b.String())
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

// Decode reads a reference, or any other CPU profile as one without facts. The side keeps the decoder's
// memory, and is valid until its next call.
func Decode(d *decode.Decoder, b []byte) (*release.Side, error) {
	t, err := d.Bytes(b)
	if err != nil {
		return nil, fmt.Errorf("decode reference: %w", err)
	}
	return Of(t, t.Comments())
}

// Of is the side of a decoded profile with its comments.
func Of(t *decode.Table, comments []string) (*release.Side, error) {
	s := &release.Side{Table: t}
	for _, comment := range comments {
		facts, is := strings.CutPrefix(comment, prefix)
		if !is {
			continue
		}
		if len(facts) > mostFacts {
			return nil, fmt.Errorf("decode reference: its facts have %d bytes, expected at most %d", len(facts), mostFacts)
		}
		first, facts, _ := strings.Cut(facts, "\n")
		version, err := strconv.Atoi(first)
		if err == nil && version > form {
			return nil, newer(version)
		}
		for line := range strings.Lines(facts) {
			if err == nil {
				err = read(s, line)
			}
		}
		if err == nil {
			err = check(s)
		}
		if err != nil {
			return nil, fmt.Errorf("decode reference: its facts are damaged: %w", err)
		}
		return s, nil
	}
	return s, nil
}

// read adds what a line of the facts says. A line that is not known is a later profguard's.
func read(s *release.Side, line string) error {
	key, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
	f := fields{rest: rest}
	switch key {
	case "since":
		s.Since, f.err = time.Parse(time.RFC3339Nano, f.rest)
	case "modified":
		s.Build.Modified = true
	case "ended":
		s.Ended, s.Depth = true, int(min(f.number(), most))
	case "window":
		w := release.Window{Samples: f.number(), CPU: f.number(), Elapsed: f.number()}
		for f.err == nil && f.rest != "" {
			if w.Work == nil {
				w.Work = map[string]float64{}
			}
			name := f.text()
			w.Work[name] = f.number()
		}
		s.Windows = append(s.Windows, w)
	case "machine":
		if n := len(s.Windows); n > 0 {
			s.Windows[n-1].Machine = release.Machine{Waited: f.number(), Others: f.number(), Stolen: f.number(), Cores: f.number()}
		}
	case "spread":
		if s.Spread == nil {
			s.Spread = map[string]float64{}
		}
		name := f.text()
		s.Spread[name] = f.number()
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
	f.rest, f.err = rest, cmp.Or(f.err, err)
	return v
}

func newer(is int) error {
	return fmt.Errorf("decode reference: a newer profguard wrote it (form %d, expected at most %d): use that, or a reference of this one", is, form)
}

// most is the largest number in facts.
const most = 1e15

// check refuses numbers that no writer has.
func check(s *release.Side) error {
	if len(s.Windows) > mostWindows {
		return fmt.Errorf("found %d windows, expected at most %d", len(s.Windows), mostWindows)
	}
	valid := func(x float64) bool { return x >= 0 && x <= most && !math.IsNaN(x) }
	if s.Depth < 0 {
		return fmt.Errorf("its stacks have %d locations, expected a number from 0 on", s.Depth)
	}
	for i, w := range s.Windows {
		if !valid(w.Samples) || !valid(w.CPU) || !valid(w.Elapsed) {
			return fmt.Errorf("window %d has %v samples, %v s of CPU, %v s: expected numbers from 0 on", i+1, w.Samples, w.CPU, w.Elapsed)
		}
		if m := w.Machine; !valid(m.Waited) || !valid(m.Others) || !valid(m.Stolen) || !valid(m.Cores) {
			return fmt.Errorf("the machine of window %d is %+v: expected numbers from 0 on", i+1, m)
		}
		for name, n := range w.Work {
			if !valid(n) {
				return fmt.Errorf("window %d has %v units of %.80q: expected a number from 0 on", i+1, n, name)
			}
		}
	}
	for name, phi := range s.Spread {
		if !valid(phi) {
			return fmt.Errorf("the spread of %.80q is %v: expected a number from 0 on", name, phi)
		}
	}
	return nil
}

// longest is the longest text of a build.
const longest = 200

// clipped is a text of a build that is not too long for a line.
func clipped(v string) string { return strings.ToValidUTF8(v[:min(len(v), longest)], "") }
