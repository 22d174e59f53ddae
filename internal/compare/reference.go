package compare

import (
	"time"

	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/reference"
	"github.com/profguard/profguard/internal/release"
)

// file is the profile as it is kept. One of CPU says of which test binary it is, and how many calls it has, so that
// profguard diff compares the two: their binaries have other names.
func (p *profiled) file(pkg, build, kind string, at time.Time) []byte {
	if kind != "cpu" {
		return decode.Source{Made: p.table}.Bytes()
	}
	s := &release.Side{Build: release.Build{Program: pkg + ".test", Version: build}}
	s.Pieces.Add(release.Piece{Samples: float64(p.table.Count()), CPU: p.clock.Seconds(), Work: map[string]float64{"call": float64(p.calls)}})
	return reference.EncodeWhole(s, p.table, at)
}
