package decode

import (
	"errors"
	"fmt"
	"slices"

	"github.com/google/pprof/profile"
)

// CheckValid reports mistakes in a profile that may have been built by hand: those that
// google/pprof's CheckValid finds, and nil types, which it does not find.
func CheckValid(p *profile.Profile) error {
	switch {
	case p == nil:
		return errors.New("the profile is nil")
	case slices.Contains(p.SampleType, nil):
		return errors.New("a sample type is nil: expected one for each value of a sample")
	}
	return p.CheckValid()
}

// Profile decodes a profile that was parsed or built with google/pprof, within the same
// limits as a file. It does not change p, of which the Table is independent. The Table is
// valid until the decoder's next call.
func (d *Decoder) Profile(p *profile.Profile) (*Table, error) {
	if err := CheckValid(p); err != nil {
		return nil, fmt.Errorf("convert profile: %w: %w", ErrMalformed, err)
	}
	raw, err := appendProfile(d.raw[:0], p)
	if err != nil {
		return nil, fmt.Errorf("convert profile: %w: %w", ErrMalformed, err)
	}
	d.raw = raw
	t, err := d.build.table(d.raw, int64(maxMemory-len(d.raw)))
	if err != nil {
		return nil, fmt.Errorf("convert profile: %w", err)
	}
	return t, nil
}

// appendProfile writes what a [Table] has of a profile. The code of google/pprof that
// writes all of it would make each program with a guard 30 KB larger.
func appendProfile(b []byte, p *profile.Profile) ([]byte, error) {
	var x texts
	for _, t := range p.SampleType {
		b = x.appendType(b, profileType, t.Type, t.Unit)
	}
	if t := p.PeriodType; t != nil {
		b = x.appendType(b, periodType, t.Type, t.Unit)
	}
	b = appendNumbers(b, 0, 0, 0, 0, 0, 0, 0, 0,
		uint64(p.TimeNanos), uint64(p.DurationNanos), 0, uint64(p.Period), 0, x.text(p.DefaultSampleType))
	for _, m := range p.Mapping {
		b = appendBytes(b, profileMapping, appendNumbers(nil, m.ID, m.Start, 0, 0, x.text(m.File), x.text(m.BuildID)))
	}
	for _, f := range p.Function {
		b = appendBytes(b, profileFunction, appendNumbers(nil, f.ID, x.text(f.Name), 0, x.text(f.Filename), uint64(f.StartLine)))
	}
	listed := make(map[*profile.Location]bool, len(p.Location))
	for _, l := range p.Location {
		listed[l] = true
		mapping := uint64(0)
		if l.Mapping != nil {
			mapping = l.Mapping.ID
		}
		body := appendNumbers(nil, l.ID, mapping, l.Address)
		for _, line := range l.Line {
			body = appendBytes(body, locationLine, appendNumbers(nil, line.Function.ID, uint64(line.Line)))
		}
		b = appendBytes(b, profileLocation, body)
	}
	for _, s := range p.Sample {
		if len(b) > maxRaw { // the profile will be refused
			return b, nil
		}
		var stack []byte
		for _, l := range s.Location {
			if !listed[l] { // another location may have its number
				return nil, fmt.Errorf("the location %d of a sample is not in Profile.Location", l.ID)
			}
			stack = appendVarint(stack, l.ID)
		}
		body := appendValues(appendBytes(nil, sampleLocationPacked, stack), s.Value)
		for key, values := range s.Label {
			for _, v := range values {
				body = appendBytes(body, sampleLabel, appendNumbers(nil, x.text(key), x.text(v)))
			}
		}
		for key, numbers := range s.NumLabel {
			for _, n := range numbers {
				// With some unit, so that 0 is a label as well.
				body = appendBytes(body, sampleLabel, appendNumbers(nil, x.text(key), 0, uint64(n), x.text("unit")))
			}
		}
		b = appendBytes(b, profileSample, body)
	}
	return append(b, x.written...), nil
}
