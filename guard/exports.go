package guard

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/dumps"
	"github.com/profguard/profguard/internal/export"
	"github.com/profguard/profguard/internal/foreign"
	"github.com/profguard/profguard/internal/kinds"
	"github.com/profguard/profguard/internal/loop"
)

// exports sends profiles to Config.Export. What a window yields is collected, and queued when the
// window has ended: a profile that several budgets have a dump of, or that goes as a window, too,
// is sent once.
type exports struct {
	exporter   Exporter
	keepLabel  func(key, value string) bool // nil: all
	attributes map[string]string
	queue      *export.Queue
	store      func() *dumps.Store // nil for none

	mu      sync.Mutex
	waiting []*leaving        // of this window
	urls    map[string]string // of the last dumps
	unasked bool              // URL hangs, and is not asked again
}

// A leaving profile is one of a window.
type leaving struct {
	Profile
	marks  []string // its IDs in the dumps that it is in
	window bool     // and in no dump
}

// newExports returns nil without an exporter.
func newExports(g *Guard) *exports {
	if g.cfg.Export == nil {
		return nil
	}
	return &exports{exporter: g.cfg.Export, keepLabel: g.cfg.ExportLabel, attributes: attributesOf(g), store: g.dumps.Load, urls: map[string]string{}}
}

// attributesOf describe the process.
func attributesOf(g *Guard) map[string]string {
	name, host := g.module, ""
	if name == "" {
		name = os.Args[0]
	}
	host, _ = os.Hostname() // without it there are two attributes less
	of := map[string]string{}
	for i, v := range []string{path.Base(name), g.build.Version, g.build.Revision, host, host, "go", g.build.Go} {
		if of[attributeNames[i]] = v; v == "" {
			delete(of, attributeNames[i])
		}
	}
	for k, v := range g.cfg.Attributes {
		if of[k] = v; v == "" {
			delete(of, k)
		}
	}
	return of
}

var attributeNames = [...]string{
	"service.name", "service.version", "vcs.revision", "host.name", "service.instance.id", "process.runtime.name", "process.runtime.version",
}

// open begins to send. failing takes the error when sends fail, and nil when they work again.
func (x *exports) open(failing func(error)) {
	hooks := export.Hooks{Failing: failing, Stored: x.stored}
	x.queue = export.New(export.Defaults(), hooks)
}

// window takes a good window.
func (x *exports) window(w *loop.Window) {
	end := w.Start.Add(w.Elapsed)
	x.release() // of a window that ended in a panic
	x.collect(&leaving{window: true, Profile: Profile{
		ID: string(dumps.NewID(end, "window", "")) + "." + kinds.CPU, Kind: kinds.CPU, Data: w.Profile.Bytes(),
		Start: w.Start, End: end, Attributes: x.attributes,
	}})
}

// dump takes the profiles of a dump.
func (x *exports) dump(id dumps.ID, d *dumps.Dump) {
	of := describedAs(d.Files[len(d.Files)-1].Data)
	of.Start, of.End = d.Start, d.End // with their monotonic clock
	for i, f := range d.Files {
		kind, is := strings.CutSuffix(f.Name, ".pb.gz")
		if !is || f.Name == loop.BeforeName {
			continue // an execution trace, what has no new samples, or the description
		}
		of.ID, of.Kind, of.Data = string(id)+"."+kind, kind, f.Data
		l := x.collect(&leaving{marks: []string{of.ID}, Profile: of})
		if i == 0 {
			x.locate(id, l)
		}
	}
}

// collect adds a profile to those of the window, or to the one that has the same data.
func (x *exports) collect(l *leaving) *leaving {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, o := range x.waiting {
		if len(o.Data) == 0 || len(l.Data) == 0 || &o.Data[0] != &l.Data[0] {
			continue
		}
		o.marks = append(o.marks, l.marks...)
		if o.window {
			o.Profile, o.window = l.Profile, false
		} else {
			o.Budget += ", " + l.Budget
		}
		return o
	}
	x.waiting = append(x.waiting, l)
	return l
}

// release queues what was collected.
func (x *exports) release() {
	x.mu.Lock()
	waiting := x.waiting
	x.waiting = nil
	x.mu.Unlock()
	for _, l := range waiting {
		x.queue.Add(&export.Item{
			ID: l.ID, Also: l.marks, Bytes: len(l.Data), Window: l.window,
			Send: func(ctx context.Context) error { return x.send(ctx, &l.Profile) },
			Done: func() { x.sent(l.marks) },
		})
	}
}

// sent marks what was sent.
func (x *exports) sent(marks []string) {
	if store := x.store(); store != nil {
		for _, profile := range marks {
			store.Sent(profile)
		}
	}
}

// send hands a profile to the exporter, without the labels that are not to leave.
func (x *exports) send(ctx context.Context, shared *Profile) error {
	p := shared.own()
	if x.keepLabel != nil {
		t, err := new(decode.Decoder).Bytes(p.Data)
		if err != nil {
			return fmt.Errorf("%w: its labels cannot be read: %w", ErrRefused, err)
		}
		p.Data = t.Filter(func(s *decode.Stack) bool {
			kept := s.Labels[:0]
			for _, l := range s.Labels {
				value := string(t.String(l.Str))
				if l.Str == 0 {
					value = strconv.FormatInt(l.Num, 10)
				}
				if x.keepLabel(string(t.String(l.Key)), value) {
					kept = append(kept, l)
				}
			}
			s.Labels = kept
			return true
		}).Encode(t.Comments()...)
	}
	return x.exporter.Export(ctx, p)
}

// own is a copy for code of the host, which may change it, also later.
func (p *Profile) own() Profile {
	own := *p
	own.Data, own.Attributes = bytes.Clone(p.Data), maps.Clone(p.Attributes)
	return own
}

// description is the file of a dump that describes it, also for another process: a name and a value
// in each line. As JSON it would link a decoder into each program.
func (x *exports) description(c *loop.Change, d *dumps.Dump) dumps.File {
	of := maps.Clone(x.attributes)
	r := &c.Result
	limit, offender := "", ""
	if r.Limit > 0 {
		limit = strconv.FormatFloat(r.Limit, 'g', -1, 64)
	}
	if len(r.Offenders) > 0 {
		offender = r.Offenders[0].Function
	}
	for i, v := range []string{
		d.Start.Format(time.RFC3339Nano), d.End.Format(time.RFC3339Nano), d.Name,
		r.Budget.String(), r.Verdict.String(), strconv.FormatFloat(r.Value, 'g', -1, 64), limit, r.Unit, offender,
	} {
		of[describedNames[i]] = v
	}
	text := ""
	for k, v := range of {
		if v != "" {
			text += k + "=" + strings.ReplaceAll(v, "\n", " ") + "\n"
		}
	}
	return dumps.File{Name: dumps.DescriptionFile, Data: []byte(text)}
}

// describedNames are the keys of a description; the first three are no attributes.
var describedNames = [...]string{
	"start", "end", "budget",
	"profguard.budget.sentence", "profguard.verdict", "profguard.value", "profguard.limit", "profguard.unit", "profguard.offender",
}

// describedAs is the profile that a description is of. Lines that are none are left out.
func describedAs(text []byte) (p Profile) {
	of := map[string]string{}
	for line := range strings.SplitSeq(string(text), "\n") {
		if k, v, is := strings.Cut(line, "="); is {
			of[k] = v
		}
	}
	p.Start, _ = time.Parse(time.RFC3339Nano, of["start"])
	p.End, _ = time.Parse(time.RFC3339Nano, of["end"])
	p.Budget, p.Attributes = of["budget"], of
	for _, k := range describedNames[:3] {
		delete(of, k)
	}
	return p
}

// locateWithin is how long the exporter may take to say where a profile will be. It computes it.
const locateWithin = 100 * time.Millisecond

// locate remembers where a dump will be.
func (x *exports) locate(id dumps.ID, of *leaving) {
	l, is := x.exporter.(Locator)
	if !is || x.unasked {
		return
	}
	p, at := of.own(), ""
	if err := foreign.Within(locateWithin, func() error { at = l.URL(p); return nil }); err != nil {
		x.unasked = errors.Is(err, foreign.ErrHangs)
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if len(x.urls) == mostURLs {
		clear(x.urls)
	}
	if len(at) <= longestURL {
		x.urls[string(id)] = at
	}
}

// mostURLs is the most places of dumps that are remembered: events name dumps of the last minutes.
// longestURL is what browsers and chats take.
const mostURLs, longestURL = 256, 2048

// url is where a dump is, "" if nobody knows.
func (x *exports) url(dump string) string {
	if x == nil || dump == "" {
		return ""
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.urls[dump]
}

// stored are profiles of dumps on disk that were not sent: of a process that is gone, or that the
// queue had no room for.
func (x *exports) stored(most int) (items []*export.Item) {
	store := x.store()
	if store == nil {
		return nil
	}
	found, _ := store.Unsent(most) // an error of the disk is reported where dumps are saved
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, id := range found {
		if slices.ContainsFunc(x.waiting, func(l *leaving) bool { return slices.Contains(l.marks, id) }) {
			continue
		}
		items = append(items, &export.Item{
			ID:   id,
			Send: func(ctx context.Context) error { return x.sendStored(ctx, store, id) },
			Done: func() { store.Sent(id) },
		})
	}
	return items
}

func (x *exports) sendStored(ctx context.Context, store *dumps.Store, id string) error {
	data, description, err := store.ReadUnsent(id)
	if err == nil && data == nil {
		return export.ErrNeedless
	}
	if err == nil && !bytes.HasPrefix(data, []byte{0x1f, 0x8b}) {
		err = errors.New("expected a gzipped profile")
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrRefused, err)
	}
	p := describedAs(description)
	p.ID, p.Kind, p.Data = id, id[strings.LastIndexByte(id, '.')+1:], data
	return x.send(ctx, &p)
}

// exportFailing notes that sends fail, or with nil that they work again.
func (g *Guard) exportFailing(err error) {
	name, what := EventExportWorking, "profiles are exported again"
	if err != nil {
		name, what = EventExportFailing, "profiles are not exported: "+err.Error()
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.faults.clear("exports"); err != nil {
		g.faults.note("exports", what)
	}
	g.emit(Event{Name: name, Message: what})
}

// Flush sends the profiles that wait for export, at once, those of this process's dumps first, and
// returns when they are sent, and marked as sent in DumpDir, or when ctx ends, with an error that
// says how many are left. Those of dumps in DumpDir are sent by the next process that opens it. Call
// Flush before Stop, where a program ends:
//
//	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
//	defer cancel()
//	_ = g.Flush(ctx)
//	g.Stop()
func (g *Guard) Flush(ctx context.Context) error {
	if g == nil || g.exports == nil || g.cancel == nil {
		return nil
	}
	g.exports.release()
	err := g.exports.queue.Flush(ctx)
	if store := g.dumps.Load(); store != nil { // or the next process sends it again
		store.Mark(ctx)
	}
	return err
}
