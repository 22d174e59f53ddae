package guard

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
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

// exports sends profiles to Config.Export: each good window if Config.ExportAll says so, and each
// dump. A dump is a profile of its own, also where it has the samples of a window or of another dump:
// so it has one budget, and the same ID in this process and in the next one.
type exports struct {
	exporter   Exporter
	keepLabel  func(key, value string) bool // nil: all
	attributes map[string]string
	queue      *export.Queue
	store      func() *dumps.Store // nil for none

	mu      sync.Mutex
	urls    map[string]string // of the last dumps
	unasked bool              // URL hangs, and is not asked again
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

// open begins to send.
func (x *exports) open(g *Guard) {
	x.queue = export.New(export.Defaults(), export.Hooks{Failing: g.exportFailing, Refused: g.exportRefused, Stored: x.stored})
}

// window takes a good window.
func (x *exports) window(w *loop.Window) {
	end := w.Start.Add(w.Elapsed)
	x.add(&Profile{
		ID: string(dumps.NewID(end, "window", "")) + "." + kinds.CPU, Kind: kinds.CPU, Data: w.Profile.Bytes(),
		Start: w.Start, End: end, Attributes: x.attributes,
	}, true)
}

// dump takes the profiles of a dump.
func (x *exports) dump(id dumps.ID, d *dumps.Dump) {
	of, _ := describedAs(string(id), d.Files[len(d.Files)-1].Data)
	of.Start, of.End = d.Start, d.End // with their monotonic clock
	for i, f := range d.Files {
		kind, is := strings.CutSuffix(f.Name, ".pb.gz")
		if !is || f.Name == loop.BeforeName {
			continue // an execution trace, what has no new samples, or the description
		}
		p := of
		p.ID, p.Kind, p.Data = string(id)+"."+kind, kind, f.Data
		if x.add(&p, false); i == 0 {
			x.locate(id, &p)
		}
	}
}

// add queues a profile. One of a dump is marked in DumpDir when it has left.
func (x *exports) add(p *Profile, window bool) {
	x.queue.Add(&export.Item{
		ID: p.ID, Bytes: len(p.Data), Window: window,
		Send: func(ctx context.Context) error { return x.send(ctx, p) },
		Done: func(refused bool) {
			if store := x.store(); store != nil && !window {
				store.Sent(p.ID, refused)
			}
		},
	})
}

// send hands a profile to the exporter, without the labels that are not to leave.
func (x *exports) send(ctx context.Context, shared *Profile) error {
	p := shared.own()
	if x.keepLabel != nil {
		t, err := new(decode.Decoder).Bytes(p.Data)
		if err != nil {
			return fmt.Errorf("%w: its labels cannot be read: %w", ErrRefused, err)
		}
		if p.Data = x.filtered(t); p.Data == nil {
			return fmt.Errorf("%w: Config.ExportLabel has panicked, so nobody knows which labels may leave: mend it", ErrRefused)
		}
	}
	return x.exporter.Export(ctx, p)
}

// filtered is a profile without the labels that are not to leave, nil if the hook has panicked. What
// it panics with may be a label, and is not told.
func (x *exports) filtered(t *decode.Table) (data []byte) {
	defer func() { _ = recover() }()
	return t.Filter(func(s *decode.Stack) bool {
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
	limit, offender, labels := "", "", ""
	if r.Limit > 0 {
		limit = strconv.FormatFloat(r.Limit, 'g', -1, 64)
	}
	if len(r.Offenders) > 0 {
		offender = r.Offenders[0].Function
	}
	if x.keepLabel != nil {
		labels = "filtered"
	}
	for i, v := range []string{
		d.Start.Format(time.RFC3339Nano), d.End.Format(time.RFC3339Nano), d.Name, labels,
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

// describedNames are the keys of a description; the first four are no attributes. labels is
// "filtered" if some of the dump's labels must not leave.
var describedNames = [...]string{
	"start", "end", "budget", "labels",
	"profguard.budget.sentence", "profguard.verdict", "profguard.value", "profguard.limit", "profguard.unit", "profguard.offender",
}

// describedAs is the profile of a dump that a description is of, and whether its labels must be
// filtered. Lines that are none are left out.
func describedAs(dump string, text []byte) (p Profile, filtered bool) {
	of := map[string]string{}
	for line := range strings.SplitSeq(string(text), "\n") {
		if k, v, is := strings.Cut(line, "="); is {
			of[k] = v
		}
	}
	p.Start, _ = time.Parse(time.RFC3339Nano, of["start"])
	p.End, _ = time.Parse(time.RFC3339Nano, of["end"])
	p.Budget, p.Attributes, filtered = of["budget"], of, of["labels"] != ""
	for _, k := range describedNames[:4] {
		delete(of, k)
	}
	of["profguard.dump.id"] = dump
	return p, filtered
}

// locateWithin is how long the exporter may take to say where a profile will be. It computes it.
const locateWithin = 100 * time.Millisecond

// locate remembers where a dump will be.
func (x *exports) locate(id dumps.ID, of *Profile) {
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
	for _, id := range found {
		items = append(items, &export.Item{
			ID:   id,
			Send: func(ctx context.Context) error { return x.sendStored(ctx, store, id) },
			Done: func(refused bool) { store.Sent(id, refused) },
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
	dot := strings.LastIndexByte(id, '.')
	p, filtered := describedAs(id[:dot], description)
	if filtered && x.keepLabel == nil {
		return fmt.Errorf("%w: who saved it had a Config.ExportLabel, which this process has not: labels that must not leave would", ErrRefused)
	}
	p.ID, p.Kind, p.Data = id, id[dot+1:], data
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

// exportRefused notes that a profile was refused, or with nil that one was sent after that.
func (g *Guard) exportRefused(err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if err == nil {
		g.faults.clear("refused")
	} else {
		g.degraded("refused", "", "a profile is not exported, and not tried again: "+err.Error())
	}
}

// judgedWithin is how long Flush waits for what an agent has just fed. Usually it takes milliseconds.
// While the guard takes a window of its own, it may take seconds.
const judgedWithin = 250 * time.Millisecond

// Flush sends the profiles that wait for export, at once, those of this process's dumps first, and
// returns when they are sent, and marked as sent in DumpDir, or when ctx ends. It tries again every
// quarter of a second, whatever the receiver asks for. Its error says how many are left and why, and
// how many were refused or dropped since the Flush before. Those of dumps in DumpDir that are left are
// sent by the next process that opens it.
//
// Call Flush before Stop, where a program ends. Stop takes a quarter of a second more at the most. Stop
// an agent that feeds the guard before both: it sends its last profile then, and Flush has it judged:
//
//	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
//	defer cancel()
//	_ = g.Flush(ctx)
//	g.Stop()
func (g *Guard) Flush(ctx context.Context) error {
	if g == nil || g.exports == nil || g.cancel == nil {
		return nil
	}
	if g.active.Err() == nil {
		judging, cancel := context.WithTimeout(ctx, judgedWithin)
		g.feed.Judged(judging)
		cancel()
	}
	err := g.exports.queue.Flush(ctx)
	if store := g.dumps.Load(); store != nil { // or the next process sends it again
		store.Mark(ctx)
	}
	return err
}
