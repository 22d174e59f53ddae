package guard

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/pprof/profile"

	"github.com/profguard/profguard/internal/profiler"
)

// An outlet is an exporter that keeps what it gets.
type outlet struct {
	mu    sync.Mutex
	got   []Profile
	fails func(n int, p Profile) error // of the nth call, from 1
	calls int
}

func (o *outlet) Export(ctx context.Context, p Profile) error {
	o.mu.Lock()
	o.calls++
	n, fails := o.calls, o.fails
	o.mu.Unlock()
	if fails != nil {
		if err := fails(n, p); err != nil {
			return err
		}
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.got = append(o.got, p)
	return nil
}

func (o *outlet) URL(p Profile) string { return "https://profiles.example/" + p.ID }

func (o *outlet) received() []Profile {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Clone(o.got)
}

// kindsOf lists what was received: the kind, and the budget of a dump.
func kindsOf(list []Profile) (all []string) {
	for _, p := range list {
		all = append(all, strings.TrimSpace(p.Kind+" "+p.Budget))
	}
	slices.Sort(all)
	return all
}

// A dump leaves with its profiles, its budget and what describes the process, and its event says
// where it is, also without a DumpDir.
func TestExport(t *testing.T) {
	for _, dir := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			w, out := newWorld(), new(outlet)
			var log bytes.Buffer
			cfg := dumping(t, "hot: main.work below 20%")
			if !dir {
				cfg.DumpDir = ""
			}
			cfg.Export.To, cfg.Export.Attributes, cfg.Logger = out, map[string]string{"service.name": "shop", "host.name": ""}, slog.New(slog.NewTextHandler(&log, nil))
			g := w.start(t, cfg)
			pass(5 * minute)
			got := out.received()
			if list := kindsOf(got); !slices.Contains(list, "cpu hot") || !slices.Contains(list, "goroutine hot") {
				t.Fatalf("received %v", list)
			}
			p := got[slices.IndexFunc(got, func(p Profile) bool { return p.Kind == "cpu" })]
			if parsed, err := profile.ParseData(p.Data); err != nil || len(parsed.Sample) != 2 || p.End.Sub(p.Start) != 10*second {
				t.Errorf("%v to %v, %v", p.Start, p.End, err)
			}
			for name, want := range map[string]string{
				"service.name": "shop", "host.name": "", "process.runtime.name": "go", "profguard.budget.sentence": "hot: main.work below 20% cumulative",
				"profguard.verdict": "fail", "profguard.value": "0.99", "profguard.limit": "0.2", "profguard.unit": "ratio", "profguard.offender": "main.work",
			} {
				if p.Attributes[name] != want {
					t.Errorf("%s is %q, want %q", name, p.Attributes[name], want)
				}
			}
			events := w.seen()
			e := events[slices.IndexFunc(events, func(e Event) bool { return e.Name == EventFiring })]
			if e.DumpURL != "https://profiles.example/"+e.Dump+".cpu" || e.Dump == "" {
				t.Errorf("the event's dump %q is at %q", e.Dump, e.DumpURL)
			}
			s := g.Status()
			if b := s.Budgets[0]; b.DumpURL == "" || s.Exports["sent"] != int64(len(got)) {
				t.Errorf("status: %q, %v", b.DumpURL, s.Exports)
			}
			stopWhole(t, g)
			if text := log.String(); !strings.Contains(text, "url=https://profiles.example/profguard-") {
				t.Errorf("the log:\n%s", text)
			}
			ids := map[string]bool{}
			for _, p := range got {
				ids[p.ID] = true
			}
			if len(ids) != len(got) {
				t.Errorf("%d profiles have %d ids", len(got), len(ids))
			}
		})
	}
}

// With Export.All each good window leaves once, also if it is a dump, too: whoever adds up CPU takes
// the windows. Lost ones do not leave.
func TestExportAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, out := newWorld(), new(outlet)
		w.take = func(n int) profiler.Window {
			if n%3 == 2 {
				return lost(profiler.Stolen)
			}
			return cpuWindow(fullCore + fmt.Sprintf("main.main;main.n%d 1\n", n))
		}
		cfg := dumping(t, "hot: main.work below 20%", "serve: main.serve below 20%")
		cfg.DumpDir, cfg.Export.To, cfg.Export.All, cfg.Window, cfg.Every = "", out, true, 10*second, minute
		g := w.start(t, cfg)
		pass(20*minute - second)
		s := g.Status()
		times := map[string]int{} // each budget's data
		windows := 0
		for _, p := range out.received() {
			if p.Kind != "cpu" {
				continue
			}
			times[p.Budget+" "+string(p.Data)]++
			if p.Budget == "" {
				windows++
			} else if times[" "+string(p.Data)] != 1 && !slices.ContainsFunc(out.received(), func(o Profile) bool { return o.Budget == "" && slices.Equal(o.Data, p.Data) }) {
				t.Errorf("%s is no window", p.ID)
			}
		}
		for of, n := range times {
			if n != 1 {
				t.Errorf("a window of budget %.4q was sent %d times", of, n)
			}
		}
		if dumps := len(times) - windows; windows != s.Windows["ok"] || dumps < 2 {
			t.Errorf("%d windows and %d dumps were sent, %v", windows, dumps, s.Windows)
		}
	})
}

// Labels that are not to leave do not, in no byte.
func TestExportLabel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, out := newWorld(), new(outlet)
		w.take = always("cpu 10s\nmain.main;main.work 990 {token=s3cr3t,endpoint=/a}\n")
		cfg := dumping(t, "hot: main.work below 20%")
		cfg.Export.To = out
		cfg.Export.Label = func(key, value string) bool { return key == "endpoint" && value == "/a" }
		g := w.start(t, cfg)
		pass(5 * minute)
		got := out.received()
		if len(got) == 0 {
			t.Fatal("nothing leaves")
		}
		for _, p := range got {
			parsed, err := profile.ParseData(p.Data)
			if err != nil {
				t.Fatal(err)
			}
			var raw bytes.Buffer
			parsed.WriteUncompressed(&raw)
			if bytes.Contains(raw.Bytes(), []byte("s3cr3t")) || bytes.Contains(raw.Bytes(), []byte("token")) {
				t.Errorf("%s has the label", p.Kind)
			}
			if p.Kind == "cpu" && (len(parsed.Sample) != 1 || parsed.Sample[0].Label["endpoint"][0] != "/a" || parsed.Sample[0].Value[0] != 990 || parsed.DurationNanos != int64(10*second)) {
				t.Errorf("%s: %v", p.Kind, parsed)
			}
		}
		stopWhole(t, g)
	})
	// One that panics keeps back the profiles whose labels it was to judge, and nothing else. What it
	// panics with is not told.
	synctest.Test(t, func(t *testing.T) {
		w, out := newWorld(), new(outlet)
		w.take = always("cpu 10s\nmain.main;main.work 990 {token=s3cr3t}\n")
		cfg := dumping(t, "hot: main.work below 20%")
		cfg.Export.To, cfg.Export.All, cfg.Export.Label = out, true, func(key, value string) bool { panic(value) }
		g := w.start(t, cfg)
		pass(5 * minute)
		if got := kindsOf(out.received()); !slices.Contains(got, "goroutine hot") || slices.Contains(got, "cpu hot") || slices.Contains(got, "cpu") {
			t.Errorf("%v leave", got)
		}
		told := fmt.Sprint(w.seen())
		if n := strings.Count(told, "Config.Export.Label has panicked"); n != 1 || strings.Contains(told, "s3cr3t") {
			t.Errorf("told %d times: %v", n, told)
		}
		if s := g.Status(); s.Exports["refused"] == 0 || s.Exports["off"] > 0 {
			t.Errorf("exports %v", s.Exports)
		}
		stopWhole(t, g)
	})
}

// What a process has not sent is sent by the next one, and nothing twice.
func TestExportAfterRestart(t *testing.T) {
	dir := dumping(t, "hot: main.work below 20%")
	run := func(out *outlet, again bool) {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld()
			cfg := dir
			cfg.Export.To = out
			if again {
				w.take = always("cpu 10s\nmain.main;main.serve 5\n")
				cfg.Export.Attributes = map[string]string{"service.version": "v2"}
			} else {
				cfg.Export.Attributes = map[string]string{"service.version": "v1"}
			}
			g := w.start(t, cfg)
			pass(2 * minute)
			stopWhole(t, g)
		})
	}
	away := &outlet{fails: func(int, Profile) error { return errors.New("away") }}
	run(away, false)
	files, err := os.ReadDir(dir.DumpDir)
	if err != nil || len(files) == 0 || len(away.received()) != 0 {
		t.Fatalf("%v, %v", files, err)
	}
	back := new(outlet)
	run(back, true)
	got := kindsOf(back.received())
	if !slices.Contains(got, "cpu hot") || !slices.Contains(got, "goroutine hot") {
		t.Errorf("the next process sends %v", got)
	}
	for _, p := range back.received() {
		if p.Attributes["service.version"] != "v1" || p.Attributes["profguard.verdict"] != "fail" || p.Start.IsZero() {
			t.Errorf("%s: %v", p.ID, p.Attributes)
		}
	}
	third := new(outlet)
	run(third, true)
	if n := len(third.received()); n != 0 {
		t.Errorf("%d are sent again", n)
	}
}

// An exporter that fails in any way changes nothing for the guard, and says so once.
func TestExporterFaults(t *testing.T) {
	hangs := make(chan struct{})
	for name, tt := range map[string]struct {
		fails func(n int, p Profile) error
		want  string // of the results
		event bool
	}{
		"away":    {func(int, Profile) error { return errors.New("connection refused") }, "failed", true},
		"panics":  {func(int, Profile) error { panic("planted") }, "failed", true},
		"refuses": {func(int, Profile) error { return fmt.Errorf("400: %w", ErrPermanent) }, "refused", false},
		"hangs":   {func(int, Profile) error { <-hangs; return nil }, "hung", true},
		"slow":    {func(int, Profile) error { time.Sleep(8 * second); return nil }, "sent", false},
		"works":   {nil, "sent", false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				hangs = make(chan struct{}) // in the bubble
				w, out := newWorld(), &outlet{fails: tt.fails}
				cfg := dumping(t, "hot: main.work below 20%")
				cfg.DumpDir, cfg.Export.To, cfg.Export.All = "", out, true
				g := w.start(t, cfg)
				pass(30 * minute)
				s := g.Status()
				if s.Exports[tt.want] == 0 || s.Windows["ok"] < 150 || s.Budgets[0].State != StateFiring {
					t.Errorf("exports %v, windows %v, %v", s.Exports, s.Windows, s.Budgets[0].State)
				}
				if failing := slices.Contains(w.told(), string(EventExportFailing)); failing != tt.event || failing != strings.Contains(s.Reason, "profiles are not exported") {
					t.Errorf("events %v, reason %q", w.told(), s.Reason)
				}
				refuses := func(text string) bool {
					return strings.Contains(text, "a profile is not exported, and not tried again: 400: refused")
				}
				if told := refuses(fmt.Sprint(w.seen())); told != (name == "refuses") || told != refuses(s.Reason) {
					t.Errorf("refused: %t, reason %q", told, s.Reason)
				}
				began := time.Now()
				g.Stop()
				if took := time.Since(began); took > stopPromise {
					t.Errorf("Stop took %v", took)
				}
				if err := g.Flush(t.Context()); err != nil && name == "works" {
					t.Error(err)
				}
				close(hangs)
				time.Sleep(10 * second)
			})
		})
	}
}

// A window that breaks two budgets is two dumps. Each leaves with its own budget, and with the ID that
// its event has, and the next process knows it by the same.
func TestExportSharedWindow(t *testing.T) {
	cfg := dumping(t, "hot: main.work below 20%", "also: main.work below 30%")
	run := func(take func(int) profiler.Window) (sent []string, events []Event) {
		synctest.Test(t, func(t *testing.T) {
			w, out := newWorld(), new(outlet)
			w.take = take
			cfg.Export.To = out
			g := w.start(t, cfg)
			pass(10 * minute)
			stopWhole(t, g)
			for _, p := range out.received() {
				sent = append(sent, fmt.Sprint(p.ID, p.Kind, p.Budget, p.Start.UTC(), p.End.UTC(), len(p.Data), p.Attributes))
				if a := p.Attributes; p.Budget != "hot" && p.Budget != "also" || !strings.HasPrefix(a["profguard.budget.sentence"], p.Budget+": ") || p.ID != a["profguard.dump.id"]+"."+p.Kind {
					t.Errorf("%s is of budget %q, %v", p.ID, p.Budget, a)
				}
			}
			events = w.seen()
		})
		slices.Sort(sent)
		return sent, events
	}
	first, events := run(func(n int) profiler.Window { return cpuWindow(fullCore + fmt.Sprintf("main.main;main.n%d 1\n", n)) })
	for _, budget := range []string{"hot", "also"} {
		i := slices.IndexFunc(events, func(e Event) bool { return e.Name == EventFiring && e.Budget == budget })
		if i < 0 || !slices.ContainsFunc(first, func(p string) bool { return strings.HasPrefix(p, events[i].Dump+".cpu"+"cpu"+budget) }) || !strings.HasSuffix(events[i].DumpURL, events[i].Dump+".cpu") {
			t.Errorf("the dump of %s is not in the store: %v", budget, events)
		}
	}
	if n := len(slices.Compact(slices.Clone(first))); n != len(first) || n < 4 {
		t.Errorf("%d of %d were sent once", n, len(first))
	}
	quiet := always("cpu 10s\nmain.main;main.serve 5\n")
	if again, _ := run(quiet); len(again) > 0 {
		t.Errorf("sent again: %v", again)
	}
	receipts, err := filepath.Glob(filepath.Join(cfg.DumpDir, "profguard", "*", "*.sent"))
	if err != nil || len(receipts) != len(first) {
		t.Errorf("%d receipts of %d profiles, %v", len(receipts), len(first), err)
	}
	for _, receipt := range receipts { // as if the process had been killed before
		if err := os.Remove(receipt); err != nil {
			t.Fatal(err)
		}
	}
	if again, _ := run(quiet); !slices.Equal(again, first) {
		t.Errorf("the next process sends\n%v, want\n%v", again, first)
	}
}

// What was dropped during an outage is sent after it, from the disk, and nothing twice.
func TestExportAfterOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, out, began := newWorld(), new(outlet), time.Now()
		w.take = func(n int) profiler.Window { return cpuWindow(fullCore + fmt.Sprintf("main.main;main.n%d 1\n", n)) }
		out.fails = func(int, Profile) error {
			if time.Since(began) < 35*minute {
				return errors.New("away")
			}
			return nil
		}
		cfg := dumping(t, "hot: main.work below 20%", "also: main.work below 30%")
		cfg.Export.To = out
		g := w.start(t, cfg)
		pass(2 * time.Hour)
		times := map[string]int{}
		for _, p := range out.received() {
			times[p.ID]++
		}
		for id, n := range times {
			if n > 1 {
				t.Errorf("%s was sent %d times", id, n)
			}
		}
		stopWhole(t, g)
		if files, err := filepath.Glob(filepath.Join(cfg.DumpDir, "profguard", "*", "*.sent")); err != nil || len(files) != len(times) {
			t.Errorf("%d have receipts of %d that were sent, %v", len(files), len(times), err)
		}
		next := new(outlet)
		w = newWorld()
		w.take = always("cpu 10s\nmain.main;main.serve 5\n")
		cfg.Export.To = next
		g = w.start(t, cfg)
		pass(minute)
		if n := len(next.received()); n > 0 {
			t.Errorf("the next process sends %d", n)
		}
		stopWhole(t, g)
	})
}

// What some process would have filtered does not leave from one that filters nothing. It stays, and
// the one that filters sends it.
func TestExportLabelOverRestart(t *testing.T) {
	dir := dumping(t, "hot: main.work below 20%")
	run := func(out *outlet, take func(int) profiler.Window, filter func(string, string) bool) {
		synctest.Test(t, func(t *testing.T) {
			w, cfg := newWorld(), dir
			w.take, cfg.Export.To, cfg.Export.Label = take, out, filter
			g := w.start(t, cfg)
			pass(5 * minute)
			stopWhole(t, g)
			refused := strings.Contains(fmt.Sprint(w.seen()), "filters labels with Config.Export.Label")
			if want := filter == nil && out.fails == nil; refused != want {
				t.Errorf("refused: %t, events %v", refused, w.told())
			}
		})
	}
	labelled := always("cpu 10s\nmain.main;main.work 990 {token=s3cr3t}\n")
	quiet := always("cpu 10s\nmain.main;main.serve 5\n")
	none := func(string, string) bool { return false }
	away := &outlet{fails: func(int, Profile) error { return errors.New("away") }}
	run(away, labelled, none)
	open, closed := new(outlet), new(outlet)
	run(open, quiet, nil)
	if got := kindsOf(open.received()); len(got) > 0 {
		t.Errorf("without the filter %v leave", got)
	}
	receipts, err := filepath.Glob(filepath.Join(dir.DumpDir, "profguard", "*", "*.refused"))
	if err != nil || len(receipts) < 2 {
		t.Fatalf("receipts %v, %v", receipts, err)
	}
	for _, receipt := range receipts {
		if err := os.Remove(receipt); err != nil {
			t.Fatal(err)
		}
	}
	run(closed, quiet, none)
	if got := kindsOf(closed.received()); !slices.Contains(got, "cpu hot") || !slices.Contains(got, "goroutine hot") {
		t.Errorf("with the filter %v leave", got)
	}
	for _, p := range closed.received() {
		if whole, err := profile.ParseData(p.Data); err != nil || p.Kind == "cpu" && len(whole.Sample[0].Label) > 0 {
			t.Errorf("%s: %v, %v", p.ID, whole, err)
		}
	}
}

// An exporter that writes to what it gets, also later, changes nothing but its own copy.
func TestExporterKeepsProfiles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, out := newWorld(), new(outlet)
		var kept []Profile
		spoil := func(p Profile) {
			clear(p.Data)
			clear(p.Attributes)
			p.Attributes["service.name"] = "spoilt"
		}
		out.fails = func(n int, p Profile) error {
			if whole, err := profile.ParseData(p.Data); err != nil || len(whole.Sample) == 0 || p.Attributes["service.name"] != "shop" {
				t.Errorf("%s: %v, of %q", p.ID, err, p.Attributes["service.name"])
			}
			for _, earlier := range kept {
				spoil(earlier)
			}
			if kept = append(kept, p); n%2 == 1 { // it comes again
				spoil(p)
				return errors.New("away")
			}
			return nil
		}
		cfg := dumping(t, "hot: main.work below 20%")
		cfg.Export.To, cfg.Export.All, cfg.Export.Attributes = out, true, map[string]string{"service.name": "shop"}
		g := w.start(t, cfg)
		pass(10 * minute)
		if len(out.received()) < 10 {
			t.Errorf("%d were sent", len(out.received()))
		}
		stopWhole(t, g)
		files, err := filepath.Glob(filepath.Join(cfg.DumpDir, "profguard", "*", "*.pb.gz"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%v, %v", files, err)
		}
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err == nil {
				_, err = profile.ParseData(data)
			}
			if err != nil {
				t.Errorf("%s: %v", file, err)
			}
		}
	})
}

// Flush sends what was judged, at once.
func TestGuardFlush(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, out := newWorld(), new(outlet)
		w.random = func() float64 { return 0.99 }
		cfg := dumping(t, "hot: main.work below 20%")
		cfg.Export.To = out
		g := w.start(t, cfg)
		for len(w.told()) == 0 { // until it fires
			time.Sleep(10 * time.Millisecond)
		}
		began := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), second)
		defer cancel()
		if err := g.Flush(ctx); err != nil || time.Since(began) > 100*time.Millisecond || !slices.Contains(kindsOf(out.received()), "cpu hot") {
			t.Errorf("%v after %v: %v", err, time.Since(began), kindsOf(out.received()))
		}
		stopWhole(t, g)
	})
	for _, g := range []*Guard{nil, new(Guard)} {
		if err := g.Flush(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// Flush without a limit, beside Stop, ends with it, and says what is left.
func TestFlushBesideStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hangs := make(chan struct{})
		w, out := newWorld(), &outlet{fails: func(int, Profile) error { <-hangs; return nil }}
		cfg := dumping(t, "hot: main.work below 20%")
		cfg.Export.To = out
		g := w.start(t, cfg)
		time.Sleep(2 * minute)
		flushed := make(chan error)
		go func() { flushed <- g.Flush(context.Background()) }()
		time.Sleep(second)
		began := time.Now()
		g.Stop()
		if took := time.Since(began); took > stopPromise {
			t.Errorf("Stop took %v", took)
		}
		if err := <-flushed; err == nil || !strings.Contains(err.Error(), "profiles are not sent: the guard has stopped") {
			t.Error(err)
		}
		if took := time.Since(began); took > second {
			t.Errorf("Flush took %v", took)
		}
		close(hangs)
		stopWhole(t, g)
	})
}

// A profile that was fed just before is judged, and its dump is sent, with its event.
func TestGuardFlushFed(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		out, own := new(outlet), make(chan struct{}, 100) // own windows that have begun
		w.take = func(int) profiler.Window { own <- struct{}{}; return cpuWindow(fullCore) }
		w.random = func() float64 { return 0.9 } // what is dumped was fed: the guard's first window is later
		cfg := dumping(t, "hot: main.work below 20% for 1 window")
		cfg.Export.To, cfg.Every = out, minute
		g := w.start(t, cfg)
		for n := range 2 {
			start := time.Now()
			pass(2 * second)
			if err := g.Feed(fedProfile(start, 2*second, 60), start, time.Now()); err != nil {
				t.Fatal(n, err)
			}
			if err := g.Flush(t.Context()); err != nil {
				t.Error(n, err)
			}
			got := kindsOf(out.received())
			if synctest.Wait(); !slices.Contains(got, "cpu hot") || !slices.Contains(w.told(), string(EventFiring)+" hot") {
				t.Errorf("%v left, told %v", got, w.told())
			}
		}
		pass(5 * minute) // nothing is fed any more
		for len(own) > 0 {
			<-own
		}
		<-own // the loop is in a window of its own
		start := time.Now()
		if err := g.Feed(fedProfile(start.Add(-10*second), 10*second, 60), start.Add(-10*second), start); err != nil {
			t.Fatal(err)
		}
		if g.Flush(t.Context()); time.Since(start) < judgedWithin || time.Since(start) > second {
			t.Errorf("Flush took %v", time.Since(start))
		}
		stopWhole(t, g)
		start = time.Now()
		if g.Flush(t.Context()); time.Since(start) > 0 {
			t.Errorf("after Stop it took %v", time.Since(start))
		}
	})
}

type picky struct{ Exporter }

func (picky) Validate() error { return errors.New("Endpoint: expected an address, found none") }

type slowCheck struct {
	Exporter
	until chan struct{}
}

func (s slowCheck) Validate() error { <-s.until; return nil }

type wild struct{ Exporter }

func (wild) Validate() error { panic("planted") }

func TestExportConfig(t *testing.T) {
	until := make(chan struct{})
	defer close(until)
	for want, cfg := range map[string]Config{
		"Export.To: Endpoint: expected an address": {Export: Export{To: picky{}}},
		"Export.To: panic: planted":                {Export: Export{To: wild{}}},
		"Export.To: has not returned within 1s":    {Export: Export{To: slowCheck{until: until}}},
		"expected an exporter in To":               {Export: Export{All: true}},
		"":                                         {Export: Export{To: new(outlet), All: true}},
	} {
		_, err := completed(newWorld().quiet(cfg))
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	mine := map[string]string{"a": "b"}
	cfg, err := completed(newWorld().quiet(Config{Export: Export{To: new(outlet), Attributes: mine}}))
	mine["a"] = "c"
	if err != nil || !maps.Equal(cfg.Export.Attributes, map[string]string{"a": "b"}) {
		t.Errorf("%v, %v", cfg.Export.Attributes, err)
	}
	data, err := json.Marshal(Event{Dump: "d", DumpURL: "u"})
	if err != nil || !strings.Contains(string(data), `"dump_url":"u"`) {
		t.Errorf("%s, %v", data, err)
	}
}
