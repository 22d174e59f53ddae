package loop

import (
	"cmp"
	"context"
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
	// Lost: the folder was removed or replaced, with the dumps in it, and was made again.
	Lost bool

	ended chan struct{} // nil: nobody waits for it
}

// Noted lets notices name the dump. Who has taken its outcome says so.
func (d *Dumped) Noted() {
	if d.ended != nil {
		close(d.ended)
	}
}

// Kept are the dumps of a window, and what has become of others already.
type Kept struct {
	Dumps []Offered
	Left  []Dumped
	// Trace is why there is no execution trace in them, if it was asked for: Traced.
	Trace  error
	Traced bool

	waits []*dump
}

// Offered is a dump that was offered to the store, or that others may keep if there is none.
type Offered struct {
	ID dumps.ID
	*dumps.Dump
}

// Told is a notice, with the dump that shows what it is about, if there is one.
type Told struct {
	Of *Budget
	At time.Time
	Notice
	Dump   dumps.ID
	Dumped time.Time // the end of its window
}

// Keep has dumps of the budgets kept that fail, or fire, in a window: in a store, or if that is nil by who asked. complete
// adds what else belongs into one, and reports whether its budget is in force. Told has to follow.
func (l *Loop) Keep(store *dumps.Store, r *Report, elsewhere bool, complete func(*Change, *dumps.Dump) bool) *Kept {
	k := new(Kept)
	if r.Measurement != nil && (store != nil || elsewhere) {
		l.archive.save(k, store, r, elsewhere, complete)
	}
	return k
}

// Told are the notices of a window with their dumps. They wait for these for a while: no notice names a file that does
// not exist.
func (l *Loop) Told(ctx context.Context, r *Report, k *Kept) (list []Told) {
	saving, cancel := context.WithTimeout(ctx, dumpWait)
	defer cancel()
	for _, d := range k.waits {
		select {
		case <-d.ended:
		case <-saving.Done():
		}
	}
	for i := range r.Changes {
		c := &r.Changes[i]
		if c.Notice == nil {
			continue
		}
		t := Told{Of: c.Of, At: c.End, Notice: *c.Notice}
		if !t.Event.Ends() {
			t.Dump, t.Dumped = l.archive.last(c.Of, c.worst(), c.End)
			if t.Dump != "" && t.Dumped.Before(t.At) {
				t.Message += "; the dump is of an earlier window that failed, which ended at " + t.Dumped.Format(time.DateTime)
			}
		}
		list = append(list, t)
	}
	return list
}

// Saved is what became of a dump that was offered. The store may call it at any time.
func (l *Loop) Saved(o dumps.Outcome) Dumped {
	d := l.archive.outcome(o)
	return Dumped{Of: d.of, ID: o.ID, End: d.at, Err: o.Err, Lost: o.Lost, ended: d.ended}
}

// An archive decides which verdicts get a dump, and remembers the last dumps.
type archive struct {
	every, least time.Duration // between dumps of one budget with one offender, and with different ones
	offer        func(*dumps.Store, dumps.Dump) (dumps.ID, error)
	goroutines   func() decode.Source
	normal       func() []byte // a CPU profile of what was normal before; nil for none
	trace        Recorder      // nil for none, or after it has failed

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
func (a *archive) save(k *Kept, store *dumps.Store, r *Report, elsewhere bool, complete func(*Change, *dumps.Dump) bool) {
	var beside []dumps.File // the same for all dumps of a window
	for i := range r.Changes {
		c := &r.Changes[i]
		if len(k.Dumps) == dumpsAWindow || c.Result.Verdict != budget.Fail && !c.fires() {
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
				k.Left = append(k.Left, Dumped{Of: c.Of, End: c.End, Err: ErrTooSoon})
			}
			continue
		}
		if beside == nil {
			beside = a.beside(k)
		}
		d := dumps.Dump{Name: c.Of.Name, Start: r.CPU.Start, End: c.End}
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
		d.Files = slices.DeleteFunc(d.Files, func(f dumps.File) bool { return len(f.Data) == 0 })
		if complete(c, &d) {
			a.add(k, store, c, shows, d, elsewhere)
		}
	}
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

// add offers a dump to the store. One that the store refuses has ended.
func (a *archive) add(k *Kept, store *dumps.Store, c *Change, shows string, of dumps.Dump, elsewhere bool) {
	d := &dump{of: c.Of, at: c.End, shows: shows, severity: c.Result.Value / cmp.Or(c.Result.Limit, 1), ended: make(chan struct{})}
	if c.Alert.State == alert.Firing {
		d.alerted = c.Alert.Since
	}
	if err := a.remember(d, store, &of, elsewhere); err != nil {
		k.Left = append(k.Left, Dumped{Of: c.Of, End: c.End, Err: err})
	}
	k.Dumps, k.waits = append(k.Dumps, Offered{d.id, &of}), append(k.waits, d)
}

// remember offers a dump to the store, and remembers it.
func (a *archive) remember(d *dump, store *dumps.Store, of *dumps.Dump, elsewhere bool) (err error) {
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
	if d.id == "" && elsewhere {
		d.id, d.kept = dumps.NewID(of.End, of.Name, of.Mark), true
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
func (a *archive) beside(k *Kept) []dumps.File {
	files := []dumps.File{kindFile{kinds.Goroutine, a.goroutines()}.encoded()}
	if a.trace == nil {
		return files
	}
	data, err := a.execution()
	if k.Trace, k.Traced = err, true; err == nil && len(data) > 0 {
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

// execution is the execution trace of the last seconds. The recorder is code
// of the host. If it panics, hangs or writes without end, it is not called again. An error costs
// the dumps of one window their trace: the recorder has one, for example, while the host writes a trace itself.
func (a *archive) execution() ([]byte, error) {
	recorder := a.trace
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
		return nil, err
	}
	return written.data, failed
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
