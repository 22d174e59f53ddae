package check

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/profguard/profguard/internal/profiler"
	"github.com/profguard/profguard/internal/unit"
	"github.com/profguard/profguard/internal/work"
)

// benchBlock is the length of one profile in a benchmark. The default -benchtime of a second
// has 19 of them, which are enough for a verdict. In shorter ones, the 3 ms that each costs
// would weigh too much.
const benchBlock = 50 * time.Millisecond

// benchmark judges the benchmark's own loop.
func (r *run) benchmark() (problem string) {
	r.t.Helper()
	r.resample() // the CPU of the process would include that of the profiler
	if len(r.of(sampled)) < len(r.set) {
		return "a benchmark judges budgets on CPU only: put the others into a test"
	}
	ctx, cancel := context.WithCancel(r.parent())
	defer cancel()
	r.worker = work.New(ctx, r.id, r.call)
	defer r.worker.Stop(0, 0)
	if r.test.cpuprofile && r.Update {
		return "no baseline was written: go test -cpuprofile holds the profiler"
	}
	if r.test.cpuprofile {
		r.worker.Loop(ctx, r.bench.Loop)
		const text = "go test -cpuprofile holds the profiler, so nothing was judged"
		if r.Strict {
			return text
		}
		r.t.Logf("guard.Check: " + text)
		return ""
	}
	r.cpu = r.newCPUPhase()
	var streaming sync.WaitGroup
	streaming.Go(func() { // until the loop ends
		profiler.Process().Stream(ctx, benchBlock, func(w profiler.Window) bool {
			r.cpu.add(r, w)
			return r.cpu.broken == nil
		})
	})
	func() {
		defer streaming.Wait() // also if work panics
		defer cancel()
		r.worker.Loop(ctx, r.bench.Loop)
	}()
	if err := r.cpu.close(r); err != nil {
		return err.Error()
	}
	r.lookAtRest()
	r.outcomes = r.decide()
	names := map[string]int{}
	for i := range r.set {
		o := r.reported(i)
		value, name, of := metricOf(o)
		if names[name+of]++; names[name+of] > 1 {
			name += fmt.Sprintf("-%d", names[name+of])
		}
		if r.outcomes[i].HasValue() {
			r.bench.ReportMetric(value, name+of)
		}
	}
	return r.report()
}

// metricOf is the metric of a benchmark for a budget, with its name and its unit apart:
// "encoding/json-%", "process-ns/call", "checkout-tls-cores".
func metricOf(o reported) (value float64, name, of string) {
	name = cmp.Or(o.Budget.Name, strings.Join(strings.Fields(o.rule.Subject), "-"))
	switch o.rule.Dimension {
	case unit.Time:
		return o.Value * 1e9, name, "-ns/" + strings.Join(strings.Fields(o.rule.Per), "-")
	case unit.Cores:
		return o.Value, name, "-cores"
	}
	return 100 * o.Value, name, "-%"
}
