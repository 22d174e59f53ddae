package check

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/decode"
)

var (
	fidelityRuns  = flag.Int("check.runs", 0, "run so many checks in each cell of TestCheckFidelity")
	fidelityLimit = flag.Float64("check.limit", 40, "the limit of TestCheckFidelity, in percent")
	fidelityProcs = flag.Int("check.procs", 0, "GOMAXPROCS of TestCheckFidelity; 0 leaves it")
	fidelityHog   = flag.Int("check.hogs", 0, "busy goroutines beside the checks of TestCheckFidelity")
	fidelitySide  = flag.Int("check.side", 4, "checks of TestCheckFidelity that run side by side")
	fidelityTimes = flag.String("check.ratios", "0.5,0.8,0.95,1.5,2", "the true shares of TestCheckFidelity, as multiples of the limit")
	fidelityMax   = flag.Duration("check.max", 20*time.Minute, "how long a check of TestCheckFidelity may take")
	fidelityFile  = flag.String("check.streams", "", "append what each check of TestCheckFidelity saw to this file, for TestCheckReplay")
)

// TestCheckFidelity is the table of docs/design.md: checks of work with a known
// share, at several times the limit.
//
//	go test ./internal/check -run TestCheckFidelity -check.runs 500 -timeout 0 -v
func TestCheckFidelity(t *testing.T) {
	if *fidelityRuns == 0 {
		t.Skip("takes minutes to hours: say -check.runs")
	}
	needProfiler(t)
	if *fidelityProcs > 0 {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(*fidelityProcs))
	}
	stop := make(chan struct{})
	var hogs sync.WaitGroup
	for range *fidelityHog {
		hogs.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					mix(0.5)
				}
			}
		})
	}
	defer hogs.Wait()
	defer close(stop)

	fmt.Println("| times the limit | checks | pass | fail | open | median samples | 95% | median time |")
	fmt.Println("|---|---|---|---|---|---|---|---|")
	for _, text := range strings.Split(*fidelityTimes, ",") {
		x, err := strconv.ParseFloat(text, 64)
		if err != nil || x <= 0 || x**fidelityLimit > 100 {
			t.Fatalf("-check.ratios: expected multiples of the limit up to %g, found %q", 100 / *fidelityLimit, text)
		}
		c := runCell(t, x, *fidelityLimit/100)
		fmt.Printf("| %v | %d | %d | %d | %d | %.0f | %.0f | %.1f s |\n", x, *fidelityRuns,
			c.count["pass"], c.count["fail"], c.count["open"], quantileOf(c.samples, 0.5), quantileOf(c.samples, 0.95), quantileOf(c.seconds, 0.5))
		wrong := map[bool]string{true: "fail", false: "pass"}[x < 1]
		if c.count[wrong] > 0 || c.count["broken"] > 0 {
			t.Errorf("%v times the limit: %v", x, c.count)
		}
	}
}

// A cell is what became of many checks alike.
type cell struct {
	count            map[string]int
	samples, seconds []float64
}

// fidelitySet are budgets that burnGuilty is to be judged by, one by name and
// one as everybody is.
func fidelitySet(limit float64) budget.Set {
	return budget.Must(
		fmt.Sprintf("no function above %g%% cumulative except burnInnocent", 100*limit),
		fmt.Sprintf("check.burnGuilty below %g%% cumulative", 100*limit),
	)
}

func runCell(t *testing.T, x, limit float64) cell {
	var mu sync.Mutex
	c := cell{count: map[string]int{}}
	set := fidelitySet(limit)
	share, temp := x*limit, t.TempDir()
	next := make(chan int)
	var wg sync.WaitGroup
	for range *fidelitySide {
		wg.Go(func() {
			for i := range next {
				var seen strings.Builder // the guilty and all samples of each block
				out := tryCheckAs(&fakeTB{onBlock: func(block *decode.Table) {
					guilty := int64(0)
					for s := range block.Each() {
						leaf := block.Locations[s.Locations[0]]
						if block.Symbols.Name(block.Lines[leaf.LineLo].Name) == checkPackage+".burnGuilty" {
							guilty += s.Values[0]
						}
					}
					fmt.Fprintf(&seen, " %d/%d", guilty, block.Count())
				}, name: fmt.Sprintf("%s/%v/%d", t.Name(), x, i), temp: temp}, Config{Max: *fidelityMax}, set,
					func(context.Context) { mix(share) })
				mu.Lock()
				v := out.verdict()
				c.count[v]++
				c.keep(t, x, limit, v, out, seen.String())
				if (x < 1) != (v == "pass") {
					t.Logf("%v times the limit, %s: %s", x, v, out.text())
				}
				if out.run != nil && out.run.cpu != nil {
					c.samples = append(c.samples, float64(out.run.cpu.blocks.Samples()))
					c.seconds = append(c.seconds, time.Since(out.run.begun).Seconds())
				}
				mu.Unlock()
			}
		})
	}
	for i := range *fidelityRuns {
		next <- i
	}
	close(next)
	wg.Wait()
	return c
}

// keep appends a line to the file of streams: under which conditions, at how
// many times which limit, the verdict, and the guilty and all samples of each
// window.
func (c *cell) keep(t *testing.T, x, limit float64, verdict string, out checked, seen string) {
	if *fidelityFile == "" || out.run == nil || out.run.cpu == nil {
		return
	}
	line := fmt.Sprintf("%s %g %g %s %.1f%s", conditions(), x, limit, verdict, time.Since(out.run.begun).Seconds(), seen)
	f, err := os.OpenFile(*fidelityFile, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		t.Error(err)
		return
	}
	_, err = fmt.Fprintln(f, line)
	if err := errors.Join(err, f.Close()); err != nil {
		t.Error(err)
	}
}

// conditions names those that checks run under.
func conditions() string {
	name := fmt.Sprintf("procs%d", runtime.GOMAXPROCS(0))
	if *fidelityHog > 0 {
		name += fmt.Sprintf("-hogs%d", *fidelityHog)
	}
	if currentTestRun().race {
		name += "-race"
	}
	return name
}

func quantileOf(xs []float64, q float64) float64 {
	if len(xs) == 0 {
		return 0
	}
	xs = slices.Sorted(slices.Values(xs))
	return xs[min(len(xs)-1, int(q*float64(len(xs))))]
}
