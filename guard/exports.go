package guard

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
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
	"github.com/profguard/profguard/internal/profiler"
)

// exports sends profiles to Config.Export.To: each good window if Export.All says so, and each
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
	if g.cfg.Export.To == nil {
		return nil
	}
	return &exports{exporter: g.cfg.Export.To, keepLabel: g.cfg.Export.Label, attributes: attributesOf(g), store: g.dumps.Load, urls: map[string]string{}}
}

// attributesOf describe the process.
func attributesOf(g *Guard) map[string]string {
	host, _ := os.Hostname() // without it there are two attributes less
	of := map[string]string{
		"service.name": path.Base(cmp.Or(g.module, os.Args[0])), "service.version": g.build.Version, "vcs.revision": g.build.Revision,
		"host.name": host, "service.instance.id": host, "process.runtime.name": "go", "process.runtime.version": g.build.Go,
	}
	maps.Copy(of, g.cfg.Export.Attributes)
	maps.DeleteFunc(of, func(_, v string) bool { return v == "" })
	return of
}

// open begins to send.
func (x *exports) open(g *Guard) {
	x.queue = export.New(export.Defaults(), export.Hooks{Failing: g.exportFailing, Refused: g.exportRefused, Stored: x.stored})
}

// window takes a good window.
func (x *exports) window(w *profiler.Window) {
	end := w.Start.Add(w.Elapsed)
	x.add(&Profile{
		ID: string(dumps.NewID(end, "window", "")) + "." + kinds.CPU, Kind: kinds.CPU, Data: w.Bytes(),
		Start: w.Start, End: end, Attributes: x.attributes,
	}, true)
}

// dump takes the profiles of a dump.
func (x *exports) dump(c *loop.Change, id dumps.ID, d *dumps.Dump) {
	of := x.description(c, d).profile(string(id))
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

// add queues a profile. One of a dump gets a receipt in DumpDir when it has left.
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
			return fmt.Errorf("%w: its labels cannot be read: %w", ErrPermanent, err)
		}
		// What the hook panics with may be a label, and is not told.
		if foreign.Call(func() error { p.Data = t.WithLabels(x.keepLabel).Encode(t.Comments()...); return nil }) != nil {
			return fmt.Errorf("%w: Config.Export.Label has panicked, so it is unknown which labels may leave: fix it", ErrPermanent)
		}
	}
	return x.exporter.Export(ctx, p)
}

// own is a copy for code of the host, which may change it, also later.
func (p *Profile) own() Profile {
	own := *p
	own.Data, own.Attributes = bytes.Clone(p.Data), maps.Clone(p.Attributes)
	return own
}

// A description says what a dump is of, also to another process.
type description struct {
	Start, End time.Time
	Budget     string
	Filtered   bool // some of the dump's labels must not leave
	Attributes map[string]string
}

// description says what a dump of a budget is of.
func (x *exports) description(c *loop.Change, d *dumps.Dump) description {
	r := &c.Result
	of := description{d.Start, d.End, d.Name, x.keepLabel != nil, maps.Clone(x.attributes)}
	set := func(k, v string) {
		if v != "" {
			of.Attributes["profguard."+k] = v
		}
	}
	set("budget.sentence", r.Budget.String())
	set("verdict", r.Verdict.String())
	set("value", strconv.FormatFloat(r.Value, 'g', -1, 64))
	set("unit", r.Unit)
	if r.Limit > 0 {
		set("limit", strconv.FormatFloat(r.Limit, 'g', -1, 64))
	}
	if len(r.Offenders) > 0 {
		set("offender", r.Offenders[0].Function)
	}
	return of
}

// file is the description for the next process.
func (of description) file() dumps.File {
	text, _ := json.Marshal(of) // texts and times have no errors
	return dumps.File{Name: dumps.DescriptionFile, Data: text}
}

// profile is a profile of the dump with an ID, as far as the description has it.
func (of description) profile(dump string) Profile {
	attributes := map[string]string{}
	maps.Copy(attributes, of.Attributes)
	attributes["profguard.dump.id"] = dump
	return Profile{Start: of.Start, End: of.End, Budget: of.Budget, Attributes: attributes}
}

// locateWithin is how long the exporter may take to say where a profile will be. It computes it.
const locateWithin = 100 * time.Millisecond

// locate remembers where a dump will be.
func (x *exports) locate(id dumps.ID, of *Profile) {
	l, is := x.exporter.(interface{ URL(p Profile) string })
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
	data, text, err := store.ReadUnsent(id)
	if err == nil && data == nil {
		return export.ErrNeedless
	}
	if err == nil && !bytes.HasPrefix(data, []byte{0x1f, 0x8b}) {
		err = errors.New("expected a gzipped profile")
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrPermanent, err)
	}
	var of description
	if err := json.Unmarshal(text, &of); err != nil {
		return fmt.Errorf("%w: read its description: %w", ErrPermanent, err)
	}
	if of.Filtered && x.keepLabel == nil {
		return fmt.Errorf("%w: it was saved by a process that filters labels with Config.Export.Label. This one does not, and would leak them", ErrPermanent)
	}
	dot := strings.LastIndexByte(id, '.')
	p := of.profile(id[:dot])
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

// Flush sends the profiles that wait for export, this process's dumps first. It returns when all are
// sent, and noted as sent in DumpDir, or when ctx ends. It tries again every quarter of a second,
// whatever the receiver asks for. Its error says how many are left and why, and how many were
// refused or dropped since Start. The next process that opens DumpDir sends the dumps that are left.
//
// Call Flush before Stop at the end of a program. Stop takes a quarter of a second more at most. Stop
// an agent that feeds the guard before both, because it sends its last profile then, and Flush has
// that judged:
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
		g.loop.Feed.Judged(judging)
		cancel()
	}
	err := g.exports.queue.Flush(ctx)
	if store := g.dumps.Load(); store != nil { // or the next process sends it again
		store.Flush(ctx)
	}
	return err
}
