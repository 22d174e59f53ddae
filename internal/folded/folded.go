// Package folded builds profiles from folded stacks, for tests, so that the content of a
// profile is in the test in a form that people can read.
//
//	cpu 10s
//	main.main;main.run;main.work 10
//	main.main;main.run@run.go:12;~main.inlined@run.go:40;fmt.Println 3 {endpoint=/checkout}
//
// The first line names the kind, and how long the profile took; "link=net/http,main"
// says in which order the program's packages were linked. Each other line
// is a stack, root first, with its values behind it. A frame may carry a file and
// line after "@"; a frame that begins with "~" is inlined into the one before it.
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
	"strings"
	"time"

	"github.com/google/pprof/profile"

	"github.com/profguard/profguard/internal/kinds"
)

// Profile returns the profile that text describes.
func Profile(text string) (*profile.Profile, error) {
	b := builder{functions: map[string]*profile.Function{}, locations: map[string]*profile.Location{}}
	for number, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		step := b.stack
		if b.p == nil {
			step = b.header
		}
		if err := step(line); err != nil {
			return nil, fmt.Errorf("folded: line %d: %w", number+1, err)
		}
	}
	if b.p == nil {
		return nil, fmt.Errorf("folded: expected a first line that names the kind, such as \"cpu 10s\", found nothing")
	}
	return b.p, b.p.CheckValid()
}

// Must is [Profile] for texts that are part of a test.
func Must(text string) *profile.Profile {
	p, err := Profile(text)
	if err != nil {
		panic(err)
	}
	return p
}

// period of a CPU profile: Go samples at 100 Hz.
const period = 10 * time.Millisecond

type builder struct {
	p         *profile.Profile
	kind      kinds.Kind
	functions map[string]*profile.Function
	locations map[string]*profile.Location
	packages  []string // in the order of the link
}

func (b *builder) header(line string) error {
	words := strings.Fields(line)
	b.kind = *kinds.Of(words[0])
	p := &profile.Profile{}
	types := func(pairs ...string) {
		for i := 0; i < len(pairs); i += 2 {
			p.SampleType = append(p.SampleType, &profile.ValueType{Type: pairs[i], Unit: pairs[i+1]})
		}
	}
	switch b.kind.Sampling {
	case kinds.Timed:
		types("samples", "count", "cpu", "nanoseconds")
		p.PeriodType, p.Period = &profile.ValueType{Type: "cpu", Unit: "nanoseconds"}, int64(period)
	case kinds.Counted:
		types(b.kind.Count, "count")
		p.PeriodType, p.Period = &profile.ValueType{Type: b.kind.Count, Unit: "count"}, 1
	case kinds.Memory:
		types("alloc_objects", "count", "alloc_space", "bytes", "inuse_objects", "count", "inuse_space", "bytes")
		p.PeriodType, p.Period = &profile.ValueType{Type: "space", Unit: "bytes"}, 512<<10
	case kinds.Contention:
		types("contentions", "count", "delay", "nanoseconds")
		p.PeriodType, p.Period = &profile.ValueType{Type: "contentions", Unit: "count"}, 1
	default:
		return fmt.Errorf("expected a kind of profile, found %q", words[0])
	}
	for _, w := range words[1:] {
		if w == "rate=1" {
			p.Period = 1
			continue
		}
		if list, ok := strings.CutPrefix(w, "link="); ok {
			b.packages = strings.Split(list, ",")
			continue
		}
		d, err := time.ParseDuration(w)
		if err != nil {
			return fmt.Errorf("expected a duration, such as 10s, found %q", w)
		}
		p.DurationNanos = int64(d)
	}
	b.p = p
	return nil
}
