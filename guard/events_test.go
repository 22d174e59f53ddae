package guard

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"log/slog"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/log"
	"go.opentelemetry.io/otel/log/embedded"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/dumps"
	"github.com/profguard/profguard/internal/profiler"
	"github.com/profguard/profguard/internal/release"
)

// provider records what is emitted, after it has done what the test wants.
type provider struct {
	embedded.LoggerProvider
	before func()

	mu      sync.Mutex
	calls   int
	records []log.Record
}

type recorder struct {
	embedded.Logger
	p *provider
}

func (p *provider) Logger(string, ...log.LoggerOption) log.Logger { return recorder{p: p} }

func (r recorder) Enabled(context.Context, log.EnabledParameters) bool { return true }

func (r recorder) Emit(_ context.Context, rec log.Record) {
	r.p.mu.Lock()
	r.p.calls++
	r.p.mu.Unlock()
	if r.p.before != nil {
		r.p.before()
	}
	r.p.mu.Lock()
	defer r.p.mu.Unlock()
	r.p.records = append(r.p.records, rec)
}

func (p *provider) seen() (calls int, records []log.Record) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.calls, append([]log.Record(nil), p.records...)
}

// inAndOut is lost windows and good ones in turn, with an event each.
func inAndOut(n int) profiler.Window {
	if n%2 == 0 {
		return lost(profiler.Starved)
	}
	return cpuWindow(good)
}

// flapping fires in the first window that fails, and ends in the first that passes.
var flapping = budget.Must("x: fmt.Println below 20% for 1 windows")

func TestOTelEvents(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.take = story("bbggxg")
		p := &provider{}
		g := w.start(t, Config{Budgets: flapping, Window: 10 * second, Every: 10 * second, LoggerProvider: p})
		initials(t, g, 6)
		_, records := p.seen()
		var got []string
		for _, r := range records {
			got = append(got, r.EventName()+" "+r.Severity().String())
			if r.SeverityText() != r.Severity().String() || r.Timestamp().IsZero() || r.Body().AsString() == "" {
				t.Errorf("%s: severity %q at %v, body %q", r.EventName(), r.SeverityText(), r.Timestamp(), r.Body().AsString())
			}
		}
		want := []string{
			"profguard.budget.firing ERROR", "profguard.budget.resolved INFO",
			"profguard.window.lost WARN", "profguard.window.regained INFO",
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("events (-want +got):\n%s", diff)
		}
		attrs := map[string]any{}
		records[0].WalkAttributes(func(a attribute.KeyValue) bool {
			attrs[string(a.Key)] = a.Value.String()
			return true
		})
		for key, want := range map[string]string{
			"profguard.budget.name": "x", "profguard.verdict": "fail", "profguard.limit": "20%", "profguard.samples": "1000",
			"profguard.hits": "700", "code.function.name": "fmt.Println", "code.file.path": "print.go", "code.line.number": "12",
			"profguard.blame.code.function.name": "main.serve", "profguard.reason": "fmt.Println at 70.00%, surely above 62.07% (1000 samples)",
		} {
			if attrs[key] != want {
				t.Errorf("%s is %v, want %s", key, attrs[key], want)
			}
		}
		g.Stop()
	})
}

// Every event has a severity that goes with what it says.
func TestSeverities(t *testing.T) {
	for name, want := range map[EventName]log.Severity{
		EventFiring: log.SeverityError, EventOffender: log.SeverityError, EventResolved: log.SeverityInfo, EventIneffective: log.SeverityWarn,
		EventExpiring: log.SeverityWarn, EventLost: log.SeverityWarn, EventRegained: log.SeverityInfo, EventPaused: log.SeverityWarn,
		EventResumed: log.SeverityInfo, EventDegraded: log.SeverityWarn,
		EventExportFailing: log.SeverityWarn, EventExportWorking: log.SeverityInfo,
	} {
		rec := record(Event{Name: name})
		if got := rec.Severity(); got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}

func TestSlogLines(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.take = story("bbggbbgg")
		var b bytes.Buffer
		g := w.start(t, Config{
			Budgets: flapping, Window: 10 * second, Every: 10 * second,
			Logger: slog.New(slog.NewJSONHandler(&b, nil)),
		})
		initials(t, g, 8)
		g.Stop()
		lines := strings.Split(strings.TrimSpace(b.String()), "\n")
		want := []string{
			"INFO profguard.guard.started",
			"ERROR profguard.budget.firing", "INFO profguard.budget.resolved",
			"ERROR profguard.budget.firing", "INFO profguard.budget.resolved",
		}
		var got []string
		for _, line := range lines {
			var m struct{ Level, Event, Msg, Budget, Reason, Offender string }
			if err := json.Unmarshal([]byte(line), &m); err != nil {
				t.Fatal(err)
			}
			got = append(got, m.Level+" "+m.Event)
			broken := m.Level == "ERROR"
			if len(got) == 1 {
				continue // the first line is of no budget
			}
			if m.Budget != "x" || m.Reason != "" || (m.Offender == "fmt.Println") != broken {
				t.Errorf("line %s", line)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("eight windows, one line for each transition (-want +got):\n%s", diff)
		}
	})
}

// The line of a dump says where its file is.
func TestSlogDump(t *testing.T) {
	var b bytes.Buffer
	sink := slogSink(slog.New(slog.NewTextHandler(&b, nil)), "/var/dumps")
	sink(Event{Name: EventFiring, Budget: "x", Dump: "profguard-1", Dumped: time.Unix(0, 0).UTC()})
	if !strings.Contains(b.String(), " dump=/var/dumps/profguard-1") {
		t.Errorf("with a dump: %s", &b)
	}
	b.Reset()
	sink(Event{Name: EventFiring, Budget: "x"})
	if strings.Contains(b.String(), "dump") {
		t.Errorf("without one: %s", &b)
	}
}

// TestFault_55_AllBudgetsAtOnce breaks 300 budgets in one window, and has
// SetBudgets remove them: no event is lost as long as the sinks are quick.
func TestFault_55_AllBudgetsAtOnce(t *testing.T) {
	many := func(pattern string) budget.Set {
		var lines []string
		for i := range 300 {
			lines = append(lines, fmt.Sprintf("%s-%d: %s absent", pattern, i, pattern))
		}
		return budget.Must(lines...)
	}
	for _, test := range []struct {
		name, pattern string
		fired         int
	}{
		{"all break", "main.work", 300},
		{"none breaks", "json.Marshal", 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			bubble(t, func(t *testing.T, w *world) {
				g := w.start(t, Config{Budgets: many(test.pattern), Window: 10 * second, Every: 10 * second})
				count := func(event EventName) (n int) {
					for _, told := range w.told() {
						if strings.HasPrefix(told, string(event)) {
							n++
						}
					}
					return n
				}
				pass(15 * second)
				if n := count(EventFiring); n != test.fired {
					t.Errorf("%d budgets were said to fire, want %d; dropped %v", n, test.fired, g.Status().Dropped)
				}
				if err := g.SetBudgets(many("main.serve")); err != nil {
					t.Fatal(err)
				}
				pass(20 * second)
				if n := count(EventResolved); n != test.fired {
					t.Errorf("%d budgets were said to be over, want %d; dropped %v", n, test.fired, g.Status().Dropped)
				}
				if n := count(EventFiring + " main.serve"); n != 300 {
					t.Errorf("%d of the new budgets were said to fire, want 300; dropped %v", n, g.Status().Dropped)
				}
			})
		})
	}
}

func TestFault_30_EmitHangs(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.take = inAndOut
		never := make(chan struct{})
		p := &provider{before: func() { <-never }}
		g := w.start(t, Config{Budgets: flapping, Window: 10 * second, Every: 10 * second, LoggerProvider: p})
		pass(20*10*second + second)
		for range sinkQueue { // beside the twenty of these windows
			g.emit(Event{Name: EventLost})
		}
		pass(second)
		s := g.Status()
		// One is under way, the others wait.
		if s.Windows["ok"] != 10 || s.Dropped["otel"] != 20-1 || s.Dropped["log"] != 0 || s.Dropped["callback"] != 0 {
			t.Errorf("windows %v, dropped %v", s.Windows, s.Dropped)
		}
		if n := len(w.told()); n != 20+sinkQueue {
			t.Errorf("another sink got %d events, want %d", n, 20+sinkQueue)
		}
		before := time.Now()
		g.Stop()
		if d := time.Since(before); d > stopPromise {
			t.Errorf("Stop took %v", d)
		}
		close(never)
	})
}

func TestFault_31_EmitPanics(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.take = inAndOut
		p := &provider{before: func() { panic("no exporter") }}
		g := w.start(t, Config{Budgets: flapping, Window: 10 * second, Every: 10 * second, LoggerProvider: p})
		pass(20*10*second + second)
		calls, _ := p.seen()
		s := g.Status()
		// One more event says that the sink is off.
		if calls != 3 || s.Panics["otel"] != 3 || s.Dropped["otel"] != 20+1 || s.Windows["ok"] != 10 {
			t.Errorf("%d calls, panics %v, dropped %v, windows %v", calls, s.Panics, s.Dropped, s.Windows)
		}
		if want := "sink otel off: its code has failed three times in a row: panic: no exporter"; s.Reason != want {
			t.Errorf("the reason is %q, want %q", s.Reason, want)
		}
		if n := len(w.told()); n != 20+1 {
			t.Errorf("another sink got %d events, want 21", n)
		}
		g.Stop()
	})
}

// Panics now and then are accidents.
func TestSinkPanicsNowAndThen(t *testing.T) {
	calls := 0
	s := newSink("test", func(Event) {
		if calls++; calls%3 != 0 {
			panic("now and then")
		}
	}, func(part string, err error) { t.Errorf("%s off: %v", part, err) })
	for range 30 {
		s.offer(Event{})
	}
	finish(s)
	if calls != 30 || s.panics.Load() != 20 || s.dropped.Load() != 20 {
		t.Errorf("%d calls, %d panics, %d dropped", calls, s.panics.Load(), s.dropped.Load())
	}
}

func TestFault_55_Callback(t *testing.T) {
	var never chan struct{}
	tests := []struct {
		name    string
		do      func(Event)
		stopped bool
		events  int // of other sinks
	}{
		{"panics", func(Event) { panic("no callback") }, false, 11}, // one says that the callback is off
		{"blocks", func(Event) { <-never }, false, 10},
		{"calls Stop", func(Event) { theGuard().Stop() }, true, 1},
		{"calls Status", func(Event) { theGuard().Status() }, false, 10},
		{"calls SetBudgets", func(Event) { theGuard().SetBudgets(flapping) }, false, 10},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			bubble(t, func(t *testing.T, w *world) {
				never = make(chan struct{})
				w.take = inAndOut
				p := &provider{}
				g := w.start(t, Config{Budgets: flapping, Window: 10 * second, Every: 10 * second, OnEvent: tt.do, LoggerProvider: p})
				pass(10*10*second + second)
				s := g.Status()
				if tt.stopped {
					if s.State != "stopped" || s.Windows["starved"] != 1 {
						t.Errorf("%s after %v", s.State, s.Windows)
					}
				} else if _, records := p.seen(); s.Windows["ok"] != 5 || len(records) != tt.events {
					t.Errorf("windows %v, %d events elsewhere", s.Windows, len(records))
				}
				before := time.Now()
				g.Stop()
				if d := time.Since(before); d > stopPromise {
					t.Errorf("Stop took %v", d)
				}
				close(never)
			})
		})
	}
}

// The line about a broken budget is read in a terminal: what is broken and where, the profile
// of it, and last how to accept it. It was 900 characters long here.
func TestSlogLineIsShort(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		e := w.still(t, Config{Budgets: budget.Must("no function above 20% cumulative except encoding/json when process above 0.1 cores")}).budgets.entries[0]
		r := budget.Result{Budget: e.Of, Verdict: budget.Fail, Value: 0.4312, Limit: 0.2, Reason: "regexp.compile at 43.12%, surely above 35.10% (412 samples)", Offenders: []budget.Offender{{
			Frame: budget.Frame{Function: "regexp.compile", File: "/usr/local/go/src/regexp/regexp.go", Line: 168},
			Blame: budget.Frame{Function: "example.com/shop/internal/orders.(*Service).Validate", File: "/home/ci/shop/internal/orders/service.go", Line: 39},
		}}}
		var b bytes.Buffer
		slogSink(slog.New(slog.NewTextHandler(&b, nil)), "/var/lib/shop/profiles")(Event{
			Name: EventFiring, Budget: e.Name, Result: r, Message: "budget " + e.Name + " is broken: at 43.12%, limit 20%; offender " + r.Offenders[0].String(), Dump: "20261127T155400.000-7f3a-cpu", Dumped: time.Now(),
		})
		line := b.String()
		at := -1
		for _, part := range []string{`msg="budget no function above 20%`, "at 43.12%, limit 20%", "offender regexp.compile at regexp/regexp.go:168", "orders/service.go:39", "dump=/var/lib/shop/profiles/", `accept="except regexp.compile"`} {
			next := strings.Index(line, part)
			if next <= at {
				t.Errorf("expected %q behind what comes before it", part)
			}
			at = next
		}
		if len(line) > 560 {
			t.Errorf("%d characters: %s", len(line), line)
		}
	})
}

// TestStartIsLogged: a line of the log says what the guard works with, whatever that is.
func TestStartIsLogged(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		dir := filepath.Join(t.TempDir(), "dumps")
		refused := func(string, dumps.Keep, func(dumps.Outcome)) (*dumps.Store, error) {
			return nil, &fs.PathError{Op: "mkdir", Path: "/var/x", Err: fs.ErrPermission}
		}
		let := make(chan struct{})
		for i, test := range []struct {
			version, dir string
			openDir      func(string, dumps.Keep, func(dumps.Outcome)) (*dumps.Store, error)
			folder, with string // regular expressions
		}{
			{"v1.0.0", "", nil, "none: there is no DumpDir", "none: there is no DumpDir and no Baseline"},
			{"", dir, nil, ".*/dumps/profguard", "none: a test keeps no references of builds"},
			{"v1.0.0", dir, nil, ".*/dumps/profguard", "none: this is the first build here; .*"},
			{"v1.1.0", dir, nil, ".*/dumps/profguard", "v1.0.0"},
			{"v1.1.0", dir, refused, "none: dumps off: mkdir /var/x: permission denied: choose a folder .*; it is tried again", "v1.0.0"},
			{"v1.1.0", "/dev/null/x", nil, "none: dumps off: .*not a directory; it is tried again", "none: no reference of an earlier build could be read: .*not a directory"},
			{"v1.1.0", dir, func(string, dumps.Keep, func(dumps.Outcome)) (*dumps.Store, error) { <-let; return nil, fs.ErrClosed }, "none: dumps off: opening DumpDir has not returned within 1s", "v1.0.0"},
		} {
			w := newWorld()
			if w.openDir = test.openDir; test.version != "" {
				w.build = release.Build{Program: "example.com/shop", Version: test.version, Binary: "b" + test.version}
			}
			var b bytes.Buffer
			g := w.start(t, Config{Budgets: flapping, Window: 10 * second, Every: minute, DumpDir: test.dir, Logger: slog.New(slog.NewJSONHandler(&b, nil))})
			if pass(minute); test.openDir == nil {
				pass(10 * minute) // until there is a reference
			}
			if i == 6 {
				close(let)
			}
			g.Stop()
			var first struct {
				Level, Msg, Event, Folder string
				Budgets                   int
				With                      string `json:"compared_with"`
			}
			line := ""
			for l := range strings.Lines(b.String()) { // what is wrong with the folder comes before
				if strings.Contains(l, "guard.started") {
					line = l
				}
			}
			if err := json.Unmarshal([]byte(line), &first); err != nil {
				t.Fatalf("%q in %s: %v", line, &b, err)
			}
			matches := func(want, is string) bool { return regexp.MustCompile("^" + want + "$").MatchString(is) }
			if first.Level != "INFO" || first.Event != "profguard.guard.started" || first.Budgets != 1 || !matches(test.folder, first.Folder) || !matches(test.with, first.With) {
				t.Errorf("%s in %q: %s, want folder %q, compared_with %q", test.version, test.dir, line, test.folder, test.with)
			}
			if n := strings.Count(b.String(), "guard.started"); n != 1 {
				t.Errorf("it was logged %d times", n)
			}
			pass(minute)
		}
	})
}

// A guard that is stopped at once has logged that it has started.
func TestStartIsLoggedBeforeStop(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		let := make(chan struct{})
		w.build = release.Build{Program: "example.com/shop", Version: "v1.0.0", Binary: "b"}
		s := w.seams()
		s.build = func() release.Build { <-let; return w.build }
		var b bytes.Buffer
		cfg := dumping(t, "portlist absent")
		cfg.Logger = slog.New(slog.NewTextHandler(&b, nil))
		cfg = w.quiet(cfg)
		g, err := start(cfg, "a test", s)
		if err != nil {
			t.Fatal(err)
		}
		g.Stop()
		if !strings.Contains(b.String(), "event=profguard.guard.started budgets=1 ") || !strings.Contains(b.String(), "the references of earlier builds are being read") {
			t.Errorf("logged %q", &b)
		}
		close(let)
		pass(second)
	})
}
