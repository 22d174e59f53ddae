package reference

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sort"
	"strings"
	"sync"
	"time"

	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/dumps"
	"github.com/profguard/profguard/internal/foreign"
	"github.com/profguard/profguard/internal/release"
	"github.com/profguard/profguard/internal/tree"
)

// A Keeper keeps the reference of the build that runs, and compares it with another one: the newest
// of another build, or a baseline. Its methods are safe for concurrent use. It reads and writes
// files in goroutines of its own, so that nobody waits for the disk.
type Keeper struct {
	cfg Config

	mu       sync.Mutex
	ready    <-chan struct{} // nil before the first look; closed when it is known what is there
	side     release.Side    // what the running build did, in all its processes
	known    bool            // its build is, and what the folder has
	before   *release.Side
	problem  error         // the last one with files, until one is written
	unread   error         // why there may be references that are not known
	shut     bool          // the folder could not be opened, or read
	retry    time.Time     // when it is tried again
	pause    time.Duration // before that
	looks    map[string]*look
	balanced bool            // what the process costs was told
	told     map[string]bool // functions that were told to cost more
	windows  int             // of this process
	written  time.Time       // the last time, or the time of the first window
	early    bool            // it was written since
	writing  <-chan struct{} // not nil while a file is written; closed at the end
}

// Config is what a keeper works with.
type Config struct {
	Dir     string // DumpDir; "" for no references
	Base    *release.Side
	Module  string
	Modules []string
	Build   func() release.Build // may take some milliseconds
	Test    bool                 // the program is one of go test, which keeps no references
	Now     func() time.Time
}

// found is what a folder has.
type found struct {
	build       release.Build
	before, own *release.Side
	shut        bool // the folder cannot be opened, or read
	err         error
}

// A look is a comparison, with the number of samples that it was made with.
type look struct {
	c   *release.Comparison
	why string
	at  float64
}

const (
	// The reference is first written after firstWindows or firstWrite, and then each writeEvery: at
	// Stop a busy machine may have no time for it, and what was lost then is some minutes. To
	// encode one took 15 ms.
	firstWindows = 10
	firstWrite   = 5 * time.Minute
	writeEvery   = 10 * time.Minute
	// builds is how many builds of a program are kept.
	builds = 5
	// leastWindows is how many windows make a reference, and how many are compared with one. A build that
	// ran for less, as in a crash loop, says nothing of what is normal.
	leastWindows = 5
	// leastSamples is the number of samples now from which builds are compared.
	leastSamples = 100
	// again is the growth of samples after which they are compared again. So an hour or a month
	// has some twenty looks.
	again = 1.25
	// A folder that cannot be opened is tried again after leastPause, and then after twice as long each
	// time: a volume that is attached late is there after some minutes, or a person has to see to it.
	leastPause, mostPause = time.Minute, writeEvery
)

// NewKeeper returns a keeper, which begins with the first window.
func NewKeeper(cfg Config) *Keeper {
	return &Keeper{cfg: cfg, before: cfg.Base, looks: map[string]*look{}, told: map[string]bool{}}
}

// keeps reports whether references are read and written.
func (k *Keeper) keeps() bool { return k.cfg.Dir != "" && !k.cfg.Test }

// Window adds a good window, and writes the reference if it is time. It returns the problem with files, if
// there is one, until a file is written.
func (k *Keeper) Window(t *tree.Tree, p release.Piece) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.begin()
	k.side.Add(t, p)
	now := k.cfg.Now()
	if k.known && k.shut && !now.Before(k.retry) {
		k.known = false
		k.look()
	}
	if k.written.IsZero() {
		k.written = now
	}
	k.windows++
	since := now.Sub(k.written)
	due := since >= writeEvery || !k.early && (k.windows >= firstWindows || since >= firstWrite)
	if due && k.mayWrite() && k.write() {
		k.written, k.early = now, true
	}
	return k.problem
}

// mayWrite reports whether it is known what the folder has. A process of the same build may have written
// there before, and what is written takes its place.
func (k *Keeper) mayWrite() bool { return k.keeps() && k.known && !k.shut }

// Begin starts to look what is there, before the first window. The channel is closed when that is known.
func (k *Keeper) Begin() (known <-chan struct{}) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.begin()
	return k.ready
}

// begin starts to look what is there, once.
func (k *Keeper) begin() {
	if k.ready == nil {
		k.side.Since = k.cfg.Now()
		k.look()
	}
}

// look starts to look what is there.
func (k *Keeper) look() {
	var f found
	now := k.cfg.Now()
	k.ready = k.start(func() error {
		if f.build = k.cfg.Build(); k.keeps() {
			f = load(k.cfg, f.build, now)
		}
		return nil
	}, func(err error) {
		if err != nil {
			f.shut, f.err = true, fmt.Errorf("read the references in %s: %w", k.cfg.Dir, err)
		}
		k.take(f)
	})
}

// start works with files on a goroutine of its own, and calls end with the lock held. The channel is closed after that.
func (k *Keeper) start(work func() error, end func(error)) <-chan struct{} {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		err := foreign.Recovered(work)
		k.mu.Lock()
		defer k.mu.Unlock()
		end(err)
	}()
	return ended
}

// take takes what was found.
func (k *Keeper) take(f found) {
	k.known, k.side.Build, k.problem, k.unread = true, f.build, f.err, f.err
	if k.shut = f.shut; f.shut {
		k.pause = min(max(2*k.pause, leastPause), mostPause)
		k.retry = k.cfg.Now().Add(k.pause)
	}
	if k.before == nil {
		k.before = f.before
	}
	if own := f.own; own != nil {
		k.side.Tree.Add(&own.Tree)
		k.side.Pieces.Join(&own.Pieces)
		if !own.Since.IsZero() && own.Since.Before(k.side.Since) {
			k.side.Since = own.Since
		}
	}
}

// load reads the reference of the build before and that of this build, of those that are large enough. Two builds
// that run at once write in turns, so the build before is not the one that wrote last: it is the newest one that
// was first seen before this one, now at the latest. If there is none, this one was rolled back to, and the other
// one was the newest.
func load(cfg Config, build release.Build, now time.Time) found {
	folder, err := dumps.OpenReferences(cfg.Dir)
	if err != nil {
		return found{build: build, shut: true, err: err}
	}
	defer folder.Close()
	files, err := folder.List(prefixOf(build))
	if err != nil {
		return found{build: build, shut: true, err: err}
	}
	var before, own *release.Side
	isOwn := func(f *dumps.ReferenceFile) bool { return f.Name == nameOf(build) }
	sort.SliceStable(files, func(i, j int) bool { return isOwn(&files[i]) && !isOwn(&files[j]) }) // it says since when
	errs, since := []error(nil), now
	// goesBefore orders what may be the build before: what was first seen before this one, then what was
	// before now, and then what is of the future, as clocks are set back; the newest of these first.
	goesBefore := func(a, b time.Time) bool {
		for _, limit := range []time.Time{since, now.Add(time.Minute)} {
			if x, y := a.Before(limit), b.Before(limit); x != y {
				return x
			}
		}
		return a.After(b)
	}
	for _, f := range files {
		if before != nil && before.Since.Before(since) && before.Since.Sub(f.Time) > clocksDiffer {
			break // this one, and all after it, were first seen before they were last written
		}
		b, err := folder.Read(f.Name)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		side, err := Decode(new(decode.Decoder), b, cfg.Module)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", f.Name, err))
			continue
		}
		side.Since = Since(side, f.Time)
		switch {
		case side.Build.Program != build.Program: // the name says so, and may lie
		case side.Build.Binary == build.Binary:
			if own == nil {
				own = side
				if own.Since.Before(since) {
					since = own.Since
				}
			}
		case !isOwn(&f) && side.Pieces.Count >= leastWindows:
			if before == nil || goesBefore(side.Since, before.Since) {
				before = side
			}
		}
	}
	return found{build: build, before: before, own: own, err: errors.Join(errs...)}
}

// clocksDiffer is by how much the clocks of hosts and of a disk may differ, with room to spare.
const clocksDiffer = 10 * time.Minute

// prefixOf begins the names of the references of a program.
func prefixOf(b release.Build) string {
	sum := sha256.Sum256([]byte(b.Program))
	return hex.EncodeToString(sum[:4]) + "-"
}

// nameOf is the name of the reference of a build.
func nameOf(b release.Build) string {
	version := strings.Map(func(r rune) rune {
		if r < 0x80 && (r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r == '.' || r == '-' || r == '+') {
			return r
		}
		return '_'
	}, b.Version)
	name := prefixOf(b)
	if version != "" {
		name += version[:min(len(version), 60)] + "-"
	}
	return name + b.Binary + ".pb.gz"
}

// write begins to write the reference, if it is large enough, unless the last write still hangs. It
// reports whether it has.
func (k *Keeper) write() bool {
	if k.writing != nil || k.side.Pieces.Count < leastWindows {
		return false
	}
	b, dir, build := Encode(&k.side, k.cfg.Now()), k.cfg.Dir, k.side.Build
	k.writing = k.start(func() error {
		folder, err := dumps.OpenReferences(dir)
		if err != nil {
			return err
		}
		defer folder.Close()
		return folder.Write(nameOf(build), b, prefixOf(build), builds)
	}, func(err error) { k.problem, k.writing = err, nil })
	return true
}

// Stop writes the reference a last time, as far as the disk lets it until the context ends.
func (k *Keeper) Stop(ctx context.Context) {
	k.rest(ctx)
	k.mu.Lock()
	if k.mayWrite() {
		k.write()
	}
	k.mu.Unlock()
	k.rest(ctx)
}

// rest waits for the end of a look and of a write.
func (k *Keeper) rest(ctx context.Context) {
	k.mu.Lock()
	running := []<-chan struct{}{k.ready, k.writing}
	k.mu.Unlock()
	for _, ended := range running {
		if ended == nil {
			continue
		}
		select {
		case <-ended:
		case <-ctx.Done():
		}
	}
}

// Before is what the build is compared with, nil if there is nothing or it is not known yet.
func (k *Keeper) Before() *release.Side {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.before
}

// Compare implements judge.Releases.
func (k *Keeper) Compare(ctx context.Context, o release.Options) (*release.Comparison, string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.compare(ctx, o)
}

func (k *Keeper) compare(ctx context.Context, o release.Options) (*release.Comparison, string) {
	switch {
	case k.before != nil:
	case k.cfg.Dir == "":
		return nil, "there is no build to compare with: set a DumpDir, where each build leaves its reference, or a Baseline"
	case k.cfg.Test:
		return nil, "a test keeps no references of builds"
	case !k.known:
		return nil, "the references of earlier builds are being read"
	case k.unread != nil:
		return nil, "no reference of an earlier build could be read: " + k.unread.Error()
	case k.side.Pieces.Count < leastWindows:
		return nil, fmt.Sprintf("%s after %d good windows that begin a minute after the start, and there are %d", release.FirstBuild, leastWindows, int(k.side.Pieces.Count))
	default:
		return nil, release.FirstBuild
	}
	n := k.side.Pieces.Samples
	if windows := int(k.side.Pieces.Count); windows < leastWindows || n < leastSamples {
		return nil, fmt.Sprintf("builds are compared from %d windows after the first minute and %d samples on, and there are %d and %.0f", leastWindows, leastSamples, windows, n)
	}
	key := fmt.Sprintf("%q %v %q %q %q", o.Per, o.Limit, o.Except, o.Subject, o.Label)
	if l := k.looks[key]; l != nil && n < again*l.at && n >= l.at {
		return l.c, l.why
	}
	c, err := release.Compare(ctx, k.before, &k.side, o)
	l := &look{c: c, at: n}
	if err != nil {
		l.why = err.Error()
	}
	if ctx.Err() != nil { // who asks next asks anew
		return nil, l.why
	}
	if len(k.looks) >= mostLooks {
		clear(k.looks)
	}
	k.looks[key] = l
	return l.c, l.why
}

// mostLooks bounds the comparisons that are kept, one for each budget of growth.
const mostLooks = 100

// Balance is the newest comparison by a unit of work that both builds know. news says that there is something to be
// told in it: what the process costs has just become sure enough, once, or that a function costs more of which
// nothing was told before.
func (k *Keeper) Balance(ctx context.Context) (c *release.Comparison, news bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.before == nil {
		return nil, false
	}
	c, _ = k.compare(ctx, release.Options{Per: k.unit()})
	if c == nil || c.Why != "" {
		return c, false
	}
	sure := k.side.Pieces.Count >= anHour || c.Known && c.Process.High-c.Process.Low < narrow
	news = sure && !k.balanced
	for i := range c.Functions {
		f := &c.Functions[i]
		seems := c.Known && f.Above && !f.MayMove && f.Points.Value > c.Limit // shares grow with another load, too
		if (f.Named || seems) && !k.told[f.Name] {
			k.told[f.Name], news = true, true
		}
	}
	k.balanced = k.balanced || sure
	return c, news
}

// Profile is what this build did so far, or the one before, nil if there is none before.
func (k *Keeper) Profile(before bool) []byte {
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case k.before == nil:
		return nil
	case before:
		return Encode(k.before, time.Now())
	}
	return Encode(&k.side, time.Now())
}

// What the process costs is told when its bounds are as narrow as that, or after an hour of windows.
const narrow, anHour = 0.06, 60

// unit is a unit of work that both builds know, "" if there is none.
func (k *Keeper) unit() string {
	was, is := k.before.Pieces.Work, k.side.Pieces.Work
	for _, name := range slices.Sorted(maps.Keys(is)) {
		if is[name] > 0 && was[name] > 0 {
			return name
		}
	}
	return ""
}

// Normal is what was normal before, as a profile: the other build's, or else this one's so far. It is
// empty if there is neither.
func (k *Keeper) Normal() []byte {
	k.mu.Lock()
	defer k.mu.Unlock()
	side := k.before
	if side == nil {
		side = &k.side
	}
	if side.Pieces.Count == 0 {
		return nil
	}
	return Encode(side, k.cfg.Now())
}
