package folded

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/pprof/profile"

	"github.com/profguard/profguard/internal/kinds"
	"github.com/profguard/profguard/internal/pattern"
)

// stack adds the sample of one line.
func (b *builder) stack(line string) error {
	s := &profile.Sample{}
	if i := strings.LastIndex(line, " {"); i >= 0 && strings.HasSuffix(line, "}") {
		s.Label = map[string][]string{}
		for _, pair := range strings.Split(line[i+2:len(line)-1], ",") {
			key, value, ok := strings.Cut(strings.TrimSpace(pair), "=")
			if !ok {
				return fmt.Errorf("expected key=value in the labels, found %q", pair)
			}
			s.Label[key] = append(s.Label[key], value)
		}
		line = strings.TrimSpace(line[:i])
	}
	// Names may hold blanks (type arguments), so values are cut off from the end.
	values := make([]int64, 1, 2)
	if b.kind.Sampling == kinds.Memory || b.kind.Sampling == kinds.Contention {
		values = values[:2]
	}
	for i := len(values) - 1; i >= 0; i-- {
		at := strings.LastIndexByte(line, ' ')
		if at < 0 {
			return fmt.Errorf("expected a stack and %d numbers, found %q", len(values), line)
		}
		n, err := number(line[at+1:])
		if err != nil {
			return err
		}
		values[i], line = n, strings.TrimSpace(line[:at])
	}
	switch b.kind.Sampling {
	case kinds.Timed:
		s.Value = []int64{values[0], values[0] * int64(period)}
	case kinds.Memory:
		s.Value = append(slices.Clone(values), values...)
	default:
		s.Value = values
	}
	s.Location = b.frames(line)
	b.p.Sample = append(b.p.Sample, s)
	return nil
}

func number(text string) (int64, error) {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		return 0, fmt.Errorf("expected a number or a duration, found %q", text)
	}
	return int64(d), nil
}

// frames returns the locations of a stack, leaf first.
func (b *builder) frames(stack string) []*profile.Location {
	if stack == "" {
		return nil
	}
	var groups []string // root first, each with the frames inlined into it
	for _, f := range split(stack) {
		if strings.HasPrefix(f, "~") && len(groups) > 0 {
			groups[len(groups)-1] += ";" + f[1:]
			continue
		}
		groups = append(groups, f)
	}
	slices.Reverse(groups)
	out := make([]*profile.Location, len(groups))
	for i, g := range groups {
		out[i] = b.location(g)
	}
	return out
}

// split cuts a stack at the semicolons outside of brackets and braces: type
// arguments such as [go.shape.struct { A int; B int }] hold some.
func split(stack string) []string {
	var out []string
	depth, from := 0, 0
	for i := range len(stack) {
		switch stack[i] {
		case '[', '{':
			depth++
		case ']', '}':
			depth--
		case ';':
			if depth == 0 {
				out, from = append(out, stack[from:i]), i+1
			}
		}
	}
	return append(out, stack[from:])
}

// location is one program counter: a function and, behind it, what was inlined.
func (b *builder) location(group string) *profile.Location {
	if l, ok := b.locations[group]; ok {
		return l
	}
	l := &profile.Location{ID: uint64(len(b.p.Location) + 1)}
	for _, f := range split(group) {
		l.Line = append(l.Line, b.line(f))
	}
	if at := slices.Index(b.packages, pattern.PackageOf(l.Line[0].Function.Name)); at >= 0 {
		l.Address = uint64(at+1)<<20 + l.ID
	}
	slices.Reverse(l.Line)
	b.locations[group] = l
	b.p.Location = append(b.p.Location, l)
	return l
}

func (b *builder) line(frame string) profile.Line {
	name, place, _ := strings.Cut(frame, "@")
	file, number, _ := strings.Cut(place, ":")
	line, err := strconv.ParseInt(number, 10, 64)
	if err != nil {
		line = 0 // no place was given
	}
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
