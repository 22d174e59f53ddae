package page

import (
	"html/template"
	"path"
	"time"
)

// Overview is what the guard's page shows. Strings are shown by way of [Clean].
type Overview struct {
	Program string // what is guarded, and where: "checkout on web-1"
	Now     time.Time
	Started time.Time // zero: it never was
	State   string    // "running", "paused", "stopped"
	Reason  string
	Until   time.Time // paused until then; zero otherwise

	Budgets []Budget
	// More is how many budgets there are beside those.
	More int

	Window  Window
	Windows []Count // by outcome
	Cost    Cost
	Losses  []Loss

	// Dumps are the newest; DumpNote says why there are none, or no more.
	Dumps    []Dump
	DumpNote string

	// Live says that profiles can be taken, of up to MaxSeconds.
	Live                bool
	Seconds, MaxSeconds int
}

// Firing counts the budgets that are broken.
func (o Overview) Firing() int {
	n := 0
	for _, b := range o.Budgets {
		if b.State == "firing" {
			n++
		}
	}
	return n
}

// Age is for how long the guard has run.
func (o Overview) Age() string { return Ago(o.Now.Sub(o.Started)) }

// Since is how long ago something was.
func (o Overview) Since(t time.Time) string { return Ago(o.Now.Sub(t)) }

// Budget is where one budget stands.
type Budget struct {
	Name     string // "" if it has none but its sentence
	Sentence string
	State    string // "inactive", "pending", "firing", "resolved"
	Since    time.Time
	Verdict  string // of the last window; "" before the first

	// Value, its bounds and the limit are in Unit; see [Amount].
	Value, Low, High, Limit float64
	Unit                    string
	Samples                 int64
	Reason                  string
	Warning                 string

	Verdicts []Count
	History  []float64 // values of the last windows, NaN for those that told nothing

	Offenders []Offender
	Over      int // how many there are in all

	Dump string // id of the last dump
}

// Bar draws the value against the limit.
func (b Budget) Bar() template.HTML {
	if b.Verdict == "" {
		return ""
	}
	return Bar(b.Value, b.Low, b.High, b.Limit, b.Unit)
}

// Spark draws the history.
func (b Budget) Spark() template.HTML { return Sparkline(b.History, b.Limit, b.Unit) }

// Bounded reports whether the value is known to lie in a range only.
func (b Budget) Bounded() bool { return b.High > b.Low }

// Others is how many offenders are not shown.
func (b Budget) Others() int { return max(b.Over-len(b.Offenders), 0) }

// An Offender is a function over the limit, with the way in and where it goes.
type Offender struct {
	Place
	Value, Low, High float64
	Unit             string
	Blame            Place // in the program's own code; no name: nowhere
	In               []Place
	Out              []Place
}

// A Place is a function, and a line if it is known.
type Place struct {
	Name string
	File string
	Line int
}

// Base is the file with its directory, which is enough to know it by.
func (p Place) Base() string {
	return path.Join(path.Base(path.Dir(p.File)), path.Base(p.File))
}

// Window is how the last window went; the zero Window means that there was none.
type Window struct {
	Start   time.Time
	Length  time.Duration
	Outcome string
	Reason  string
	Early   bool
	Samples int64

	Cores, GC  float64
	RSS, Heap  int64
	Goroutines int64
}

// Bytes shows a size.
func (w Window) Bytes(n int64) string { return Amount(float64(n), "bytes") }

// Count is a number with what it counts.
type Count struct {
	Name string
	N    int64
}

// Loss is what was lost at one place.
type Loss struct {
	What   string // "events dropped", "panics recovered", "dumps"
	Counts []Count
}

// Cost is what the guard has cost.
type Cost struct {
	CPU   time.Duration
	Share float64 // of one core, lately
}

// Dump is a profile that was kept.
type Dump struct {
	ID      string
	Budget  string
	Time    time.Time
	Bytes   int64
	Verdict string
	Value   string // what was measured
	Top     string // the worst offender
	Broken  string // why its sidecar cannot be read
}

// Size shows the dump's size.
func (d Dump) Size() string { return Amount(float64(d.Bytes), "bytes") }
