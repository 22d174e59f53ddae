package profiler

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"

	"github.com/profguard/profguard/internal/decode"
)

// fabricate makes a CPU profile with so many samples at each leaf function,
// called by "runtime._System".
func fabricate(samples map[string]int64, edit func(*profile.Profile)) *profile.Profile {
	p := &profile.Profile{
		SampleType:    []*profile.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}},
		PeriodType:    &profile.ValueType{Type: "cpu", Unit: "nanoseconds"},
		Period:        period,
		DurationNanos: int64(10 * time.Second),
	}
	location := func(name string) *profile.Location {
		id := uint64(len(p.Function) + 1)
		f := &profile.Function{ID: id, Name: name}
		l := &profile.Location{ID: id, Line: []profile.Line{{Function: f}}}
		p.Function, p.Location = append(p.Function, f), append(p.Location, l)
		return l
	}
	root := location("runtime._System")
	for name, n := range samples {
		stack := []*profile.Location{root}
		if name != "" {
			stack = []*profile.Location{location(name), root}
		}
		p.Sample = append(p.Sample, &profile.Sample{Location: stack, Value: []int64{n, n * period}})
	}
	if edit != nil {
		edit(p)
	}
	return p
}

func TestCheck(t *testing.T) {
	whole := Window{Elapsed: 10 * time.Second, CPU: 10 * time.Second, Slices: 1}
	with := func(edit func(*Window)) Window {
		w := whole
		edit(&w)
		return w
	}
	idle := with(func(w *Window) { w.CPU = 250 * ms })
	tests := []struct {
		name    string
		w       Window
		samples map[string]int64
		edit    func(*profile.Profile)
		outcome Outcome
		reason  string
	}{
		{name: "whole", w: whole, samples: map[string]int64{"main.work": 1000}},

		{name: "10: buffer full", w: whole, samples: map[string]int64{"main.work": 980, "runtime/pprof.lostProfileEvent": 20},
			outcome: Lost, reason: "lost 20 of 1000 samples"},
		{name: "10: on foreign threads", w: whole, samples: map[string]int64{"main.work": 980, "runtime._LostExternalCode": 20},
			outcome: Lost, reason: "lost 20 of 1000"},
		{name: "10: in atomics", w: whole, samples: map[string]int64{"main.work": 980, "runtime._LostSIGPROFDuringAtomic64": 20},
			outcome: Lost, reason: "lost 20 of 1000"},
		{name: "10: together", w: whole, samples: map[string]int64{"main.work": 988, "runtime._LostExternalCode": 6, "runtime/pprof.lostProfileEvent": 6},
			outcome: Lost, reason: "lost 12 of 1000"},
		{name: "10: all of them", w: idle, samples: map[string]int64{"runtime/pprof.lostProfileEvent": 5},
			outcome: Lost, reason: "lost 5 of 5"},
		{name: "10: one in a hundred is allowed", w: whole, samples: map[string]int64{"main.work": 990, "runtime/pprof.lostProfileEvent": 10}},
		{name: "10: names that only look like it", w: whole, samples: map[string]int64{"main.work": 900, "main.lostProfileEvent": 100}},
		{name: "10: stacks of one frame", w: whole, samples: map[string]int64{"": 1000}},

		{name: "5: foreign rate", w: whole, samples: map[string]int64{"main.work": 1000}, edit: func(p *profile.Profile) { p.Period = 4e6 },
			outcome: Rate, reason: "4ms, not 10ms"},
		{name: "short", w: whole, samples: map[string]int64{"main.work": 1000}, edit: func(p *profile.Profile) { p.DurationNanos = 8.8e9 },
			outcome: Short, reason: "8.8s of a window of 10s; that happens on an overloaded machine"},
		{name: "long", w: whole, samples: map[string]int64{"main.work": 1000}, edit: func(p *profile.Profile) { p.DurationNanos = 11.2e9 },
			outcome: Overrun, reason: "11.2s"},
		{name: "within 10%", w: whole, samples: map[string]int64{"main.work": 1000}, edit: func(p *profile.Profile) { p.DurationNanos = 9.1e9 }},
		{name: "a stop for each slice", w: with(func(w *Window) { w.Slices = 5 }), samples: map[string]int64{"main.work": 1000},
			edit: func(p *profile.Profile) { p.DurationNanos = 11.2e9 }},

		{name: "7: no samples", w: whole, outcome: Starved, reason: "no sample for 10s"},
		{name: "7: no samples for little CPU", w: with(func(w *Window) { w.CPU = 251 * ms }), outcome: Starved, reason: "SIGPROF"},
		{name: "7: idle", w: idle},
		{name: "starved", w: whole, samples: map[string]int64{"main.work": 648}, outcome: Starved, reason: "6.48s of CPU time, but 10s were used"},
		{name: "not quite", w: whole, samples: map[string]int64{"main.work": 650}},
		{name: "overfed", w: whole, samples: map[string]int64{"main.work": 1375}, outcome: Starved, reason: "13.75s"},
		{name: "few samples, by chance", w: with(func(w *Window) { w.CPU = 1115 * ms }), samples: map[string]int64{"main.work": 77}},
		{name: "few samples, starved", w: with(func(w *Window) { w.CPU = 1115 * ms }), samples: map[string]int64{"main.work": 55}, outcome: Starved, reason: "550ms"},
		{name: "too little CPU to tell", w: with(func(w *Window) { w.CPU = time.Second }), samples: map[string]int64{"main.work": 10}},
		{name: "CPU time unknown", w: with(func(w *Window) { w.CPU = 0 }), samples: map[string]int64{"main.work": 1000}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var b bytes.Buffer
			if err := fabricate(test.samples, test.edit).Write(&b); err != nil {
				t.Fatal(err)
			}
			var d decode.Decoder
			table, err := d.Bytes(b.Bytes())
			if err != nil {
				t.Fatal(err)
			}
			w := test.w
			Check(&w, table)
			if w.Outcome != test.outcome || !strings.Contains(w.Reason, test.reason) || (w.Reason == "") != (w.Outcome == OK) {
				t.Errorf("got %v: %q, want %v: %q", w.Outcome, w.Reason, test.outcome, test.reason)
			}
		})
	}
}

// Fault 10 on the real names: what the runtime calls its losses may change with
// the toolchain, so the names are looked up in its source.
func TestFault_10_LostFunctionsExist(t *testing.T) {
	root := strings.TrimSpace(goTool(t, ".", "env", "GOROOT"))
	for _, full := range lostFunctions {
		dir, name, _ := strings.Cut(full, ".")
		files, err := filepath.Glob(filepath.Join(root, "src", filepath.FromSlash(dir), "*.go"))
		if err != nil || len(files) == 0 {
			t.Skipf("SKIPPED, THE NAMES ARE NOT VERIFIED: no source in %s", root)
		}
		found := false
		for _, file := range files {
			src, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			found = found || bytes.Contains(src, []byte("func "+name+"()"))
		}
		if !found {
			t.Errorf("no function %s in this toolchain", full)
		}
	}
}
