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

// A Dump is a profile of a budget that fails, or fires, for a store and for who exports it.
type Dump struct {
	ID  dumps.ID // "" if it was left out
	Of  *Budget
	End time.Time // of its window
	Err error     // why it was not saved
	// Lost: the folder was removed or replaced, with the dumps in it, and was made again.
	Lost  bool
	Trace error // why it has no execution trace, if there is a recorder

	shows    string        // its first offender, "" without any
	alerted  time.Duration // when its alert began to fire; 0 if it did not
	severity float64       // how far over the limit it is
	ended    chan struct{} // closed when it was saved or has failed
	kept     bool          // saved or exported; guarded by archive.mu
}

// Keep has dumps of the budgets kept that fail, or fire, in a window: in a store, and by export. Either may be nil.
// complete adds what else belongs into a dump, and reports whether its budget is in force.
func (l *Loop) Keep(store *dumps.Store, r *Report, complete func(*Change, *dumps.Dump) bool, export func(*Change, dumps.ID, *dumps.Dump)) []*Dump {
	if store == nil && export == nil {
		return nil
	}
	return l.archive.save(store, r, complete, export)
}

// Tell hands over the notices of a window, each with the dump that shows what it is about, nil if there is none. It waits
// for these for a while: no notice names a file that does not exist.
func (l *Loop) Tell(ctx context.Context, r *Report, tell func(*Change, *Dump)) {
	saving, cancel := context.WithTimeout(ctx, dumpWait)
	defer cancel()
	for i := range r.Changes {
		if c := &r.Changes[i]; c.Notice != nil {
			tell(c, l.archive.shown(saving, c))
		}
	}
}

// Saved takes what became of a dump that was offered, and hands the dump to note before a notice names it. The store may
// call it at any time.
func (l *Loop) Saved(o dumps.Outcome, note func(*Dump)) {
	d := l.archive.outcome(o)
	if d == nil {
		return // it was long ago
	}
	defer close(d.ended)
	noted := *d
	noted.Err, noted.Lost = o.Err, o.Lost
	note(&noted)
}

// An archive decides which verdicts get a dump, and remembers the last dumps.
type archive struct {
	every, least time.Duration // between dumps of one budget with one offender, and with different ones
	offer        func(*dumps.Store, dumps.Dump) (dumps.ID, error)
	goroutines   func() decode.Source
	normal       func() []byte // a CPU profile of what was normal before; nil for none
	trace        Recorder      // nil for none
	traceFails   error         // why the recorder is not called again

	mu      sync.Mutex
	offered []*Dump // the oldest first
}

// save offers dumps of the verdicts that fail, or fire, to the store. For a figure, the profile is
// the one that shows its parts, with the CPU profile of the window beside it.
func (a *archive) save(store *dumps.Store, r *Report, complete func(*Change, *dumps.Dump) bool, export func(*Change, dumps.ID, *dumps.Dump)) (list []*Dump) {
	var beside []dumps.File // the same for all dumps of a window
	var untraced error
	made := 0
	for i := range r.Changes {
		c := &r.Changes[i]
		if made == dumpsAWindow || c.Result.Verdict != budget.Fail && !c.fires() {
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
				list = append(list, &Dump{Of: c.Of, End: c.End, Err: ErrTooSoon})
			}
			continue
		}
		if beside == nil {
			beside, untraced = a.beside()
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
		if !complete(c, &d) {
			continue
		}
		of := &Dump{Of: c.Of, End: c.End, Trace: untraced, shows: shows, ended: make(chan struct{})}
		a.add(of, c, store, &d, export != nil)
		if list, made = append(list, of), made+1; of.ID != "" && export != nil {
			export(c, of.ID, &d)
		}
	}
	return list
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
	begins := c.Alert.State == alert.Firing && !slices.ContainsFunc(a.offered, func(d *Dump) bool { return d.Of == c.Of && d.alerted == c.Alert.Since })
	for _, d := range a.offered {
		if d.Of != c.Of {
			continue
		}
		if last = d.End; c.End.Sub(last) < a.every && d.shows == offender && !(begins && (d.alerted == 0 || offender == partsOfWhole)) {
			return false, false
		}
	}
	soon = !begins && c.End.Sub(last) < a.least
	return !soon, soon
}

// add offers a dump to the store, and remembers it. One that no store takes has ended.
func (a *archive) add(d *Dump, c *Change, store *dumps.Store, content *dumps.Dump, exported bool) {
	a.mu.Lock() // the outcome waits for it, and finds the dump
	defer a.mu.Unlock()
	d.severity = c.Result.Value / cmp.Or(c.Result.Limit, 1)
	if c.Alert.State == alert.Firing {
		d.alerted = c.Alert.Since
		content.Mark = a.markOf(d)
	}
	if store != nil {
		d.ID, d.Err = a.offer(store, *content)
	}
	if store == nil || d.Err != nil {
		if d.kept = exported; exported {
			d.ID = dumps.NewID(content.End, content.Name, content.Mark)
		}
		close(d.ended)
	}
	if d.ID != "" {
		a.offered = append(a.offered[max(0, len(a.offered)+1-maxOffered):], d)
	}
}

// markOf is the mark of a dump that is the first or the worst of its alert, or "". Dumps
// that were not saved do not count. The lock must be held.
func (a *archive) markOf(d *Dump) string {
	mark := dumps.First
	for _, other := range a.offered {
		if other.Of == d.Of && other.alerted == d.alerted {
			if other.severity >= d.severity {
				return ""
			}
			mark = dumps.Worst
		}
	}
	return mark
}

// outcome notes that a dump was saved, or forgets it, so that the next failing window tries again.
func (a *archive) outcome(o dumps.Outcome) *Dump {
	a.mu.Lock()
	defer a.mu.Unlock()
	i := slices.IndexFunc(a.offered, func(d *Dump) bool { return d.ID == o.ID && !d.kept })
	if i < 0 {
		return nil
	}
	d := a.offered[i]
	if d.kept = o.Err == nil; !d.kept {
		a.offered = slices.Delete(a.offered, i, i+1)
	}
	return d
}

// shown is the last dump that was kept, is recent and shows what a notice is about: of this window, or of an earlier one
// that failed. It waits for those that are being saved, until ctx ends.
func (a *archive) shown(ctx context.Context, c *Change) *Dump {
	if c.Notice.Event.Ends() {
		return nil
	}
	a.mu.Lock()
	offered := slices.Clone(a.offered)
	a.mu.Unlock()
	for _, d := range slices.Backward(offered) {
		if d.Of == c.Of && d.shows == c.worst() && c.End.Sub(d.End) <= a.every && a.isKept(ctx, d) {
			return d
		}
	}
	return nil
}

// isKept waits until a dump was saved or has failed, or ctx ends.
func (a *archive) isKept(ctx context.Context, d *Dump) bool {
	select {
	case <-d.ended:
	case <-ctx.Done():
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return d.kept
}

// beside are further files that help to understand a profile: the goroutines, and the execution
// trace of the last seconds.
func (a *archive) beside() (files []dumps.File, untraced error) {
	files = []dumps.File{kindFile{kinds.Goroutine, a.goroutines()}.encoded()}
	if a.trace == nil {
		return files, nil
	}
	data, err := a.execution()
	if err == nil && len(data) > 0 {
		files = append(files, dumps.File{Name: "trace.out", Data: data})
	}
	return files, err
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
	if a.traceFails != nil {
		return nil, a.traceFails
	}
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
		a.traceFails = err // and it may still write to failed
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
