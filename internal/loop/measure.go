package loop

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"time"

	"github.com/profguard/profguard/internal/charge"
	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/dumps"
	"github.com/profguard/profguard/internal/judge"
	"github.com/profguard/profguard/internal/kinds"
	"github.com/profguard/profguard/internal/process"
	"github.com/profguard/profguard/internal/profiler"
	"github.com/profguard/profguard/internal/profiles"
	"github.com/profguard/profguard/internal/release"
	"github.com/profguard/profguard/internal/tree"
)

// A Measurement is what a window shows of the process, before anything is judged.
type Measurement struct {
	CPU   profiler.Window // of the CPU profile; a lost one has no profile
	Tried bool            // or the CPU profiler was left to other code
	Early bool            // started by a jump of the process's CPU
	// FirstFed is set if it is the first that other code has fed: the work in it is not known.
	FirstFed bool
	Samples  int64           // of CPU, with the guard's own
	Used     process.Figures // over the window
	Since    process.Figures // since the window before
	Facts    judge.Facts     // but for those that differ from kind to kind
	Now      *Reading

	before    *Reading
	table     *decode.Table // of the CPU profile, until another one is decoded; nil without
	period    time.Time     // the start of the period that the window completes
	completes bool          // the window completes a period
	cost      time.Duration // of profiling and of reading counters, estimated
}

// IsGood reports whether there is a good window of the CPU profile.
func (r *Measurement) IsGood() bool { return r.table != nil }

// A Reading is all counters of a process at one moment.
type Reading struct {
	process.Snapshot
	Work           Answers
	NoCPU, NoAlloc bool // it is not known how much CPU the process has used, or what it has allocated

	load process.Load  // of the machine, for releases
	own  allocations   // by the guard, since it began
	cost time.Duration // of reading work, estimated
}

// lacks reports whether it is not known what a rule is about.
func (r *Reading) lacks(rule *judge.Rule) bool {
	if rule.Kind == kinds.Allocs {
		return r.NoAlloc
	}
	return r.NoCPU
}

// until is what was used and done from one reading to another, without the guard's own allocations.
func (r *Reading) until(now *Reading) judge.Usage {
	host := allocationsOf(&r.Snapshot, &now.Snapshot).beyond(now.own.beyond(r.own))
	work, _ := between(r.Work, now.Work)
	return judge.Usage{Elapsed: now.At.Sub(r.At), CPU: now.CPU - r.CPU, Bytes: host.bytes, Objects: host.objects, Work: work}
}

// charged is the tree of a window. What it takes to charge one is forgotten: it is as large as all else that is kept.
func (m *measurer) charged(ctx context.Context, t *decode.Table) (*tree.Tree, error) {
	c := tree.Counter{Module: m.facts.Module, Modules: process.Modules(), Labels: m.labels}
	return c.Tree(ctx, t)
}

// A Source has the windows of CPU. Capture waits for one of a length, and its error is in the
// window's outcome. A window may be shorter, or of another time.
type Source interface {
	Capture(ctx context.Context, d time.Duration) (profiler.Window, error)
}

// A Process is what the loop sees and asks of the process.
type Process struct {
	Source  Source
	Snap    func() process.Snapshot
	Load    func() process.Load  // of the machine
	Thread  func() time.Duration // CPU time of the calling thread
	Random  func() float64
	Linked  func(yield func(name string) bool) error
	Profile func(t *profiles.Taker, kind string) (profiles.Profile, error)
	Offer   func(*dumps.Store, dumps.Dump) (dumps.ID, error)
}

// ThisProcess is the process that runs.
func ThisProcess() Process {
	return Process{
		Source: profiler.Process(), Snap: process.Read, Load: process.ReadLoad, Thread: process.ThreadCPU, Random: rand.Float64, Linked: process.Functions,
		Profile: (*profiles.Taker).Take, Offer: (*dumps.Store).Offer,
	}
}

// A measurer takes measurements. What it keeps from window to window begins the next one.
type measurer struct {
	Process
	feed          *Feed
	every, window time.Duration
	always        bool        // CPU, also if no budget needs it
	facts         judge.Facts // that are the same in each window

	labels   []string // whose values the reference keeps: those that budgets are about
	work     map[string]func() float64
	counters *counters
	decoder  decode.Decoder
	taker    profiles.Taker       // of other kinds
	parts    profiles.Taker       // for the parts of figures, apart from the windows of kinds
	works    map[string]Answers   // by kind: the host's counters when its difference began
	due      map[string]time.Time // by kind: when its next profile may be taken, as the last one was costly
	backoff  time.Duration        // of the CPU profiler
	free     time.Time            // when the CPU profiler is tried again
	last     process.Snapshot     // at the end of the last window
	fed      *Reading             // when the last window was fed, or nil
	ended    process.Snapshot     // at the end of the last period of counters; zero before
	heap     heapMeter
}

// adopt is called before the first window of a set of budgets.
func (m *measurer) adopt(s *Set) {
	m.taker.Close() // a difference must not begin before its budget
	m.counters.registry.units = RegistryUnits(s.sentences(), m.work)
	m.labels = Labels(s.sentences())
}

// begin reads what is read at both ends of a window.
func (m *measurer) begin() *Reading {
	r := m.read()
	m.heap.begin(&r.Snapshot)
	ready := m.Snap()
	m.heap.add(&r.Snapshot, &ready)
	return r
}

// read reads all counters.
func (m *measurer) read() *Reading {
	r := &Reading{Snapshot: m.Snap(), own: m.heap.own}
	if m.facts.Releases != nil {
		r.load = m.Load()
	}
	began, used := time.Now(), process.ProcessCPU()
	r.Work = m.counters.now()
	elsewhere := min(process.Between(m.last, r.Snapshot).Cores, float64(runtime.GOMAXPROCS(0)-1))
	r.cost = readingCost(time.Since(began), process.ProcessCPU()-used, elsewhere)
	return r
}

// capture waits for the CPU profile, if it is needed. While other code has the CPU profiler, there
// is none.
func (m *measurer) capture(ctx context.Context, s *Set) (w profiler.Window, tried bool) {
	start := time.Now()
	if fed, there, feeding := m.feed.next(start); there {
		return fed, true
	} else if feeding {
		return profiler.Window{Start: start, Elapsed: time.Since(start)}, false
	}
	w.Start = start
	cpu := s.needs(kinds.CPU) || m.always
	if tried = !cpu || !start.Before(m.free); tried && cpu {
		w, _ = m.Source.Capture(ctx, m.window) // the error is in the outcome
	}
	if w.Elapsed == 0 {
		w.Elapsed = time.Since(start)
	}
	return w, tried
}

// end reads what the window has shown. notLinked are the patterns that match no function.
func (m *measurer) end(before *Reading, w profiler.Window, tried, early bool, notLinked []string) *Measurement {
	m.heap.addProfile(w.Slices)
	now := m.read()
	first := w.Fed && m.fed == nil // what was done in it cannot be known, and of the next one is
	if w.Fed {
		before, m.fed = m.whenFed(&w, now), now
	}
	r := &Measurement{Tried: tried, Early: early, FirstFed: first, Now: now, before: before}
	r.Used, r.Since = process.Between(before.Snapshot, now.Snapshot), process.Between(m.last, now.Snapshot)
	r.cost = profilingCost(&w, &r.Used) + before.cost + now.cost
	if r.Used.Elapsed < m.window/2 {
		// The profiler was in use, so the window is too short for the figures. Those since
		// the last window are taken instead.
		r.Used = r.Since
	}
	r.table = w.Table(&m.decoder)
	r.Samples = r.table.Count()
	if w.Outcome != profiler.OK {
		w.Source = decode.Source{} // a dump of it would look like evidence
	}
	r.CPU = w
	if tried {
		m.backoff = w.Backoff(m.backoff)
		m.free = time.Now().Add(m.backoff)
	}
	r.Facts = m.facts
	r.Facts.Modules, r.Facts.NotLinked, r.Facts.Elapsed = process.Modules(), notLinked, r.Used.Elapsed
	r.Facts.Figures = map[string]float64{
		"cores": r.Used.Cores, "goroutines": float64(now.Goroutines), "heap": float64(now.Heap), "rss": float64(now.RSS),
	}
	gc := &r.Since
	if !m.ended.At.IsZero() {
		f := process.Between(m.ended, now.Snapshot)
		gc = &f
	}
	gcOf(gc, r.table, &r.Facts)
	r.Facts.Work, r.Facts.NoWork = between(before.Work, now.Work)
	r.Facts.WorkBy = apart(before.Work, now.Work)
	r.period, r.completes = m.completed(before.At, &now.Snapshot)
	return r
}

// whenFed is the reading at the start of a window that was fed: that of the end of the one before,
// if this one follows it. Otherwise the work and the CPU in it are not known.
func (m *measurer) whenFed(w *profiler.Window, now *Reading) *Reading {
	if m.fed != nil && m.fed.At.Sub(w.Start).Abs() < max(w.Elapsed/10, fedSlack) {
		w.CPU = time.Duration(process.Between(m.fed.Snapshot, now.Snapshot).Cores * float64(w.Elapsed))
		return m.fed
	}
	r := &Reading{Snapshot: m.last, own: now.own, Work: Answers{}}
	for unit := range now.Work {
		r.Work[unit] = Answer{Why: "the window was fed by other code, and nothing was counted at its start"}
	}
	return r
}

// machine is what the machine did from one reading to another. It is not known of a window that other
// code has fed, if nothing was read when it began.
func (r *Reading) machine(now *Reading) release.Machine {
	a, b := r.load, now.load
	if a.Total == 0 || b.Total <= a.Total {
		return release.Machine{}
	}
	own := (now.CPU - r.CPU).Seconds()
	return release.Machine{
		Waited: max(0, b.Waited-a.Waited), Others: max(0, b.Used-a.Used-own), Stolen: max(0, b.Stolen-a.Stolen), Cores: b.Total - a.Total,
	}
}

// completed returns the start of the period that a window from start to end completes. It
// reports false for a window that completes none: one that follows another closely, or that
// a jump of CPU has started early.
func (m *measurer) completed(start time.Time, end *process.Snapshot) (began time.Time, ok bool) {
	if began = m.ended.At; began.IsZero() {
		began = start
	} else if end.At.Sub(began) < m.every*3/4 {
		return began, false
	}
	m.ended = *end
	return began, true
}

// goroutines is the profile of goroutines, empty if it could not be taken.
func (m *measurer) goroutines() decode.Source {
	p, _ := m.taker.Take(kinds.Goroutine)
	return p.Source
}

// rest ends the guard's work for a window.
func (m *measurer) rest(r *Measurement) {
	m.last = r.Now.Snapshot
	m.heap.rested = m.Snap()
	m.heap.add(&m.last, &m.heap.rested)
}

// gcOf sets the figure gc, or the reason why it is not known. The runtime counts the cost of a
// collection when it ends. If none has ended, the CPU profile of the window shows whether
// one was running. t is nil without a profile.
func gcOf(used *process.Figures, t *decode.Table, f *judge.Facts) {
	switch {
	case used.GCKnown:
		f.Figures["gc"] = used.GC
	case t != nil && !judge.Collects(t):
		f.Figures["gc"] = 0
	default:
		f.NoFigures = map[string]string{"gc": process.GCUnknown}
	}
}

// A Profile is what there is for the budgets of one kind: a profile with the facts about it, or
// the reason why there is none.
type Profile struct {
	Kind string
	decode.Source
	Table *decode.Table // of another process, without a source
	Facts judge.Facts
	Err   error
}

// profiles takes the profiles of all kinds that the budgets need in this window. Those of kinds
// other than cpu are of the moment, or reach from the end of one window to the end of the next, so
// that nothing is lost between windows, and one profile a window is enough.
func (m *measurer) profiles(r *Measurement, s *Set, own *clock) []Profile {
	list := make([]Profile, 0, len(s.groups))
	for _, g := range s.groups {
		switch {
		case g.kind == "":
			list = append(list, Profile{Source: r.CPU.Source, Facts: r.Facts}) // for a dump
		case g.kind == kinds.CPU:
			list = append(list, r.cpuProfile())
		case !r.completes && g.onlyOncePerPeriod(), r.Now.At.Before(m.due[g.kind]): // there is none in this window
		case g.kind == kinds.GoroutineLeak: // the collection is not the guard's own work
			list = append(list, m.take(g.kind, r))
		default:
			own.run(func() { list = append(list, m.take(g.kind, r)) })
		}
	}
	return list
}

// cpuProfile is that of the window.
func (r *Measurement) cpuProfile() Profile {
	p := Profile{Kind: kinds.CPU, Source: r.CPU.Source, Facts: r.Facts}
	switch {
	case !r.Tried:
		p.Err = errors.New("the CPU profiler is left to other code")
	case r.CPU.Outcome != profiler.OK:
		p.Err = fmt.Errorf("the window was lost (%s): %s", r.CPU.Outcome, r.CPU.Reason)
	default:
		p.Facts.Kind, p.Facts.Elapsed = kinds.CPU, r.CPU.Elapsed
	}
	return p
}

// take takes the profile of a kind.
func (m *measurer) take(kind string, r *Measurement) Profile {
	taken, err := m.Profile(&m.taker, kind)
	m.due[kind] = nextAt(taken.Cost)
	p := Profile{Kind: kind, Source: taken.Source, Facts: r.Facts, Err: err}
	f := &p.Facts
	f.Kind, f.Elapsed, f.Work, f.NoWork, f.WorkBy, f.Baseline = kind, taken.Elapsed, nil, nil, nil, nil // a Baseline is a CPU profile
	f.Periods = taken.Elapsed.Seconds() / m.every.Seconds()
	if kinds.Of(kind).Taken == kinds.Difference {
		f.Work, f.NoWork = between(m.works[kind], r.Now.Work)
		if !errors.Is(err, profiles.ErrNoCollection) {
			m.works[kind] = r.Now.Work
		}
	}
	if kinds.Of(kind).Sampling == kinds.Contention {
		f.MutexFraction, f.Waited = int(taken.Rate), taken.Waited
	}
	return p
}

// costlyShare is the most of a core that profiles of a kind with a [profiles.Profile.Cost] may
// take. The garbage and the pauses that come with them, which nobody can count, cost half as much
// again. With a live heap of 500 MiB the collection of a leak profile takes some 0.7 s of CPU, so
// that there is one in two or three minutes; a profile of 10,000 goroutines takes 30 ms, so that
// there is one in six seconds.
const costlyShare = 0.005

// nextAt is when a profile may follow one that took so much CPU time.
func nextAt(cost time.Duration) time.Time {
	return time.Now().Add(time.Duration(float64(cost) / costlyShare))
}

// partsOf returns the profile of a kind that shows what a figure is made of: that of this window's
// budgets, if there is one of the moment.
func (m *measurer) partsOf(kind string, taken []Profile) (Profile, error) {
	for _, p := range taken {
		if p.Kind == kind && p.Err == nil && kinds.Of(kind).Taken == kinds.State {
			return p, nil
		}
	}
	if wait := time.Until(m.due[kind]); wait > 0 {
		return Profile{}, fmt.Errorf("the last %s profile took so much CPU time that the next one is taken in %v", kind, wait.Round(time.Second/10))
	}
	p, err := m.parts.Take(kind)
	m.due[kind] = nextAt(p.Cost)
	return Profile{Kind: kind, Source: p.Source, Err: err}, err
}

// decoded is the table of a profile, without the samples of profguard itself in one of memory or
// contention. A profile of goroutines has them all, as their count has. That of CPU is decoded
// already.
func decoded(d *decode.Decoder, p *Profile, r *Measurement) (*decode.Table, error) {
	switch {
	case p.Err != nil || p.Table != nil:
		return p.Table, p.Err
	case p.Kind == kinds.CPU:
		return r.table, nil
	case p.Kind == "":
		return &decode.Table{Symbols: new(decode.Symbols)}, nil
	}
	t, err := p.Source.Table(d)
	if err != nil || kinds.Of(p.Kind).Sampling == kinds.Counted {
		return t, err
	}
	return charge.WithoutOwn(t), nil
}
