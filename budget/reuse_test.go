package budget_test

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/pprof/profile"

	. "github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/folded"
	"github.com/profguard/profguard/internal/judge"
)

// manyBudgets has every rule on every kind.
const manyBudgets = `
no function above 20% cumulative
no function above 20% cumulative except none
no function above 10% flat except main.f1
no package above 30% flat
lib absent
main.f2 absent in main.f1
main.f3 below 5%
main.f3 below 0.1 cores
process below 1 core
process below 2ms per request
gc below 5%
no function above 30% where endpoint=/a
no function grows above 5 points
main.f1 grows below 10% per request
no function above 30% of heap
heap below 1KiB
no function above 50% of allocs
no function above 3 of goroutine
main.f1 absent of goroutine
goroutines below 5
no function above 0.2 cores of mutex
no function above 0.4 cores of block when process above 0.1 cores
no goroutine leaked
`

// randomProfile makes a profile of any kind, over a few functions that call each
// other in any order.
func randomProfile(rng *rand.Rand) *profile.Profile {
	kind := []string{"cpu", "cpu", "cpu", "heap", "allocs", "goroutine", "mutex", "block", "goroutineleak"}[rng.IntN(9)]
	var b strings.Builder
	fmt.Fprintf(&b, "%s %ds\n", kind, 1+rng.IntN(20))
	names := []string{"main.main", "main.f1", "main.f2", "main.f3", "example.com/lib.Do", "runtime.gcBgMarkWorker", "fmt.Println", "runtime.systemstack", "net/http.HandlerFunc.ServeHTTP", "main.app.ServeHTTP", "main.Gen[go.shape.int]"}
	for range rng.IntN(40) {
		depth := 1 + rng.IntN(12)
		for i := range depth {
			if i > 0 {
				b.WriteByte(';')
			}
			fmt.Fprintf(&b, "%s@f.go:%d", names[rng.IntN(len(names))], 1+rng.IntN(9))
		}
		fmt.Fprintf(&b, " %d", rng.IntN(200))
		switch kind {
		case "heap", "allocs", "mutex", "block":
			fmt.Fprintf(&b, " %d", rng.Int64N(1<<uint(1+rng.IntN(62))))
		}
		if rng.IntN(3) == 0 {
			b.WriteString(" {endpoint=/a}")
		}
		b.WriteByte('\n')
	}
	return folded.Must(b.String())
}

func encode(t testing.TB, p *profile.Profile) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := p.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestSameAnswers judges many windows in four ways, which must agree: parsed and
// read, with a judge for each and with one for all.
func TestSameAnswers(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	set := Must(manyBudgets)
	read, err := newJudge(set)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := newJudge(set)
	if err != nil {
		t.Fatal(err)
	}
	bases := []*profile.Profile{nil, randomProfile(rng), folded.Must("cpu 10s\nmain.main;main.f1 10\nmain.main;main.f2;main.f3 500\n")}
	seen := map[Verdict]int{}
	for i := range rounds(120) {
		p := randomProfile(rng)
		facts := Facts{
			Baseline: Baseline{Profile: bases[i/7%len(bases)], Work: map[string]float64{"request": 500}},
			Work:     map[string]float64{"request": float64(rng.IntN(1000))},
			Module:   "example.com/app",
		}
		data := encode(t, p)
		want := judged(t, set, p, facts)
		fresh, err := set.JudgeReader(bytes.NewReader(data), facts)
		if err != nil {
			t.Fatal(err)
		}
		again, err := read.Data(data, facts)
		if err != nil {
			t.Fatal(err)
		}
		also, err := parsed.Profile(p, facts)
		if err != nil {
			t.Fatal(err)
		}
		for way, got := range map[string][]Result{"JudgeReader": fresh, "a judge that reads": again, "a judge that takes profiles": also} {
			if reflect.DeepEqual(want, got) {
				continue // which is said in a tenth of the time
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("window %d, %s (-Set.Judge +got):\n%s\n%s", i, way, diff, p)
			}
		}
		for _, r := range want {
			seen[r.Verdict]++
			checkSane(t, r)
		}
	}
	for _, v := range []Verdict{Pass, Fail, Inconclusive} {
		if seen[v] < max(rounds(8), 1) {
			t.Errorf("only %d results are %s: the windows are not various", seen[v], v)
		}
	}
}

// checkSane checks what every result promises.
func checkSane(t *testing.T, r Result) {
	t.Helper()
	for name, v := range map[string]float64{"Share": r.Value, "Low": r.Low, "High": r.High, "Limit": r.Limit} {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			t.Errorf("%s is %g in\n%s", name, v, r)
		}
	}
	if r.Low > r.High || r.Hits > r.Samples && r.Budget.Rule == "" && r.Samples > 0 {
		t.Errorf("bounds %g to %g, %d of %d samples in\n%s", r.Low, r.High, r.Hits, r.Samples, r)
	}
	if r.Reason == "" {
		t.Errorf("no reason for %s %s", r.Verdict, r.Budget)
	}
	if r.Verdict == Pass && len(r.Offenders) > 0 {
		t.Errorf("a pass with offenders:\n%s", r)
	}
	if len(r.Offenders) > judge.MaxOffenders {
		t.Errorf("%d offenders", len(r.Offenders))
	}
	if text := r.String(); strings.Contains(text, "%!") || strings.Contains(text, "NaN") || strings.Contains(text, "Inf") {
		t.Errorf("a broken report:\n%s", text)
	}
}

// TestJudgeErrors: what cannot be judged at all.
func TestJudgeErrors(t *testing.T) {
	bad := Set{{Subject: "no function", Limit: Amount{Value: -1, Unit: "%"}}}
	if _, err := newJudge(bad); err == nil {
		t.Error("NewJudge takes a bad set")
	}
	if r, err := bad.Judge(folded.Must("cpu\n"), Facts{}); r != nil || err == nil || !strings.Contains(err.Error(), "no function") {
		t.Errorf("Judge of a bad set: %v, %v", r, err)
	}
	good := Must("no function above 20%")
	if _, err := good.JudgeReader(strings.NewReader("heap profile: 1: 2 [3: 4] @ heap/1048576\n"), Facts{}); err == nil || !strings.Contains(err.Error(), "not a pprof profile") {
		t.Errorf("a profile in the old text form: %v", err)
	}
	if r, err := good.Judge(nil, Facts{}); r != nil || err == nil {
		t.Errorf("no profile: %v, %v", r, err)
	}
	some, broken := folded.Must("cpu\na 1\n"), Facts{Baseline: Baseline{Profile: &profile.Profile{Sample: []*profile.Sample{nil}}}}
	if r, err := good.Judge(some, broken); r != nil || err == nil || !strings.Contains(err.Error(), "baseline") {
		t.Errorf("Judge with a broken baseline: %v, %v", r, err)
	}
	if _, err := good.JudgeReader(bytes.NewReader(encode(t, some)), broken); err == nil || !strings.Contains(err.Error(), "baseline") {
		t.Errorf("a broken baseline: %v", err)
	}
	for _, wrong := range []Facts{{Kind: "cpus"}, {Figures: map[Figure]float64{"cores": 1}}} {
		if r, err := good.Judge(some, wrong); r != nil || err == nil || !strings.Contains(err.Error(), ": expected ") {
			t.Errorf("Judge with %v: %v, %v", wrong, r, err)
		}
	}
	if r, err := good.Judge(some, Facts{Kind: KindCPU, Figures: map[Figure]float64{FigureProcess: 1, FigureGC: 0.1}}); len(r) != 1 || err != nil {
		t.Errorf("Judge with facts: %v, %v", r, err)
	}
	if r, err := good.Judge(some, Facts{}); len(r) != 1 || err != nil {
		t.Errorf("a good set and a good profile: %v, %v", r, err)
	}
}
