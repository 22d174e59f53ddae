package guard

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/trace"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/pprof/profile"
	"go.opentelemetry.io/otel/attribute"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/dumps"
	"github.com/profguard/profguard/internal/profiler"
)

// dumping is a guard's configuration with a directory for dumps.
func dumping(t *testing.T, lines ...string) Config {
	t.Helper()
	return Config{
		Budgets: budget.Must(lines...), Window: 10 * second, Every: 10 * second,
		DumpDir: filepath.Join(t.TempDir(), "dumps"),
	}
}

// stopWhole stops a guard and waits for its loop and its disk, which Stop does for a
// quarter of a second only: the folder of a test goes with its end.
func stopWhole(t *testing.T, g *Guard) {
	t.Helper()
	g.Stop()
	<-loopEnds(g)
	if store := storeOf(g); store != nil {
		if err := store.Close(context.Background()); err != nil {
			t.Error(err)
		}
	}
}

// saved are the ids of the dumps in a guard's directory.
func saved(t *testing.T, g *Guard) []string {
	t.Helper()
	list, _, err := storeOf(g).List(100)
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, info := range list {
		ids = append(ids, string(info.ID))
	}
	return ids
}

// sidecar is that of a dump in a list.
func sidecar(t *testing.T, info dumps.Info) (s dumps.Sidecar) {
	t.Helper()
	if err := json.Unmarshal(info.Sidecar, &s); err != nil {
		t.Fatalf("%v: %+v", err, info)
	}
	return s
}

// standsIn is the status of a budget in a sidecar.
func standsIn(t *testing.T, data []byte) (s BudgetStatus) {
	t.Helper()
	if err := json.Unmarshal(data, &s); err != nil {
		t.Fatalf("%v: %s", err, data)
	}
	return s
}

func firings(w *world) []Event {
	w.mu.Lock()
	defer w.mu.Unlock()
	var list []Event
	for _, e := range w.events {
		if e.Name == EventFiring {
			list = append(list, e)
		}
	}
	return list
}

func TestDump(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.take = story("bbg")
		cfg := dumping(t, "x: fmt.Println below 20% for 1 windows")
		g := w.start(t, cfg)
		initials(t, g, 3)
		ids := saved(t, g)
		status := g.Status()
		if len(ids) != 1 || status.Dumps["saved"] != 1 {
			t.Fatalf("dumps %v, counts %v; want one: the second window came too soon", ids, status.Dumps)
		}
		if e := firings(w); len(e) != 1 || e[0].Dump != ids[0] || status.Budgets[0].Dump != ids[0] {
			t.Errorf("dump %s, the event names %q, the status %q", ids[0], e[0].Dump, status.Budgets[0].Dump)
		}
		info, _, err := storeOf(g).List(100)
		if err != nil || info[0].Broken != "" {
			t.Fatal(err, info[0].Broken)
		}
		side := sidecar(t, info[0])
		b := standsIn(t, side.Budget)
		if o := b.Result.Offenders; b.Name != "x" || b.State != StateFiring || b.Result.Verdict != budget.Fail || b.Result.Samples != 1000 || b.Samples != 1000 || b.Verdicts["fail"] != 1 ||
			len(o) != 1 || o[0].Function != "fmt.Println" || o[0].Blame.Function != "main.serve" || strings.Contains(string(side.Budget), `"history"`) || side.Mark != "first" {
			t.Errorf("sidecar %+v of %+v", side, b)
		}
		data, err := os.ReadFile(filepath.Join(cfg.DumpDir, info[0].ID.Folder(), side.Files[0]))
		if err != nil {
			t.Fatal(err)
		}
		if p, err := profile.ParseData(data); err != nil || len(p.Sample) != 2 {
			t.Errorf("the profile does not read: %v", err)
		}
		g.Stop()
	})
}

// An event that names the dump of an earlier window says so, and of which.
func TestDumpSaysItsWindow(t *testing.T) {
	for _, tt := range []struct {
		name, budget, windows string
		dumps                 int
		earlier               time.Duration
	}{
		{"this window", "x: fmt.Println below 20% for 1 windows", "b", 1, 0},
		{"the last of three", "x: fmt.Println below 20% for 3 windows", "bbb", 2, 0},
		{"an alert before", "x: fmt.Println below 20% for 1 windows", "bggb", 1, 30 * second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			bubble(t, func(t *testing.T, w *world) {
				w.take = story(tt.windows)
				var b bytes.Buffer
				p := &provider{}
				cfg := dumping(t, tt.budget)
				cfg.Logger, cfg.LoggerProvider = slog.New(slog.NewTextHandler(&b, nil)), p
				g := w.start(t, cfg)
				initials(t, g, len(tt.windows))
				list := firings(w)
				if len(list) == 0 || list[len(list)-1].Dump == "" {
					t.Fatalf("events %+v: want one with a dump", list)
				}
				e := list[len(list)-1]
				info, _, err := storeOf(g).List(100)
				if err != nil || len(info) != tt.dumps || sidecar(t, info[0]).Mark != "first" {
					t.Fatalf("dumps %+v, %v", info, err)
				}
				g.Stop()
				side := info[0]
				if !e.Dumped.Equal(side.End) || e.Time.Sub(e.Dumped) != tt.earlier {
					t.Errorf("the event of %v names a dump of %v; it is of %v, expected %v earlier", e.Time, e.Dumped, side.End, tt.earlier)
				}
				const says = "; the dump is of an earlier window that failed, which ended at "
				if want := says + side.End.Format(time.DateTime); strings.Contains(e.Message, says) != (tt.earlier > 0) || tt.earlier > 0 && !strings.HasSuffix(e.Message, want) {
					t.Errorf("the message is %q, expected the time of an earlier window: %t", e.Message, tt.earlier > 0)
				}
				if !strings.Contains(b.String(), e.Message) {
					t.Errorf("the log has no %q:\n%s", e.Message, &b)
				}
				_, records := p.seen()
				got := ""
				records[len(records)-1].WalkAttributes(func(a attribute.KeyValue) bool {
					if a.Key == "profguard.dump.time" {
						got = a.Value.AsString()
					}
					return true
				})
				if want := e.Dumped.Format(time.RFC3339); got != want {
					t.Errorf("profguard.dump.time is %q, expected %q", got, want)
				}
			})
		})
	}
}

func TestDumpOpensInPprof(t *testing.T) {
	tool, err := exec.LookPath("go")
	if err != nil {
		t.Skip("SKIPPED: no go command")
	}
	var file string
	bubble(t, func(t *testing.T, w *world) {
		w.take = story("b")
		cfg := dumping(t, "x: fmt.Println below 20% for 1 windows")
		g := w.start(t, cfg)
		initials(t, g, 1)
		g.Stop()
		found, _ := filepath.Glob(filepath.Join(cfg.DumpDir, "profguard", "*", "*-first.cpu.pb.gz"))
		if len(found) != 1 {
			t.Fatalf("profiles %v", found)
		}
		data, err := os.ReadFile(found[0])
		if err != nil {
			t.Fatal(err)
		}
		file = filepath.Join(os.TempDir(), filepath.Base(found[0]))
		if err := os.WriteFile(file, data, 0o600); err != nil {
			t.Fatal(err)
		}
	})
	defer os.Remove(file)
	out, err := exec.Command(tool, "tool", "pprof", "-top", file).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "70.00%") || !strings.Contains(string(out), "fmt.Println") {
		t.Errorf("go tool pprof -top: %v\n%s", err, out)
	}
}

// A budget of a figure keeps the profile that says what the figure is made of, and the
// CPU profile of its window beside it.
func TestDumpOfFigures(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.take, w.goroutines = story("g"), 6000
		cfg := dumping(t, "x: goroutines below 5000 for 1 windows", "fmt.Println below 90%")
		g := w.start(t, cfg)
		initials(t, g, 1)
		defer g.Stop()
		found, _ := filepath.Glob(filepath.Join(cfg.DumpDir, "profguard", "*", "*.pb.gz"))
		if !slices.ContainsFunc(found, func(name string) bool { return strings.HasSuffix(name, ".cpu.pb.gz") }) {
			t.Errorf("profiles %v, want one that is called cpu", found)
		}
		list, _, err := storeOf(g).List(100)
		if err != nil || len(list) != 1 || !strings.HasSuffix(sidecar(t, list[0]).Files[0], ".goroutine.pb.gz") || len(standsIn(t, sidecar(t, list[0]).Budget).Result.Offenders) == 0 {
			t.Errorf("%d dumps, %v, want one of goroutines with offenders", len(list), err)
			for _, d := range list {
				t.Logf("%s", d.Sidecar)
			}
		}
	})
}

// The id in an event, the status and the exemplar is that of a file that exists.
func TestDumpIDs(t *testing.T) {
	failing := errors.New("no such luck")
	tests := []struct {
		name  string
		offer func() func(*dumps.Store, dumps.Dump) (dumps.ID, error)
		want  string
		late  time.Duration // of the event
	}{
		{"saved", func() func(*dumps.Store, dumps.Dump) (dumps.ID, error) {
			return func(*dumps.Store, dumps.Dump) (dumps.ID, error) {
				go dumpEnds(theGuard(), dumps.Outcome{ID: "1"})
				return "1", nil
			}
		}, "1", 0},
		{"refused at once", func() func(*dumps.Store, dumps.Dump) (dumps.ID, error) {
			return func(*dumps.Store, dumps.Dump) (dumps.ID, error) { return "", failing }
		}, "", 0},
		{"failed on the disk", func() func(*dumps.Store, dumps.Dump) (dumps.ID, error) {
			return func(*dumps.Store, dumps.Dump) (dumps.ID, error) {
				go dumpEnds(theGuard(), dumps.Outcome{ID: "1", Err: syscall.ENOSPC})
				return "1", nil
			}
		}, "", 0},
		{"the disk hangs", func() func(*dumps.Store, dumps.Dump) (dumps.ID, error) {
			return func(*dumps.Store, dumps.Dump) (dumps.ID, error) { return "1", nil }
		}, "", 2 * second},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			bubble(t, func(t *testing.T, w *world) {
				w.take = story("b")
				w.offer = tt.offer()
				g := w.start(t, dumping(t, "x: fmt.Println below 20% for 1 windows"))
				pass(10*second + tt.late/2)
				if n := len(firings(w)); tt.late > 0 && n != 0 {
					t.Errorf("%d events before the dump's time is up", n)
				}
				pass(tt.late)
				events := firings(w)
				if len(events) != 1 || events[0].Dump != tt.want || g.Status().Budgets[0].Dump != tt.want {
					t.Errorf("events %+v, status %q, want %q", events, g.Status().Budgets[0].Dump, tt.want)
				}
				g.Stop()
			})
		})
	}
}

// What waits for a dump is told before what comes after it.
func TestHeldEventsKeepTheirOrder(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.take = story("bgb")
		w.offer = func(*dumps.Store, dumps.Dump) (dumps.ID, error) { return "1", nil } // and that is all that is heard
		cfg := dumping(t, "x: fmt.Println below 20% for 1 windows")
		cfg.DumpLimits.Every, cfg.Every, cfg.Window = second, second, second
		g := w.start(t, cfg)
		pass(8 * second) // each firing waits for its dump
		g.Stop()
		want := []string{"profguard.budget.firing x", "profguard.budget.resolved x", "profguard.budget.firing x"}
		if got := w.told(); !slices.Equal(got, want) {
			t.Errorf("events %q, want %q", got, want)
		}
	})
}

// The first dump of an alert is marked, and each that is worse than all before it. One
// that was not saved does not count.
func TestDumpMarks(t *testing.T) {
	type step struct {
		percent int // of the offender; the limit is 20
		err     error
		want    string // "-": no dump
	}
	steps := []step{
		{70, syscall.ENOSPC, "first"}, {60, nil, "first"}, {60, nil, ""}, {90, syscall.ENOSPC, "worst"}, {80, nil, "worst"}, {70, nil, ""}, {90, nil, "worst"},
		{1, nil, "-"}, {1, nil, "-"}, {1, nil, "-"}, {1, nil, "-"}, {1, nil, "-"}, {50, nil, "first"},
	}
	bubble(t, func(t *testing.T, w *world) {
		now := 0
		w.take = func(n int) profiler.Window {
			now = min(n, len(steps)-1)
			return cpuWindow(fmt.Sprintf("cpu 10s\nmain.main;main.serve;main.work %d\nmain.main;main.serve;fmt.Println %d\n", 10*(100-steps[now].percent), 10*steps[now].percent))
		}
		got := make([]string, len(steps))
		for i := range got {
			got[i] = "-"
		}
		w.offer = func(_ *dumps.Store, d dumps.Dump) (dumps.ID, error) {
			s := steps[now]
			got[now] = d.Mark
			id := dumps.ID(fmt.Sprint(now))
			go dumpEnds(theGuard(), dumps.Outcome{ID: id, Err: s.err})
			return id, nil
		}
		cfg := dumping(t, "x: fmt.Println below 20% for 1 windows")
		cfg.DumpLimits.Every = second
		g := w.start(t, cfg)
		initials(t, g, len(steps))
		for i, s := range steps {
			if got[i] != s.want {
				t.Errorf("window %d at %d%%: mark %q, want %q", i, s.percent, got[i], s.want)
			}
		}
		g.Stop()
	})
}

func TestFlightRecorder(t *testing.T) {
	for _, running := range []bool{true, false} {
		t.Run(fmt.Sprintf("running=%t", running), func(t *testing.T) {
			noLeaks(t)
			rec := trace.NewFlightRecorder(trace.FlightRecorderConfig{})
			if running {
				if err := rec.Start(); err != nil {
					t.Fatal(err)
				}
				defer rec.Stop()
			}
			w := newWorld()
			w.take = story("b")
			w.stretch = -1 // real time: the recorder's goroutines belong to no bubble
			cfg := dumping(t, "x: fmt.Println below 20% for 1 windows")
			cfg.Every, cfg.Window, cfg.Trace = second, second, rec
			g := w.start(t, cfg)
			eventually(t, "a dump", func() bool { return g.Status().Budgets[0].Dump != "" })
			info, _, err := storeOf(g).List(100)
			if err != nil || len(info) == 0 {
				t.Fatalf("dumps: %+v, %v", info, err)
			}
			if has := slices.ContainsFunc(sidecar(t, info[0]).Files, func(f string) bool { return strings.HasSuffix(f, ".trace.out") }); has != running {
				t.Errorf("a trace beside the dump: %t, want %t: %+v", has, running, info)
			}
			g.Stop()
			<-loopEnds(g)
			if rec.Enabled() != running {
				t.Errorf("after Stop the recorder runs: %t, before Start: %t", rec.Enabled(), running)
			}
		})
	}
}

// A host whose recorder is optional hands on a nil pointer, which is no nil interface.
func TestFlightRecorderNil(t *testing.T) {
	var rec *trace.FlightRecorder
	cfg, err := completed(Config{Trace: rec})
	if err != nil || cfg.Trace != nil {
		t.Errorf("Trace is %v, %v, want nil", cfg.Trace, err)
	}
}

// Profiles of other kinds are in a buffer that a dump's companions use again:
// the dump of the next budget must not get theirs.
func TestDumpsOfOneKind(t *testing.T) {
	noLeaks(t)
	w := newWorld()
	w.stretch = -1
	g := w.still(t, Config{Budgets: budget.Must(
		"a: no function above 1B of heap for 1 windows", "b: no function above 2B of heap for 1 windows",
	)})
	kinds := map[string]string{}
	w.offer = func(_ *dumps.Store, d dumps.Dump) (dumps.ID, error) {
		p, err := profile.ParseData(d.Files[0].Data)
		if err != nil {
			t.Fatal(err)
		}
		kinds[d.Name] = p.PeriodType.Type
		go dumpEnds(g, dumps.Outcome{ID: dumps.ID(d.Name)})
		return dumps.ID(d.Name), nil
	}
	dumpsTo(g, new(dumps.Store))
	for range 50 {
		held = append(held, make([]byte, 1<<20))
	}
	defer func() { held = nil }()
	runtime.GC() // the heap profile is as of the last
	runtime.GC()
	step(t, g)
	if kinds["a"] != "space" || kinds["b"] != "space" {
		t.Errorf("kinds of the dumps %q, want two of space", kinds)
	}
}

var held [][]byte

// The profile of a lost window is no evidence: a figure that is over its limit in that window
// has no dump of it.
func TestNoDumpOfLostWindows(t *testing.T) {
	for _, outcome := range []profiler.Outcome{profiler.OK, profiler.Starved, profiler.Overrun} {
		bubble(t, func(t *testing.T, w *world) {
			w.take = func(int) profiler.Window {
				win := cpuWindow(fullCore)
				win.Outcome = outcome
				return win
			}
			g := w.still(t, Config{Budgets: budget.Must("p: process below 0.1 cores for 1 windows")})
			offered := 0
			w.offer = func(_ *dumps.Store, d dumps.Dump) (dumps.ID, error) {
				offered++
				go dumpEnds(g, dumps.Outcome{ID: "1"})
				return "1", nil
			}
			dumpsTo(g, new(dumps.Store))
			step(t, g)
			if s := g.Status().Budgets[0]; s.State != StateFiring || offered != 0 != (outcome == profiler.OK) {
				t.Errorf("%s: %s, %d dumps", outcome, s.State, offered)
			}
		})
	}
}
