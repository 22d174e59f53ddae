// Package folded builds profiles from folded stacks, for tests, so that the content of a
// profile is in the test in a form that people can read.
//
//	cpu 10s
//	main.main;main.run;main.work 10
//	main.main;main.run@run.go:12;~main.inlined@run.go:40;fmt.Println 3 {endpoint=/checkout}
//
// The first line names the kind, and how long the profile took. Each other line is a stack,
// root first, with its values behind it. No name holds a semicolon. A frame may carry a file
// and line after "@"; a frame that begins with "~" is inlined into the one before it.
// Labels stand in braces, parted by commas. Empty lines and comments, from "#" at
// the beginning of a line, are skipped.
//
// The values are what the kind has one of for each stack:
//
//	cpu                            samples; each is 10ms
//	goroutine, goroutineleak       goroutines
//	heap, allocs                   objects and bytes, as sampled and scaled at a rate of 512 KiB;
//	                               with "rate=1" in the first line, as counted
//	mutex, block                   contentions, and a duration: "12 30ms"
package folded

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/pprof/profile"

	"github.com/profguard/profguard/internal/kinds"
)

// Must returns the profile that text describes. It panics if the text is wrong, because that is
// a part of a test.
func Must(text string) *profile.Profile {
	b := builder{functions: map[string]*profile.Function{}, locations: map[string]*profile.Location{}}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		switch {
		case line == "" || strings.HasPrefix(line, "#"):
		case b.p == nil:
			b.header(line)
		default:
			b.stack(line)
		}
	}
	if err := b.p.CheckValid(); err != nil {
		panic(err)
	}
	return b.p
}

// period of a CPU profile: Go samples at 100 Hz.
const period = 10 * time.Millisecond

type builder struct {
	p         *profile.Profile
	kind      kinds.Kind
	functions map[string]*profile.Function
	locations map[string]*profile.Location // by the text of their frames
}

func (b *builder) header(line string) {
	words := strings.Fields(line)
	b.kind = *kinds.Of(words[0])
	types, period := "", int64(period)
	switch b.kind.Sampling {
	case kinds.Timed:
		types = "cpu/nanoseconds samples/count cpu/nanoseconds"
	case kinds.Counted:
		types, period = b.kind.Count+"/count "+b.kind.Count+"/count", 1
	case kinds.Memory:
		types, period = "space/bytes alloc_objects/count alloc_space/bytes inuse_objects/count inuse_space/bytes", 512<<10
	case kinds.Contention:
		types, period = "contentions/count contentions/count delay/nanoseconds", 1
	default:
		panic(fmt.Sprintf("folded: expected a kind of profile, found %q", line))
	}
	b.p = &profile.Profile{Period: period}
	for _, t := range strings.Fields(types) { // the first is that of the period
		name, unit, _ := strings.Cut(t, "/")
		b.p.SampleType = append(b.p.SampleType, &profile.ValueType{Type: name, Unit: unit})
	}
	b.p.PeriodType, b.p.SampleType = b.p.SampleType[0], b.p.SampleType[1:]
	for _, w := range words[1:] {
		if w == "rate=1" {
			b.p.Period = 1
		} else {
			b.p.DurationNanos = number(w)
		}
	}
}

// A line is a stack, one value or two, and labels. Names may hold blanks and braces (type
// arguments).
var (
	oneValue  = regexp.MustCompile(`^(.*) ([^ {}]+)(?: \{(.*)\})?$`)
	twoValues = regexp.MustCompile(`^(.*) ([^ {}]+) ([^ {}]+)(?: \{(.*)\})?$`)
)

// stack adds the sample of one line.
func (b *builder) stack(line string) {
	form := oneValue
	if b.kind.Sampling == kinds.Memory || b.kind.Sampling == kinds.Contention {
		form = twoValues
	}
	m := form.FindStringSubmatch(line)
	if m == nil {
		panic(fmt.Sprintf("folded: expected a stack and its values, found %q", line))
	}
	s := &profile.Sample{Location: b.frames(m[1])}
	values, labels := m[2:len(m)-1], m[len(m)-1]
	for _, v := range values {
		s.Value = append(s.Value, number(v))
	}
	switch b.kind.Sampling {
	case kinds.Timed:
		s.Value = append(s.Value, s.Value[0]*int64(period))
	case kinds.Memory: // all of it is in use
		s.Value = slices.Repeat(s.Value, 2)
	}
	if labels != "" {
		s.Label = map[string][]string{}
		for _, pair := range strings.Split(labels, ",") {
			key, value, _ := strings.Cut(strings.TrimSpace(pair), "=")
			s.Label[key] = append(s.Label[key], value)
		}
	}
	b.p.Sample = append(b.p.Sample, s)
}

func number(text string) int64 {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		panic(fmt.Sprintf("folded: expected a number or a duration, found %q", text))
	}
	return int64(d)
}

// frames returns the locations of a stack, leaf first. Samples share a location: a function and
// what is inlined into it.
func (b *builder) frames(stack string) (out []*profile.Location) {
	for _, text := range strings.Split(strings.ReplaceAll(stack, ";~", "~"), ";") {
		l := b.locations[text]
		if l == nil {
			l = &profile.Location{ID: uint64(len(b.p.Location) + 1)}
			for _, frame := range strings.Split(text, "~") {
				l.Line = append(l.Line, b.line(frame))
			}
			slices.Reverse(l.Line)
			b.locations[text], b.p.Location = l, append(b.p.Location, l)
		}
		out = append(out, l)
	}
	slices.Reverse(out)
	return out
}

func (b *builder) line(frame string) profile.Line {
	name, place, _ := strings.Cut(frame, "@")
	file, number, _ := strings.Cut(place, ":")
	line, _ := strconv.ParseInt(number, 10, 64) // 0 without a place
	f := b.functions[name]
	if f == nil {
		f = &profile.Function{ID: uint64(len(b.p.Function) + 1), Name: name, SystemName: name}
		b.functions[name] = f
		b.p.Function = append(b.p.Function, f)
	}
	if file != "" {
		f.Filename = file // a function is in one file
	}
	return profile.Line{Function: f, Line: line}
}
