package dump

import (
	"fmt"
	"math"
	"strings"
)

// Dump is what [Store.Save] writes. The store keeps no reference to it after
// Save returns; a [Writer] reads it until its outcome is reported.
type Dump struct {
	// Sidecar says what the dump is about. Budget is required.
	Sidecar Sidecar
	// Profile is the offending profile, gzipped profile.proto. Required.
	Profile []byte
	// Companions were taken together with the profile.
	Companions []Companion
}

// Companion is one more file of a dump. Its name is a lower-case word with the
// extension .pb.gz or .out: "goroutine.pb.gz", "trace.out".
type Companion struct {
	Name string
	Data []byte
}

// content is one file to be written: what follows the ID in its name, and data.
type content struct {
	suffix string
	data   []byte
}

// profileSuffix is "cpu.pb.gz" and its like.
func (d *Dump) profileSuffix() string {
	kind := d.Sidecar.Kind
	if kind == "" {
		kind = "cpu"
	}
	return kind + profileExt
}

// check finds what the caller got wrong.
func (d *Dump) check() error {
	if d.Sidecar.Budget == "" {
		return fmt.Errorf("%w: the sidecar names no budget", ErrInvalid)
	}
	if len(d.Profile) == 0 {
		return fmt.Errorf("%w: the profile is empty", ErrInvalid)
	}
	seen := map[string]bool{d.profileSuffix(): true}
	if !isSuffix(d.profileSuffix()) {
		return fmt.Errorf("%w: kind %q; want one lower-case word", ErrInvalid, d.Sidecar.Kind)
	}
	for _, c := range d.Companions {
		if !isSuffix(c.Name) || c.Name == sidecarSuffix {
			return fmt.Errorf("%w: companion %q; want a lower-case word and %s or %s", ErrInvalid, c.Name, profileExt, traceExt)
		}
		if seen[c.Name] {
			return fmt.Errorf("%w: two files of the dump are called %q", ErrInvalid, c.Name)
		}
		seen[c.Name] = true
	}
	if y := d.Sidecar.Time.UTC().Year(); !d.Sidecar.Time.IsZero() && (y < 1 || y > 9999) {
		return fmt.Errorf("%w: the year %d does not fit a file name", ErrInvalid, y)
	}
	return nil
}

// size of what is written besides the sidecar.
func (d *Dump) size() int64 {
	n := int64(len(d.Profile))
	for _, c := range d.Companions {
		n += int64(len(c.Data))
	}
	return n
}

// layout completes the sidecar and lists the files in the order in which they
// become visible: companions, profile, and the sidecar that makes them a dump.
func (d *Dump) layout(id ID) ([]content, error) {
	var files []content
	side := d.Sidecar
	side.Companions = nil
	for _, c := range d.Companions {
		files = append(files, content{c.Name, c.Data})
		side.Companions = append(side.Companions, fileName(id, c.Name))
	}
	files = append(files, content{d.profileSuffix(), d.Profile})
	side.Profile = fileName(id, d.profileSuffix())
	side.Kind = strings.TrimSuffix(d.profileSuffix(), profileExt)
	data, err := side.encode()
	if err != nil {
		return nil, err
	}
	return append(files, content{sidecarSuffix, data}), nil
}

// severity orders dumps; one that cannot be compared is the least.
func (s *Sidecar) severity() float64 {
	if math.IsNaN(s.Severity) {
		return math.Inf(-1)
	}
	return s.Severity
}
