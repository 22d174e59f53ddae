package guard

import (
	"bytes"
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/google/pprof/profile"
	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/log/noop"

	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/dumps"
	"github.com/profguard/profguard/internal/folded"
	"github.com/profguard/profguard/internal/process"
	"github.com/profguard/profguard/internal/profiler"
	"github.com/profguard/profguard/internal/profiles"
	"github.com/profguard/profguard/internal/release"
)

// stopPromise is what the documentation of Stop says, and no constant of the code.
const stopPromise = 250 * time.Millisecond

// A world is what a guard sees in a test, instead of the process. It is made for
// the fake clock of synctest, where the real profiler hangs. What the guard computes costs
// nothing in it, because the CPU time of a busy machine would delay windows.
type world struct {
	// take says what the nth window is, from 0. The world fills in its times.
	take func(n int) profiler.Window
	// cores is what the process uses, as of the time since the world began.
	cores func(since time.Duration) float64
	// cost is what each window costs.
	cost func(n int) time.Duration
	// random answers the guard's question for one, 0 if nil.
	random func() float64
	// reads stands in for what the process uses, unless nil.
	reads func() process.Snapshot
	// load is what the machine has done, unless nil.
	load func(since time.Duration) process.Load
	// stretch is how much longer a window takes than was asked.
	stretch float64
	// linked are the functions of the program.
	linked []string
	// profile stands in for the runtime's profiles but the CPU's. If it is nil, nothing is leaked, and the others are
	// those of the test's process.
	profile func(kind string) (profiles.Profile, error)
	// offer stands in for the dump store, if there is one.
	offer func(*dumps.Store, dumps.Dump) (dumps.ID, error)
	// compile stands in for newRoster, unless nil.
	compile func(*Config, *roster) (*roster, error)
	// openDir stands in for dumps.Open, unless nil.
	openDir func(string, dumps.Keep, func(dumps.Outcome)) (*dumps.Store, error)

	// build is the program's; if it is not set, the program is a test, which keeps no references.
	build release.Build

	mu                    sync.Mutex
	began                 time.Time
	starts, ends          []time.Duration // of windows
	canceled              int
	events                []Event
	goroutines, heap, rss int64
	cpu, metered          time.Duration
}

const second, minute = time.Second, time.Minute

// fullCore is a window of a process that is busy with its work.
const fullCore = "cpu 10s\nmain.main;main.serve;main.work 990\nmain.main;main.serve;fmt.Println 10\n"

// cpuWindows are the windows that cpuWindow has made, by their texts. Tests of hours of
// windows spend most of their CPU on compressing the same few.
var cpuWindows sync.Map

// cpuWindow is a window with a profile, from folded stacks. Nobody may write to its bytes.
func cpuWindow(text string) profiler.Window {
	if made, ok := cpuWindows.Load(text); ok {
		return made.(profiler.Window)
	}
	p := folded.Must(text)
	var used time.Duration
	for _, s := range p.Sample {
		used += time.Duration(s.Value[1])
	}
	w := profiler.Window{Source: decode.Source{Data: packed(p)}, Elapsed: time.Duration(p.DurationNanos), CPU: used, Slices: 1}
	cpuWindows.Store(text, w)
	return w
}

// always is the same window again and again.
func always(text string) func(int) profiler.Window {
	return func(int) profiler.Window { return cpuWindow(text) }
}

// noLeak is a leak profile without a leak. To take a real one is a collection of garbage,
// which tests of hours of windows spent most of their CPU on.
var noLeak = sync.OnceValue(func() decode.Source { return decode.Source{Data: leaks("", 0)} })

func packed(p *profile.Profile) []byte {
	var b bytes.Buffer
	if err := p.Write(&b); err != nil {
		panic(err)
	}
	return b.Bytes()
}

// lost is a window that came to nothing.
func lost(o profiler.Outcome) profiler.Window {
	return profiler.Window{Outcome: o, Reason: "as the test wants it"}
}

func newWorld() *world {
	return &world{
		take:       always(fullCore),
		cores:      func(time.Duration) float64 { return 1 },
		linked:     []string{"main.main", "main.serve", "main.work", "fmt.Println", "encoding/json.Marshal"},
		goroutines: 10, heap: 10 << 20, rss: 20 << 20,
		began: time.Now(),
	}
}

func (w *world) since() time.Duration { return time.Since(w.began) }

func (w *world) capture(ctx context.Context, d time.Duration) (profiler.Window, error) {
	w.mu.Lock()
	n := len(w.starts)
	w.starts = append(w.starts, w.since())
	w.ends = append(w.ends, 0)
	win := w.take(n)
	win.Start, win.Asked = time.Now(), d
	if w.cost != nil {
		// What the guard cannot meter it takes from the number of slices.
		win.Slices = int(w.cost(n) / time.Millisecond) // a slice costs so much
	}
	w.mu.Unlock()
	if o := win.Outcome; o != profiler.Busy && o != profiler.Hung {
		timer := time.NewTimer(time.Duration(float64(d) * (1 + w.stretch)))
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
			win = profiler.Window{Outcome: profiler.Canceled}
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if win.Outcome == profiler.Canceled {
		w.canceled++
	}
	w.ends[n] = w.since()
	return win, win.Err()
}

func (w *world) snap() process.Snapshot {
	if w.reads != nil {
		return w.reads()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	// The integral of cores, to a tenth of a second.
	const step = second / 10
	for now := w.since(); w.metered < now; {
		d := min(step, now-w.metered)
		w.cpu += time.Duration(w.cores(w.metered) * float64(d))
		w.metered += d
	}
	return process.Snapshot{At: time.Now(), CPU: w.cpu, Goroutines: w.goroutines, Heap: w.heap, RSS: w.rss}
}

func (w *world) reading() process.Load {
	if w.load == nil {
		return process.Load{}
	}
	return w.load(w.since())
}

// quiet keeps a guard in a test from what belongs to the process.
func (w *world) quiet(cfg Config) Config {
	if cfg.Registerer == nil {
		cfg.Registerer = prometheus.NewRegistry()
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.LoggerProvider == nil {
		cfg.LoggerProvider = noop.NewLoggerProvider()
	}
	then := cfg.OnEvent
	cfg.OnEvent = func(e Event) {
		w.mu.Lock()
		w.events = append(w.events, e)
		w.mu.Unlock()
		if then != nil {
			then(e)
		}
	}
	return cfg
}

// seen are the events so far.
func (w *world) seen() []Event {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]Event(nil), w.events...)
}

// told are the names of the events so far, with their budgets.
func (w *world) told() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var list []string
	for _, e := range w.events {
		name := string(e.Name)
		if e.Budget != "" {
			name += " " + e.Budget
		}
		list = append(list, name)
	}
	return list
}

// windows are when windows started so far.
func (w *world) windows() []time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]time.Duration(nil), w.starts...)
}
