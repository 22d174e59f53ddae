// Package reference keeps what is normal for a build of a program: the samples of its windows, added
// up within bounds ([Sum]), as an ordinary pprof file with facts in its comments ([Encode],
// [Decode]). A guard writes one for each build, and a check one as its baseline.
package reference

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/release"
)

// prefix begins the comment that has the facts.
const prefix = "profguard reference "

// form is the version of the facts. One that cannot be read by those who know an older one has a
// higher number.
const form = 1

// facts are what a reference says beside its samples.
type facts struct {
	Form    int                `json:"form"`
	Written time.Time          `json:"written,omitzero"`
	Build   release.Build      `json:"build"`
	Windows []release.Window   `json:"windows"`
	Spread  map[string]float64 `json:"spread,omitempty"`
}

// mostFacts bounds what is read of the facts: 64 windows and 500 functions are 60 KB.
const mostFacts = 1 << 20

// mostSpread is how many functions have their spread written, the most spread out first.
const mostSpread = 500

// Encode writes a side as a reference.
func Encode(s *release.Side, now time.Time) ([]byte, error) {
	f := facts{Form: form, Written: now.UTC().Truncate(time.Second), Build: s.Build, Windows: s.Windows, Spread: s.Spread}
	if len(f.Spread) > mostSpread {
		names := slices.SortedFunc(maps.Keys(f.Spread), func(a, b string) int {
			return cmp.Or(cmp.Compare(f.Spread[b], f.Spread[a]), cmp.Compare(a, b))
		})
		f.Spread = map[string]float64{}
		for _, name := range names[:mostSpread] {
			f.Spread[name] = s.Spread[name]
		}
	}
	text, err := json.Marshal(f)
	if err != nil {
		return nil, fmt.Errorf("encode reference: %w", err)
	}
	return s.Table.Encode(prefix + string(text)), nil
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
		text, is := strings.CutPrefix(comment, prefix)
		if !is {
			continue
		}
		var f facts
		if len(text) > mostFacts {
			return nil, fmt.Errorf("decode reference: its facts have %d bytes, expected at most %d", len(text), mostFacts)
		}
		if err := json.NewDecoder(bytes.NewReader([]byte(text))).Decode(&f); err != nil {
			if f.Form > form {
				return nil, newer(f.Form)
			}
			return nil, fmt.Errorf("decode reference: its facts are damaged: %w", err)
		}
		if f.Form > form {
			return nil, newer(f.Form)
		}
		if err := f.check(); err != nil {
			return nil, fmt.Errorf("decode reference: its facts are damaged: %w", err)
		}
		s.Build, s.Windows, s.Spread = f.Build, f.Windows, f.Spread
		s.Build = clipped(s.Build)
		return s, nil
	}
	return s, nil
}

func newer(is int) error {
	return fmt.Errorf("decode reference: a newer profguard wrote it (form %d, expected at most %d): use that, or a reference of this one", is, form)
}

// most is the largest number in facts.
const most = 1e15

// check refuses numbers that no writer has.
func (f *facts) check() error {
	if len(f.Windows) > mostWindows {
		return fmt.Errorf("found %d windows, expected at most %d", len(f.Windows), mostWindows)
	}
	valid := func(x float64) bool { return x >= 0 && x <= most && !math.IsNaN(x) }
	for i, w := range f.Windows {
		if !valid(w.Samples) || !valid(w.CPU) || !valid(w.Elapsed) {
			return fmt.Errorf("window %d has %v samples, %v s of CPU, %v s: expected numbers from 0 on", i+1, w.Samples, w.CPU, w.Elapsed)
		}
		for name, n := range w.Work {
			if !valid(n) {
				return fmt.Errorf("window %d has %v units of %.80q: expected a number from 0 on", i+1, n, name)
			}
		}
	}
	for name, phi := range f.Spread {
		if !valid(phi) {
			return fmt.Errorf("the spread of %.80q is %v: expected a number from 0 on", name, phi)
		}
	}
	return nil
}

// longest is the longest text of a build.
const longest = 200

// clipped is a build without texts that are too long for a line.
func clipped(b release.Build) release.Build {
	for _, text := range []*string{&b.Program, &b.Version, &b.Revision, &b.Go, &b.Arch, &b.Binary} {
		*text = strings.ToValidUTF8((*text)[:min(len(*text), longest)], "")
	}
	return b
}
