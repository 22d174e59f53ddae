package decode

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"github.com/google/pprof/profile"
)

// CheckValid reports mistakes in a profile that may have been built by hand: those that
// google/pprof's CheckValid finds, and two that it does not find: nil types, and unlisted locations.
func CheckValid(p *profile.Profile) error {
	switch {
	case p == nil:
		return errors.New("the profile is nil")
	case slices.Contains(p.SampleType, nil):
		return errors.New("a sample type is nil: expected one for each value of a sample")
	}
	if err := p.CheckValid(); err != nil {
		return err
	}
	listed := make(map[*profile.Location]bool, len(p.Location))
	for _, l := range p.Location {
		listed[l] = true
	}
	for _, s := range p.Sample {
		for _, l := range s.Location {
			if !listed[l] { // another location may have its number
				return fmt.Errorf("the location %d of a sample is not in Profile.Location", l.ID)
			}
		}
	}
	return nil
}

// Profile decodes a profile that was parsed or built with google/pprof, within the same
// limits as a file. It does not change p, of which the Table is independent. The Table is
// valid until the decoder's next call.
func (d *Decoder) Profile(p *profile.Profile) (*Table, error) {
	if err := CheckValid(p); err != nil {
		return nil, fmt.Errorf("convert profile: %w: %w", ErrMalformed, err)
	}
	var raw bytes.Buffer // which has no errors
	_ = p.WriteUncompressed(&raw)
	t, err := d.build.table(raw.Bytes(), int64(maxMemory-raw.Len()))
	if err != nil {
		return nil, fmt.Errorf("convert profile: %w", err)
	}
	return t, nil
}
