package check

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/profiler"
	"github.com/profguard/profguard/internal/work"
)

// benchBlock is the length of one profile in a benchmark. The default -benchtime of a second
// has 19 of them, which are enough for a verdict. In shorter ones, the 3 ms that each costs
// would weigh too much.
const benchBlock = 50 * time.Millisecond

// benchmark judges the benchmark's own loop.
func (r *run) benchmark() (problem string) {
	r.t.Helper()
	r.plan.sampleAll(r.set) // the CPU of the process would include that of the profiler
	if len(r.plan.cpu) < len(r.set) {
		return "a benchmark judges budgets on CPU only: put the others into a test"
	}
	ctx, cancel := context.WithCancel(r.parent())
	defer cancel()
	r.worker = work.New(ctx, r.id, r.call)
	defer r.worker.Stop(0, 0)
	if r.test.cpuprofile {
		r.worker.Loop(ctx, r.bench.Loop)
		r.t.Logf("guard.Check: go test -cpuprofile holds the profiler, so that nothing was judged")
		return ""
	}
	var err error
	if r.cpu, err = r.newCPUPhase(); err != nil {
		return err.Error()
	}
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
	if err := r.cpu.results(r); err != nil {
		return err.Error()
	}
	r.cpu.attribute(r, false)
	for i := range r.set {
		value, unit := metricOf(r.reported(i).Result)
		r.bench.ReportMetric(value, unit)
	}
	r.report()
	return ""
}

// metricOf is the metric of a benchmark for a budget: "encoding/json-%", "process-ns/call",
// "checkout-tls-cores".
func metricOf(res budget.Result) (value float64, unit string) {
	b := res.Budget
	name := b.Name
	if name == "" {
		name = strings.Join(strings.Fields(b.Subject), "-")
	}
	switch {
	case b.Per != "" && b.Rule != "grows":
		return res.Share * 1e9, fmt.Sprintf("%s-ns/%s", name, strings.Join(strings.Fields(b.Per), "-"))
	case b.Limit.Unit == "cores":
		return res.Share, name + "-cores"
	}
	return 100 * res.Share, name + "-%"
}
