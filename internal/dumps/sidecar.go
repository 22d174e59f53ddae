package dumps

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"
)

// Sidecar is what the JSON file beside a profile says about it. The caller of
// [Store.Offer] fills in what it knows; the store sets the fields marked so.
//
// JSON has neither NaN nor infinities, so these are written as 0 and as the
// largest float. Strings are cut to 1 KiB and Offenders to 16, so that a
// sidecar stays below 64 KiB whatever the profile's function names are.
type Sidecar struct {
	ID   ID        `json:"id"`   // set by the store
	Time time.Time `json:"time"` // when the dump was decided on; zero: now

	Budget   string `json:"budget"`   // the budget's name
	Sentence string `json:"sentence"` // the budget as written
	Kind     string `json:"kind"`     // kind of profile; "": cpu

	Verdict   string     `json:"verdict"`
	Share     float64    `json:"share"`
	Low       float64    `json:"low"`
	High      float64    `json:"high"`
	Limit     float64    `json:"limit"`
	Unit      string     `json:"unit,omitempty"`          // of the numbers above
	Parts     string     `json:"offender_unit,omitempty"` // of the offenders' shares, if it is another
	Accept    string     `json:"accept,omitempty"`        // the sentence that accepts the first offender
	Samples   int64      `json:"samples"`
	Reason    string     `json:"reason,omitempty"`
	Offenders []Offender `json:"offenders,omitempty"`

	Window Window `json:"window"`

	// Violation identifies the violation that the dump belongs to: one stretch
	// of a budget firing. "" means none, and then the dump is an ordinary one.
	Violation string `json:"violation,omitempty"`
	// Severity orders the dumps of a violation; the largest is the worst.
	Severity float64 `json:"severity"`
	// First: no earlier dump of this violation was saved. Worst: no earlier dump
	// of this violation was as severe. Set by the store.
	First bool `json:"first"`
	Worst bool `json:"worst"`

	Build Build  `json:"build"` // zero: set by the store, from the binary's build info
	Host  string `json:"host"`  // "": set by the store
	PID   int    `json:"pid"`   // set by the store

	Profile    string   `json:"profile"`              // the profile's file name; set by the store
	Companions []string `json:"companions,omitempty"` // the companions' file names; set by the store
}

// Offender is one function or package that broke the budget.
type Offender struct {
	Name  string  `json:"name"`
	Share float64 `json:"share"`
	File  string  `json:"file,omitempty"`
	Line  int     `json:"line,omitempty"`
	// CalledFrom is the nearest frame in the user's own module.
	CalledFrom string `json:"called_from,omitempty"`
}

// Window is the interval that the profile covers.
type Window struct {
	Start   time.Time `json:"start"`
	Seconds float64   `json:"seconds"`
	Outcome string    `json:"outcome,omitempty"` // "good", or why it was not
}

// Build says which program wrote the dump.
type Build struct {
	Path     string `json:"path,omitempty"` // main module
	Version  string `json:"version,omitempty"`
	Revision string `json:"revision,omitempty"` // of the version control system
	Modified bool   `json:"modified,omitempty"` // the tree had uncommitted changes
	Go       string `json:"go,omitempty"`
	Platform string `json:"platform,omitempty"` // GOOS/GOARCH
}

const (
	// maxSidecar bounds what is written and read back: 16 offenders with three
	// texts of 1 KiB each are 48 KiB, and the other texts 11.
	maxSidecar = 64 << 10
	// maxOffenders is more than a report shows.
	maxOffenders = 16
	// maxText is longer than any sensible function name; generic instances of
	// anonymous structs have no bound of their own.
	maxText = 1 << 10
)

// bounded is a copy of s with at most so many offenders, and with texts and
// numbers as JSON can hold them.
func (s Sidecar) bounded(offenders int) Sidecar {
	for _, p := range []*string{&s.Budget, &s.Sentence, &s.Kind, &s.Verdict, &s.Reason, &s.Unit, &s.Parts, &s.Accept, &s.Window.Outcome,
		&s.Violation, &s.Build.Path, &s.Build.Version, &s.Build.Revision, &s.Build.Go, &s.Build.Platform, &s.Host} {
		*p = cut(*p)
	}
	for _, p := range []*float64{&s.Share, &s.Low, &s.High, &s.Limit, &s.Severity, &s.Window.Seconds} {
		*p = finite(*p)
	}
	s.Offenders = slices.Clone(s.Offenders[:min(len(s.Offenders), offenders)])
	for i := range s.Offenders {
		o := &s.Offenders[i]
		o.Name, o.File, o.CalledFrom, o.Share = cut(o.Name), cut(o.File), cut(o.CalledFrom), finite(o.Share)
	}
	return s
}

// encode marshals a bounded copy of s.
func (s Sidecar) encode() ([]byte, error) {
	for offenders := maxOffenders; ; offenders /= 2 {
		data, err := json.MarshalIndent(s.bounded(offenders), "", "  ")
		if err != nil {
			return nil, fmt.Errorf("encode sidecar: %w", err)
		}
		if len(data) < maxSidecar {
			return append(data, '\n'), nil
		}
		// Only texts made of escapes get here; half of the offenders say enough.
		if offenders == 0 {
			return nil, fmt.Errorf("encode sidecar: %w: %d bytes, at most %d are written", ErrInvalid, len(data), maxSidecar)
		}
	}
}

// decodeSidecar reads no more than encode writes: neither bytes, nor texts.
func decodeSidecar(r io.Reader) (Sidecar, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxSidecar+1))
	if err != nil {
		return Sidecar{}, fmt.Errorf("read sidecar: %w", err)
	}
	if len(data) > maxSidecar {
		return Sidecar{}, fmt.Errorf("read sidecar: %w: over %d bytes", ErrInvalid, maxSidecar)
	}
	var s Sidecar
	if err := json.Unmarshal(data, &s); err != nil {
		return Sidecar{}, fmt.Errorf("decode sidecar: %w", err)
	}
	return s.bounded(maxOffenders), nil
}

// cut shortens s to maxText bytes or, at a rune's edge, a little less.
func cut(s string) string {
	if len(s) <= maxText {
		return s
	}
	return strings.ToValidUTF8(s[:maxText], "") + "…"
}

func finite(f float64) float64 {
	if math.IsNaN(f) {
		return 0
	}
	return max(-math.MaxFloat64, min(f, math.MaxFloat64))
}
