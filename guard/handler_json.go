package guard

import (
	"encoding/json"
	"math"
	"net/http"
	"strings"
	"time"

	"github.com/profguard/profguard/budget"
)

// statusJSON sends the status for programs.
func (h *handler) statusJSON(w http.ResponseWriter, r *http.Request) {
	data, err := json.MarshalIndent(newStatusDocument(h.g.Status()), "", "  ")
	if err != nil {
		refuse(w, http.StatusInternalServerError, err.Error())
		return
	}
	send(w, r, "application/json", append(data, '\n'))
}

// budgets sends the sentences of the budgets in force.
func (h *handler) budgets(w http.ResponseWriter, r *http.Request) {
	var b strings.Builder
	for _, s := range h.g.Status().Budgets {
		b.WriteString(s.Budget.String())
		b.WriteByte('\n')
	}
	send(w, r, "text/plain; charset=utf-8", []byte(b.String()))
}

// The document behind status.json. It is a type of its own, so that the names of
// its fields, which programs rely on, are not those of Go's fields.
type (
	statusDocument struct {
		State       string           `json:"state"`
		Reason      string           `json:"reason,omitempty"`
		PausedUntil time.Time        `json:"paused_until,omitzero"`
		Started     time.Time        `json:"started,omitzero"`
		Good        time.Time        `json:"last_good,omitzero"`
		Window      *windowDocument  `json:"window,omitempty"`
		Windows     map[string]int   `json:"windows"`
		Budgets     []budgetDocument `json:"budgets"`
		Cost        costDocument     `json:"cost"`
		Dumps       map[string]int64 `json:"dumps"`
		Dropped     map[string]int64 `json:"dropped"`
		Panics      map[string]int64 `json:"panics"`
	}
	costDocument struct {
		CPU   number `json:"cpu_seconds"`
		Share number `json:"share"`
	}
	windowDocument struct {
		Start      time.Time `json:"start"`
		Elapsed    number    `json:"seconds"`
		Outcome    string    `json:"outcome"`
		Reason     string    `json:"reason,omitempty"`
		Early      bool      `json:"early"`
		Samples    int64     `json:"samples"`
		Cores      number    `json:"cores"`
		GC         number    `json:"gc"`
		RSS        int64     `json:"rss"`
		Heap       int64     `json:"heap"`
		Goroutines int64     `json:"goroutines"`
	}
	budgetDocument struct {
		Name         string             `json:"name"`
		Sentence     string             `json:"sentence"`
		State        string             `json:"state"`
		Since        time.Time          `json:"since,omitzero"`
		Verdict      string             `json:"verdict"`
		Value        number             `json:"value"`
		Low          number             `json:"low"`
		High         number             `json:"high"`
		Limit        number             `json:"limit"`
		Unit         string             `json:"unit,omitempty"`
		Samples      int64              `json:"samples"`
		Hits         int64              `json:"hits"`
		Reason       string             `json:"reason,omitempty"`
		Alarm        string             `json:"alarm"`
		Evidence     number             `json:"evidence"`
		Offenders    []offenderDocument `json:"offenders"`
		Over         int                `json:"over"`
		Verdicts     map[string]int64   `json:"verdicts"`
		SamplesTotal int64              `json:"samples_total"`
		HitsTotal    int64              `json:"hits_total"`
		Warning      string             `json:"warning,omitempty"`
		Dump         string             `json:"dump,omitempty"`
		Dumped       time.Time          `json:"dumped,omitzero"`
	}
	offenderDocument struct {
		frameDocument
		Low     number          `json:"low"`
		High    number          `json:"high"`
		Blame   *frameDocument  `json:"blame,omitempty"`
		Callers []frameDocument `json:"callers,omitempty"`
		Callees []frameDocument `json:"callees,omitempty"`
	}
	frameDocument struct {
		Function string `json:"function"`
		File     string `json:"file,omitempty"`
		Line     int    `json:"line,omitempty"`
		Value    number `json:"value"`
	}
)

// number is null in JSON when it is none.
type number float64

// MarshalJSON implements [json.Marshaler].
func (n number) MarshalJSON() ([]byte, error) {
	if f := float64(n); !math.IsNaN(f) && !math.IsInf(f, 0) {
		return json.Marshal(f)
	}
	return []byte("null"), nil
}

func newStatusDocument(s Status) statusDocument {
	d := statusDocument{
		State: s.State, Reason: s.Reason, PausedUntil: s.PausedUntil, Started: s.Started, Good: s.Good,
		Windows: s.Windows, Cost: costDocument{number(s.CPU.Seconds()), number(s.CostShare)},
		Dumps: s.Dumps, Dropped: s.Dropped, Panics: s.Panics,
		Budgets: []budgetDocument{}, // never null
	}
	if w := s.Window; w.Outcome != "" {
		d.Window = &windowDocument{
			Start: w.Start, Elapsed: number(w.Elapsed.Seconds()), Outcome: w.Outcome, Reason: w.Reason, Early: w.Early, Samples: w.Samples,
			Cores: number(w.Cores), GC: number(w.GC), RSS: w.RSS, Heap: w.Heap, Goroutines: w.Goroutines,
		}
	}
	for _, b := range s.Budgets {
		d.Budgets = append(d.Budgets, newBudgetDocument(b))
	}
	return d
}

func newBudgetDocument(b BudgetStatus) budgetDocument {
	r := b.Result
	d := budgetDocument{
		Name: b.Name, Sentence: b.Budget.String(), State: b.State, Since: b.Since, Verdict: r.Verdict.String(),
		Value: number(r.Share), Low: number(r.Low), High: number(r.High), Limit: number(r.Limit), Unit: r.Unit,
		Samples: r.Samples, Hits: r.Hits, Reason: r.Reason, Alarm: r.Alarm.String(), Evidence: number(r.Evidence), Over: r.Over,
		Verdicts: b.Verdicts, SamplesTotal: b.Samples, HitsTotal: b.Hits, Warning: b.Warning, Dump: b.Dump, Dumped: b.Dumped,
		Offenders: []offenderDocument{},
	}
	for _, o := range r.Offenders {
		od := offenderDocument{frameDocument: newFrameDocument(o.Frame), Low: number(o.Low), High: number(o.High),
			Callers: newFrameDocuments(o.Callers), Callees: newFrameDocuments(o.Callees)}
		if o.Blame.Function != "" {
			blame := newFrameDocument(o.Blame)
			od.Blame = &blame
		}
		d.Offenders = append(d.Offenders, od)
	}
	return d
}

func newFrameDocuments(frames []budget.Frame) []frameDocument {
	var list []frameDocument
	for _, f := range frames {
		list = append(list, newFrameDocument(f))
	}
	return list
}

func newFrameDocument(f budget.Frame) frameDocument {
	return frameDocument{Function: f.Function, File: f.File, Line: f.Line, Value: number(f.Share)}
}
