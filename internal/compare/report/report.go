// Package report is the outcome of a comparison, and the forms that it is written in.
package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/profguard/profguard/internal/compare/slice"
	"github.com/profguard/profguard/internal/unit"
)

// A Report is the outcome of a comparison.
type Report struct {
	Base       Side          `json:"base"`
	Head       Side          `json:"head"`
	Budgets    []string      `json:"budgets"`
	Benchmarks []Benchmark   `json:"benchmarks"`
	Packages   []Package     `json:"packages,omitempty"` // that could not be measured
	Notes      []string      `json:"notes,omitempty"`
	Took       time.Duration `json:"took"`
	TimeIsUp   bool          `json:"time_is_up,omitempty"`
	Needs      time.Duration `json:"needs,omitempty"` // the least in which each benchmark has the pairs of a verdict, if some had fewer
	Stopped    bool          `json:"interrupted,omitempty"`
	System     System        `json:"system"`
}

// A System is the machine of a comparison.
type System struct {
	OS    string `json:"os"`
	Arch  string `json:"arch"`
	Procs int    `json:"procs"`
	Load  string `json:"load,omitempty"` // over the last minute
}

// A Side is the code before or after.
type Side struct {
	Name     string `json:"name"` // as the user gave it
	Revision string `json:"revision"`
	Modified bool   `json:"modified,omitempty"`
	Go       string `json:"go"`
}

// A Verdict is what is known of a benchmark.
type Verdict string

const (
	Kept      Verdict = "kept"
	Broken    Verdict = "broken"
	Undecided Verdict = "undecided"
	Unjudged  Verdict = "not compared" // and Reason says why
)

// A Package is one whose benchmarks could not be run.
type Package struct {
	Path    string  `json:"path"`
	Verdict Verdict `json:"verdict"`
	Reason  string  `json:"reason"`
	Output  string  `json:"output,omitempty"`
}

// A Benchmark is one that is on both sides, or not compared for a reason.
type Benchmark struct {
	Package  string  `json:"package"`
	Name     string  `json:"name"`          // with sub-benchmarks
	New      bool    `json:"new,omitempty"` // the base has its code, and ran the head's test files
	Verdict  Verdict `json:"verdict"`
	Improved bool    `json:"improved,omitempty"` // surely cheaper
	Reason   string  `json:"reason,omitempty"`
	Output   string  `json:"output,omitempty"` // of one that failed
	Note     string  `json:"note,omitempty"`   // what is no verdict

	Pairs  int           `json:"pairs,omitempty"`
	Took   time.Duration `json:"took,omitempty"`
	CPU    Metric        `json:"cpu"`    // seconds a call
	Bytes  Metric        `json:"bytes"`  // a call
	Allocs Metric        `json:"allocs"` // a call
	Why    *Why          `json:"why,omitempty"`

	Slices [2][]slice.Record `json:"-"` // of the base and the head

	short string // the package in a title, "" for the last element of its path
}

// A Metric is a cost of one call on both sides. Base is the median of the base's slices, and Head what
// the growth makes of it.
type Metric struct {
	Base float64 `json:"base"`
	Head float64 `json:"head"`
	// Growth is 0.05 for 5% more, with its bounds, each of which is wrong one time in a hundred, at
	// all looks together. Without enough pairs there are none.
	Growth *float64 `json:"growth,omitempty"`
	Low    *float64 `json:"low,omitempty"`
	High   *float64 `json:"high,omitempty"`
	Exact  bool     `json:"exact,omitempty"` // the same in each slice
	// Verdict is that on this cost alone, "" without a budget for it.
	Verdict Verdict `json:"verdict,omitempty"`
}

// Why is which functions cost more, by profiles of both sides.
type Why struct {
	Rows    []Row  `json:"rows,omitempty"`
	Note    string `json:"note,omitempty"`
	Command string `json:"command,omitempty"` // a line for each profile
	File    string `json:"file,omitempty"`    // of the line to look at, below the root of the repository
	Line    int    `json:"line,omitempty"`
}

// Add adds another profile of the benchmark.
func (w *Why) Add(more *Why) {
	join := func(a, b, by string) string {
		if a == "" || b == "" {
			return a + b
		}
		return a + by + b
	}
	w.Rows = append(w.Rows, more.Rows...)
	w.Note, w.Command = join(w.Note, more.Note, "; "), join(w.Command, more.Command, "\n")
	if w.File == "" {
		w.File, w.Line = more.File, more.Line
	}
}

// A Row is one function of a profile.
type Row struct {
	Function string `json:"function"`
	Text     string `json:"text"`
}

// Verdict is that on all benchmarks together. If none could be compared, nothing is known.
func (r *Report) Verdict() Verdict {
	count := r.count()
	switch {
	case count[Broken] > 0:
		return Broken
	case count[Undecided] > 0, count[Kept] == 0, r.Stopped:
		return Undecided
	}
	return Kept
}

func (r *Report) count() map[Verdict]int {
	count := map[Verdict]int{}
	for _, b := range r.Benchmarks {
		count[b.Verdict]++
	}
	for _, p := range r.Packages {
		count[p.Verdict]++
	}
	return count
}

// Summary is the outcome in one line.
func (r *Report) Summary() string {
	count := r.count()
	improved, same := 0, 0
	for _, b := range r.Benchmarks {
		if b.Improved {
			improved++
		}
	}
	for _, p := range r.Packages {
		if p.Verdict == Kept {
			same++
		}
	}
	var parts []string
	add := func(n int, what string) {
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, what))
		}
	}
	add(count[Broken], string(Broken))
	add(count[Undecided], string(Undecided))
	add(count[Kept]-improved-same, string(Kept))
	add(improved, "cheaper")
	if same > 0 {
		parts = append(parts, unit.Plural(same, "package")+" the same")
	}
	add(count[Unjudged], string(Unjudged))
	text := cmp.Or(strings.Join(parts, ", "), "no benchmark")
	switch {
	case r.Stopped:
		text += "; interrupted after " + r.Took.Round(time.Second).String()
	case r.TimeIsUp && count[Undecided] > 0:
		text += "; the time is up after " + r.Took.Round(time.Second).String()
		if r.Needs > 0 {
			text += fmt.Sprintf(", too early for some verdicts: these take -time %v or more", r.Needs)
		} else {
			text += ", and a longer -time decides more"
		}
	}
	return text
}

// String is a side as people read it: "main (1a2b3c4d5e)".
func (s Side) String() string {
	text := s.Revision
	if s.Name != "" && !strings.HasPrefix(s.Revision, s.Name) {
		text = s.Name + " (" + s.Revision + ")"
	}
	if s.Modified {
		text += " with changes"
	}
	return text
}

// Title is a benchmark as people read it.
func (b *Benchmark) Title() string {
	return cmp.Or(b.short, lastElements(b.Package, 1)) + "." + strings.TrimPrefix(b.Name, "Benchmark")
}

// Shorten gives packages whose paths end in the same element more of it, so that no two have the
// same title.
func (r *Report) Shorten() {
	for i := range r.Benchmarks {
		b := &r.Benchmarks[i]
		same := func(n int) bool {
			return slices.ContainsFunc(r.Benchmarks, func(o Benchmark) bool {
				return o.Package != b.Package && lastElements(o.Package, n) == lastElements(b.Package, n)
			})
		}
		n := 1
		for n <= strings.Count(b.Package, "/") && same(n) {
			n++
		}
		b.short = lastElements(b.Package, n)
	}
}

// lastElements are the last n elements of a path.
func lastElements(path string, n int) string {
	at := len(path)
	for range n {
		if at = strings.LastIndexByte(path[:at], '/'); at < 0 {
			return path
		}
	}
	return path[at+1:]
}

// Difference is the growth with its bounds: "+4.2% (+3.1% to +5.3%)".
func (m Metric) Difference() string {
	switch {
	case m.Base == 0 && m.Head > 0:
		return "from none"
	case m.Growth == nil:
		return ""
	case m.Exact && *m.Growth == 0:
		return "same"
	case m.Exact:
		return percent(*m.Growth)
	case m.Low == nil || m.High == nil:
		return "about " + percent(*m.Growth)
	}
	return fmt.Sprintf("%s (%s to %s)", percent(*m.Growth), percent(*m.Low), percent(*m.High))
}

// percent is a growth: "+4.2%".
func percent(v float64) string {
	digits := 1
	if math.Abs(v) >= 1 {
		digits = 0
	}
	text := fmt.Sprintf("%+.*f%%", digits, 100*v)
	if text == "-0.0%" {
		text = "+0.0%"
	}
	return text
}

// amount is a cost of one call.
func amount(v float64, d unit.Dimension) string {
	switch {
	case d == unit.Count && v == math.Trunc(v):
		return fmt.Sprintf("%.0f", v)
	case d == unit.Time:
		return Seconds(v)
	}
	return unit.Format(v, d)
}

// Seconds is a time in three digits. No number of pairs or samples carries more.
func Seconds(v float64) string {
	if v > 0 {
		digit := math.Pow(10, math.Floor(math.Log10(v))-2)
		v = math.Round(v/digit) * digit
	}
	return unit.Format(v, unit.Time)
}

// arrow is a metric on both sides: "12 -> 14", or "12" if it stayed.
func (m Metric) arrow(d unit.Dimension) string {
	base, head := amount(m.Base, d), amount(m.Head, d)
	if base == head {
		return base
	}
	return base + " -> " + head
}

// conclusion is the verdict in words.
func (b *Benchmark) conclusion() string {
	text := string(b.Verdict)
	if b.Improved && b.Verdict == Kept {
		text = "cheaper"
	}
	if b.New {
		text += " (new)"
	}
	if b.Reason != "" {
		text += ": " + b.Reason
	}
	return text
}
