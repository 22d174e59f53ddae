package release

import (
	"context"
	"strings"
	"time"

	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/tree"
)

// A Side is one build's work: what it was charged with, and what is known of the pieces that it was measured
// in. The zero Side is ready to use.
type Side struct {
	Build  Build
	Since  time.Time // of the first piece of the build, the zero time if it is not known
	Tree   tree.Tree
	Pieces Pieces
}

// Of is a side of one profile. Its piece's samples and hits are counted here.
func Of(ctx context.Context, c *tree.Counter, t *decode.Table, p Piece) (*Side, error) {
	sum, err := c.Tree(ctx, t)
	if err != nil {
		return nil, err
	}
	s := &Side{}
	s.Add(sum, p)
	return s, nil
}

// Add adds a piece with what it was charged with.
func (s *Side) Add(t *tree.Tree, p Piece) {
	p.Samples, p.Hits, p.Values = t.N(), t.Hits(), t.Values
	s.Tree.Add(t)
	s.Pieces.Add(p)
}

// AsOne takes the profile of a side as one piece, in which so much work was done.
func (s *Side) AsOne(t *decode.Table, work map[string]float64) {
	whole := Side{}
	whole.Add(&s.Tree, Piece{CPU: SampledCPU(t), Elapsed: float64(t.DurationNanos) * 1e-9, Work: work})
	whole.Pieces.Values = s.Pieces.Values
	s.Pieces = whole.Pieces
}

// SampledCPU is the CPU that a profile's samples stand for, in seconds.
func SampledCPU(t *decode.Table) float64 { return float64(t.Count()) * float64(t.Period) * 1e-9 }

// Cores is the same in cores, 0 if the profile does not have its duration or the meaning of a sample.
func Cores(t *decode.Table) float64 {
	if t.DurationNanos <= 0 {
		return 0
	}
	return float64(t.Count()) * float64(t.Period) / float64(t.DurationNanos)
}

func (s *Side) summary(per string, samples, cut float64) Summary {
	p := &s.Pieces
	x := Summary{Build: s.Build, Samples: samples, CPU: p.CPU, Elapsed: p.Elapsed, Work: p.Work[per], Cut: cut}
	if x.Elapsed > 0 {
		x.Load = x.Work / x.Elapsed
	}
	return x
}

// Build is what an executable says of itself.
type Build struct {
	Program  string `json:"program,omitempty"`  // the path of package main
	Version  string `json:"version,omitempty"`  // of the main module
	Revision string `json:"revision,omitempty"` // of the version control system
	Modified bool   `json:"modified,omitempty"` // since that revision
	Go       string `json:"go,omitempty"`       // the release of Go
	Arch     string `json:"arch,omitempty"`     // "linux/amd64"
	Binary   string `json:"binary,omitempty"`   // differs between any two executables that differ
}

// String is the version with the revision, "v1.42.0 (abc1234)", or what there is of it.
func (b Build) String() string {
	commit, binary, dirty := strings.Cut(b.Revision, "-dirty-") // as metrics have it
	revision := commit[:min(len(commit), 7)]
	if revision != "" && (b.Modified || dirty) {
		revision += ", modified"
	}
	if dirty {
		revision += ", build " + binary
	}
	version := b.Version
	if version == "(devel)" {
		version = ""
	}
	switch {
	case version != "" && revision != "":
		return version + " (" + revision + ")"
	case version != "":
		return version
	case revision != "":
		return revision
	case b.Binary != "":
		return b.binary()
	}
	return "unknown build"
}

func (b Build) binary() string { return "build " + b.Binary[:min(len(b.Binary), 8)] }

// Names are those of the two builds, with their binaries if they differ in nothing else, as two that were modified do.
func (c *Comparison) Names() (before, now string) {
	a, b := c.Before.Build, c.Now.Build
	if before, now = a.String(), b.String(); before == now && a.Binary != "" && b.Binary != "" && a.binary() != b.binary() {
		return before + ", " + a.binary(), now + ", " + b.binary()
	}
	return before, now
}
