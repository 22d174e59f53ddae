package loop

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/alert"
	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/dumps"
	"github.com/profguard/profguard/internal/foreign"
	"github.com/profguard/profguard/internal/kinds"
)

const (
	// dumpWait is how long the loop waits for the dumps of a window. A save takes
	// milliseconds. If it takes more than two seconds, the events are sent without the ids of the
	// dumps.
	dumpWait = 2 * time.Second

	// dumpsAWindow limits the cost of a window in which many budgets fail: there are dumps of
	// the first ones, and of the others after the next window.
	dumpsAWindow = 4

	// maxOffered is the number of dumps that are remembered. It is more than are offered within
	// Keep.Every, and more than are kept by default.
	maxOffered = 256
)

// ErrTooSoon is the error of a dump that was left out because it came too soon after another.
var ErrTooSoon = errors.New("too soon after another dump")

// Dumped is what became of a dump.
type Dumped struct {
	Of  *Budget
	ID  dumps.ID
	End time.Time // of its window
	Err error     // why it was not saved
}

// An archive decides which verdicts get a dump, and remembers the last dumps.
type archive struct {
	every, least time.Duration // between dumps of one budget with one offender, and with different ones
	offer        func(*dumps.Store, dumps.Dump) (dumps.ID, error)
	goroutines   func() decode.Source
	normal       func() []byte                 // a CPU profile of what was normal before; nil for none
	trace        Recorder                      // nil for none, or after it has failed
	status       func(*Budget) []byte          // for the sidecar, nil if the budget is not in force
	ended        func(Dumped)                  // also on the goroutine of the store
	traced       func(error)                   // the execution trace was written, or why not
	observers    []func(dumps.ID, *dumps.Dump) // of dumps
	describe     func(*Change, *dumps.Dump) dumps.File

	mu      sync.Mutex
	offered []*dump // the oldest first
}

// A dump is a profile of a budget that was offered to the store.
type dump struct {
	id    dumps.ID
	of    *Budget
	at    time.Time     // the end of its window
	shows string        // its first offender, "" without any
	ended chan struct{} // closed when it was saved or has failed
	kept  bool          // saved

	alerted  time.Duration // when its alert began to fire; 0 if it did not
	severity float64       // how far over the limit it is
}

// save offers dumps of the verdicts that fail, or fire, to the store. For a figure, the profile is
// the one that shows its parts, with the CPU profile of the window beside it.
func (a *archive) save(store *dumps.Store, changes []Change, r *Measurement) (offered []*dump) {
	if store == nil && len(a.observers) == 0 {
		return nil
	}
	var beside []dumps.File // the same for all dumps of a window
	for i := range changes {
		c := &changes[i]
		if len(offered) == dumpsAWindow || c.Result.Verdict != budget.Fail && !c.fires() {
			continue
		}
		files, shows := []kindFile{{cmp.Or(c.Of.Needs.Profile, kinds.CPU), c.profile}}, c.worst()
		if p := c.parts; p != nil && p.err != nil {
			shows = "" // the offenders are of an earlier window
		} else if p != nil {
			files = []kindFile{{p.kind, p.profile}, {kinds.CPU, r.CPU.Source}}
		}
		if files[0].IsEmpty() {
			continue
		}
		if due, soon := a.isDue(c, shows); !due {
			if soon {
				a.ended(Dumped{Of: c.Of, End: c.End, Err: ErrTooSoon})
			}
			continue
		}
		status := a.status(c.Of)
		if status == nil { // the budget is not in force any more
			continue
		}
		if beside == nil {
			beside = a.beside()
		}
		d := dumps.Dump{Name: c.Of.Name, Start: r.CPU.Start, End: c.End, Budget: status}
		for _, f := range files {
			d.Files = append(d.Files, f.encoded())
		}
		for _, f := range beside {
			if f.Name != d.Files[0].Name {
				d.Files = append(d.Files, f)
			}
		}
		if a.normal != nil && files[0].kind == kinds.CPU {
			d.Files = append(d.Files, dumps.File{Name: BeforeName, Data: a.normal()})
		}
		if a.describe != nil {
			d.Files = append(d.Files, a.describe(c, &d))
		}
		d.Files = slices.DeleteFunc(d.Files, func(f dumps.File) bool { return len(f.Data) == 0 })
		offered = append(offered, a.add(store, c, shows, d))
	}
	return offered
}

// BeforeName is the file of a dump of CPU that has what was normal before: in the build before, or else in this
// one so far.
const BeforeName = "before.cpu.pb.gz"

// A kindFile is a profile of a kind.
type kindFile struct {
	kind string
	decode.Source
}

func (f kindFile) encoded() dumps.File { return dumps.File{Name: f.kind + ".pb.gz", Data: f.Bytes()} }

// fires reports whether the alert begins with this window.
func (c *Change) fires() bool { return c.Notice != nil && c.Notice.Event == alert.Fired }

// isDue reports whether a dump of an offender is due, as Config.Keep of the guard says, and if not, whether there was
// one of another just before. Dumps from before an alert do not stand for its first one: they
// have no mark, and the store removes them first.
func (a *archive) isDue(c *Change, offender string) (due, soon bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	var last time.Time
	begins := c.Alert.State == alert.Firing && !slices.ContainsFunc(a.offered, func(d *dump) bool { return d.of == c.Of && d.alerted == c.Alert.Since })
	for _, d := range a.offered {
		if d.of != c.Of {
			continue
		}
		if last = d.at; c.End.Sub(last) < a.every && d.shows == offender && !(begins && (d.alerted == 0 || offender == partsOfWhole)) {
			return false, false
		}
	}
	soon = !begins && c.End.Sub(last) < a.least
	return !soon, soon
}

// add offers a dump to the store, and shows it to the others that want dumps. A dump that the
// store refuses has ended.
func (a *archive) add(store *dumps.Store, c *Change, shows string, of dumps.Dump) *dump {
	d := &dump{of: c.Of, at: c.End, shows: shows, severity: c.Result.Value / cmp.Or(c.Result.Limit, 1), ended: make(chan struct{})}
	if c.Alert.State == alert.Firing {
		d.alerted = c.Alert.Since
	}
	if err := a.remember(d, store, &of); err != nil {
		a.ended(Dumped{Of: c.Of, End: c.End, Err: err})
	}
	for _, show := range a.observers {
		show(d.id, &of)
	}
	return d
}

// remember offers a dump to the store, and remembers it.
func (a *archive) remember(d *dump, store *dumps.Store, of *dumps.Dump) (err error) {
	a.mu.Lock() // the outcome waits for it, and finds the dump
	defer a.mu.Unlock()
	if d.alerted > 0 {
		of.Mark = a.markOf(d)
	}
	if store != nil {
		d.id, err = a.offer(store, *of)
	}
	if err != nil || store == nil {
		close(d.ended)
	}
	if d.id == "" && len(a.observers) > 0 {
		d.id, d.kept = dumps.NewID(of.End, of.Name, of.Mark), true // elsewhere
	}
	if err == nil || d.kept {
		a.offered = append(a.offered[max(0, len(a.offered)+1-maxOffered):], d)
	}
	return err
}

// markOf is the mark of a dump that is the first or the worst of its alert, or "". Dumps
// that were not saved do not count. The lock must be held.
func (a *archive) markOf(d *dump) string {
	mark := dumps.First
	for _, other := range a.offered {
		if other.of == d.of && other.alerted == d.alerted {
			if other.severity >= d.severity {
				return ""
			}
			mark = dumps.Worst
		}
	}
	return mark
}

// saved takes the outcome of a dump, on the store's goroutine.
func (a *archive) saved(o dumps.Outcome) {
	d := a.outcome(o)
	a.ended(Dumped{Of: d.of, ID: o.ID, End: d.at, Err: o.Err})
	if d.ended != nil {
		close(d.ended)
	}
}

// outcome notes that a dump was saved, or forgets it, so that the next failing window tries again.
func (a *archive) outcome(o dumps.Outcome) (of dump) {
	a.mu.Lock()
	defer a.mu.Unlock()
	i := slices.IndexFunc(a.offered, func(d *dump) bool { return d.id == o.ID && !d.kept })
	if i < 0 {
		return of // it was long ago
	}
	a.offered[i].kept = o.Err == nil
	of = *a.offered[i]
	if o.Err != nil {
		a.offered = slices.Delete(a.offered, i, i+1)
	}
	return of
}

// last is the last dump of a budget that was saved, is recent and shows an offender: of this
// window, or of an earlier one that failed.
func (a *archive) last(of *Budget, shows string, now time.Time) (id dumps.ID, end time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, d := range slices.Backward(a.offered) {
		if d.of == of && d.kept && now.Sub(d.at) <= a.every && d.shows == shows {
			return d.id, d.at
		}
	}
	return "", time.Time{}
}

// beside are further files that help to understand a profile: the goroutines, and the execution
// trace of the last seconds.
func (a *archive) beside() []dumps.File {
	files := []dumps.File{kindFile{kinds.Goroutine, a.goroutines()}.encoded()}
	if data := a.execution(); len(data) > 0 {
		files = append(files, dumps.File{Name: "trace.out", Data: data})
	}
	return files
}

const (
	// traceMost is the most that a recorder may write. A flight recorder keeps 10 MiB by default.
	traceMost = 64 << 20
	// traceWithin is how long it may take. Usually it takes milliseconds.
	traceWithin = time.Second
)

// A Recorder is a flight recorder.
type Recorder interface {
	Enabled() bool
	WriteTo(w io.Writer) (n int64, err error)
}

// execution is the execution trace of the last seconds, nil if there is none. The recorder is code
// of the host. If it panics, hangs or writes without end, it is not called again. An error costs
// the dumps of one window their trace: the recorder has one, for example, while the host writes a trace itself.
func (a *archive) execution() []byte {
	recorder := a.trace
	if recorder == nil {
		return nil
	}
	var written limited
	var failed error
	err := foreign.Within(traceWithin, func() error {
		if recorder.Enabled() {
			_, failed = recorder.WriteTo(&written)
		}
		return written.tooMuch
	})
	if err != nil {
		a.trace = nil // and it may still write to failed
	} else {
		err = failed
	}
	a.traced(err)
	if err != nil {
		return nil
	}
	return written.data
}

// limited takes at most traceMost bytes, and remembers if there were more.
type limited struct {
	data    []byte
	tooMuch error
}

func (b *limited) Write(p []byte) (int, error) {
	if len(b.data)+len(p) > traceMost {
		b.tooMuch = fmt.Errorf("it writes more than %d MiB", traceMost>>20)
		return 0, b.tooMuch
	}
	b.data = append(b.data, p...)
	return len(p), nil
}
