package budget_test

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/pprof/profile"

	. "github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/folded"
)

var everyProgram = flag.Bool("programs", false, "run every program, which takes a minute")

// module is what offenders of this test binary are the user's own by.
const module = "github.com/profguard/profguard"

const (
	// enoughSamples is what decides all of these budgets several times over: the
	// closest, functions at 10% with a limit of 40%, takes 50 to 100.
	enoughSamples = 2000
	// longest ends a program that a machine gives no CPU to. Between others that
	// take all of it, the closest has taken 68 s.
	longest = 4 * time.Minute
)

// judgeLive profiles what runs, window after window, until the budget is
// decided. How much CPU it gets is the machine's business, so that what ends it
// without a verdict is a number of samples, and not a time.
func judgeLive(t *testing.T, sentence string) Result {
	t.Helper()
	if testing.Short() {
		t.Skip("runs a program for seconds")
	}
	set := Must(sentence)
	total := []*profile.Profile{}
	for d, spent := 250*time.Millisecond, time.Duration(0); ; d = min(max(d, spent/2), 4*time.Second) {
		var b bytes.Buffer
		if err := pprof.StartCPUProfile(&b); err != nil {
			missing(t, "the CPU profiler is taken", err)
		}
		time.Sleep(d) // the length of the window, not a guess at when something is ready
		pprof.StopCPUProfile()
		p, err := profile.ParseData(b.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		total = append(total, p)
		merged, err := profile.Merge(total)
		if err != nil {
			t.Fatal(err)
		}
		r := judged(t, set, merged, Facts{Module: module})[0]
		if spent += d; r.Verdict != Inconclusive || r.Samples >= enoughSamples || spent >= longest {
			t.Logf("after %d samples:\n%s", r.Samples, r)
			return r
		}
	}
}

// missing skips a test on a machine that lacks what it needs. In CI nothing may be
// missing.
func missing(t *testing.T, what string, err error) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatalf("%s: %v", what, err)
	}
	t.Skipf("SKIPPED, NOTHING WAS TESTED: %s: %v", what, err)
}

// here is the file of its caller.
func here() string {
	_, file, _, _ := runtime.Caller(1)
	return filepath.Base(file)
}

func wantVerdict(t *testing.T, r Result, want Verdict) {
	t.Helper()
	if r.Verdict != want {
		t.Fatalf("%s, want %s\n%s", r.Verdict, want, r)
	}
}

// wantOffender checks the worst offender: its function, which the name ends
// with, and its place.
func wantOffender(t *testing.T, r Result, name, file string, from, to int) {
	t.Helper()
	if len(r.Offenders) == 0 {
		t.Fatalf("no offender\n%s", r)
	}
	o := r.Offenders[0]
	if !strings.HasSuffix(o.Function, name) {
		t.Errorf("the offender is %s, want %s\n%s", o.Function, name, r)
	}
	if filepath.Base(o.File) != file || o.Line < from || o.Line > to {
		t.Errorf("it is at %s:%d, want %s:%d to %d", o.File, o.Line, file, from, to)
	}
}

// serve runs a handler under load while the test runs.
func serve(t *testing.T, h http.Handler) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		missing(t, "there is no loopback network", err)
	}
	server := &http.Server{Handler: h}
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := server.Serve(l); err != http.ErrServerClosed {
			t.Error(err)
		}
	})
	stop := make(chan struct{})
	client := &http.Client{Transport: &http.Transport{}}
	for range 2 {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				resp, err := client.Get("http://" + l.Addr().String())
				if err != nil {
					continue // the server may have been closed before us
				}
				io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
			}
		})
	}
	t.Cleanup(func() {
		close(stop)
		server.Close()
		client.CloseIdleConnections()
		wg.Wait()
	})
}

// The work: ten callees of equal cost, each in its own body, and one that costs more.

//go:noinline
func partA(n int) float64 {
	x := 1.0
	for i := range n {
		x += float64(i) / x
	}
	return x
}

//go:noinline
func partB(n int) float64 {
	x := 1.0
	for i := range n {
		x += float64(i) / x
	}
	return x
}

//go:noinline
func partC(n int) float64 {
	x := 1.0
	for i := range n {
		x += float64(i) / x
	}
	return x
}

//go:noinline
func partD(n int) float64 {
	x := 1.0
	for i := range n {
		x += float64(i) / x
	}
	return x
}

//go:noinline
func partE(n int) float64 {
	x := 1.0
	for i := range n {
		x += float64(i) / x
	}
	return x
}

//go:noinline
func partF(n int) float64 {
	x := 1.0
	for i := range n {
		x += float64(i) / x
	}
	return x
}

//go:noinline
func partG(n int) float64 {
	x := 1.0
	for i := range n {
		x += float64(i) / x
	}
	return x
}

//go:noinline
func partH(n int) float64 {
	x := 1.0
	for i := range n {
		x += float64(i) / x
	}
	return x
}

//go:noinline
func partI(n int) float64 {
	x := 1.0
	for i := range n {
		x += float64(i) / x
	}
	return x
}

//go:noinline
func partJ(n int) float64 {
	x := 1.0
	for i := range n {
		x += float64(i) / x
	}
	return x
}

//go:noinline
func largest(n int) float64 {
	x := 1.0
	for i := range n {
		x += float64(i) / x
	}
	return x
}

var sink kept

// kept keeps results from being optimised away, by several workers at once.
type kept struct{ bits atomic.Uint64 }

func (t *kept) keep(x float64) { t.bits.Store(math.Float64bits(x)) }

// tick iterations are about a tenth of a millisecond.
const tick = 50_000

func spreadWork() {
	sink.keep(partA(tick) + partB(tick) + partC(tick) + partD(tick) + partE(tick) +
		partF(tick) + partG(tick) + partH(tick) + partI(tick) + partJ(tick))
}

func evenHandler(w http.ResponseWriter, r *http.Request) {
	sink.keep(partA(tick) + partB(tick) + partC(tick) + partD(tick) + partE(tick) +
		partF(tick) + partG(tick) + partH(tick) + partI(tick) + partJ(tick))
}

func unevenHandler(w http.ResponseWriter, r *http.Request) {
	sink.keep(largest(40*tick) + partA(tick) + partB(tick) + partC(tick) + partD(tick) + partE(tick) +
		partF(tick) + partG(tick) + partH(tick) + partI(tick) + partJ(tick))
}

func burningHandler(w http.ResponseWriter, r *http.Request) {
	x := 1.0
	for i := range 20 * tick {
		x += float64(i) / x
	}
	sink.keep(x + partA(tick) + partB(tick))
}

// spread is four times what each of ten functions has, and half of what an offender has,
// so that some fifty samples decide.
const spread = "no function above 40% cumulative"

func TestProgram_handler(t *testing.T) {
	file := here()
	largestFrom, largestTo := lineOf(t, "func largest(n int)")
	burnFrom, burnTo := lineOf(t, "func burningHandler(")
	chains := map[string]func(http.HandlerFunc) http.Handler{
		"closures": func(h http.HandlerFunc) http.Handler { return logged(logged(h)) },
		"types":    func(h http.HandlerFunc) http.Handler { return authorised{authorised{h}} },
		"mux": func(h http.HandlerFunc) http.Handler {
			mux := http.NewServeMux()
			mux.Handle("/", logged(authorised{h}))
			return mux
		},
	}
	for name, chain := range chains {
		if name != "closures" && !*everyProgram {
			continue
		}
		t.Run(name+"/even", func(t *testing.T) {
			serve(t, chain(evenHandler))
			wantVerdict(t, judgeLive(t, spread), Pass)
		})
		t.Run(name+"/one callee", func(t *testing.T) {
			serve(t, chain(unevenHandler))
			r := judgeLive(t, spread)
			wantVerdict(t, r, Fail)
			wantOffender(t, r, "budget_test.largest", file, largestFrom, largestTo)
		})
	}
	t.Run("own body", func(t *testing.T) {
		serve(t, logged(logged(http.HandlerFunc(burningHandler))))
		r := judgeLive(t, spread)
		wantVerdict(t, r, Fail)
		wantOffender(t, r, "budget_test.burningHandler", file, burnFrom, burnTo)
	})
}

// Workers are entry points: what they call counts in full, they do not.

func evenWorker(jobs <-chan int) {
	for range jobs {
		sink.keep(partA(tick) + partB(tick) + partC(tick) + partD(tick) + partE(tick) +
			partF(tick) + partG(tick) + partH(tick) + partI(tick) + partJ(tick))
	}
}

func unevenWorker(jobs <-chan int) {
	for range jobs {
		sink.keep(largest(40*tick) + partA(tick) + partB(tick) + partC(tick) + partD(tick) + partE(tick) +
			partF(tick) + partG(tick) + partH(tick) + partI(tick) + partJ(tick))
	}
}

// callingWorker hands each job to one function.
func callingWorker(jobs <-chan int) {
	for range jobs {
		spreadWork()
	}
}

func TestProgram_workers(t *testing.T) {
	file := here()
	largestFrom, largestTo := lineOf(t, "func largest(n int)")
	start := func(t *testing.T, worker func(<-chan int)) {
		jobs, stop := make(chan int), make(chan struct{})
		var wg sync.WaitGroup
		for range 2 {
			wg.Go(func() { worker(jobs) })
		}
		wg.Go(func() {
			defer close(jobs)
			for {
				select {
				case jobs <- 1:
				case <-stop:
					return
				}
			}
		})
		t.Cleanup(func() { close(stop); wg.Wait() })
	}
	t.Run("even", func(t *testing.T) {
		start(t, evenWorker)
		wantVerdict(t, judgeLive(t, spread), Pass)
	})
	t.Run("one callee", func(t *testing.T) {
		start(t, unevenWorker)
		r := judgeLive(t, spread)
		wantVerdict(t, r, Fail)
		wantOffender(t, r, "budget_test.largest", file, largestFrom, largestTo)
	})
	t.Run("one function for the job", func(t *testing.T) {
		// By the rule it is a callee like any other, and has 100%.
		start(t, callingWorker)
		r := judgeLive(t, spread)
		wantVerdict(t, r, Fail)
		wantOffender(t, r, "budget_test.spreadWork", file, 1, 1000)
		if *everyProgram {
			wantVerdict(t, judgeLive(t, spread+" except budget.spreadWork"), Pass)
		}
	})
}

// printing has a debug print that stayed in.
func printing(w io.Writer, lines int) {
	for i := range lines {
		fmt.Fprintln(w, "debug:", i, tick)
	}
}

func TestProgram_blame(t *testing.T) {
	file := here()
	line, _ := lineOf(t, `fmt.Fprintln(w, "debug:", i, tick)`)
	serve(t, logged(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		printing(io.Discard, 20000)
		spreadWork()
	})))
	r := judgeLive(t, "fmt.Fprintln below 5%")
	wantVerdict(t, r, Fail)
	if o := r.Offenders[0]; o.Function != "fmt.Fprintln" || filepath.Base(o.Blame.File) != file || o.Blame.Line != line ||
		!strings.HasSuffix(o.Blame.Function, "budget_test.printing") {
		t.Errorf("blame %s %s:%d, want budget.printing %s:%d\n%s", o.Blame.Function, o.Blame.File, o.Blame.Line, file, line, r)
	}
}

// lineOf returns the lines, in this file, of the function that begins with text,
// or of the line that holds it.
func lineOf(t *testing.T, text string) (from, to int) {
	t.Helper()
	_, file, _, _ := runtime.Caller(0)
	data, err := os.ReadFile(file)
	if err != nil {
		missing(t, "the test's source is not here", err)
	}
	for i, line := range strings.Split(string(data), "\n") {
		if from == 0 && strings.HasPrefix(strings.TrimSpace(line), text) {
			from = i + 1
		}
		if from > 0 && line == "}" {
			return from, i + 1
		}
	}
	t.Fatalf("no line begins with %q", text)
	return 0, 0
}

// TestLongWayIn: a long way in is shown from both ends, and a recursion in it once.
func TestLongWayIn(t *testing.T) {
	chain := func(name string, n int) (text string) {
		for i := range n {
			text += fmt.Sprintf(";example.com/%s%d", name, i+1)
		}
		return text
	}
	text := "cpu 10s\nmain.main;main.run" + chain("lib.r", 6) + ";example.com/shop.handle" + chain("shop.d", 8) +
		strings.Repeat(";example.com/shop.walk;example.com/shop.visit", 20) + ";example.com/shop.leaf 1000\n"
	results, err := Must("no function above 20% cumulative").Judge(folded.Must(text), Facts{Module: "example.com/shop"})
	if err != nil {
		t.Fatal(err)
	}
	const want = "shop.visit (20 times) < shop.walk (20 times) < shop.d8 < shop.d7 < (11 more) < lib.r2 < lib.r1 < main.run < main.main"
	if got := results[0].String(); !strings.Contains(got, want) {
		t.Errorf("%s\nhas not the way in %s", got, want)
	}
}
