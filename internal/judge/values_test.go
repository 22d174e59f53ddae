package judge_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/pprof/profile"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/bridge"
	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/folded"
	"github.com/profguard/profguard/internal/judge"
)

var tenants, users = budget.Must("no tenant above 30%"), budget.Must("no user above 30%")

// fifty is a window of n samples of fifty tenants, of which one has a share of its own, and the others
// 2% each at most.
func fifty(rng *rand.Rand, n int, share float64) *profile.Profile {
	hits := map[int]int{}
	for range n {
		if rng.Float64() < share {
			hits[0]++
		} else {
			hits[1+rng.IntN(49)]++
		}
	}
	text := "cpu 10s\n"
	for tenant, k := range hits {
		text += fmt.Sprintf("main.main;main.serve;main.report %d {tenant=t%d}\n", k, tenant)
	}
	return folded.Must(text)
}

// TestNoisyTenant is found with 40%, and its twins with 2% each are not; nor is it itself with 2%.
func TestNoisyTenant(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 100 {
		r := judged(t, tenants, fifty(rng, 1000, 0.4))[0]
		if r.Verdict == budget.Pass || r.Verdict == budget.Fail && (len(r.Offenders) != 1 || r.Offenders[0].Function != "t0" || r.Offenders[0].Within.Function != "main.report") {
			t.Fatalf("one of fifty has 40%%:\n%s", r)
		}
		if r := judged(t, tenants, fifty(rng, 1000, 0.02))[0]; r.Verdict != budget.Pass {
			t.Fatalf("all have 2%%:\n%s", r)
		}
	}
}

// TestNoisyTenantInWindows: small windows together prove it, and keep nothing of the others.
func TestNoisyTenantInWindows(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	next, quiet := watcher(t, "no tenant above 30%"), watcher(t, "no tenant above 30%")
	var noisy, calm watched
	for range 40 {
		noisy, calm = next(fifty(rng, 60, 0.6)), quiet(fifty(rng, 60, 0.02))
		if calm.Proven == budget.Fail {
			t.Fatal("a quiet tenant is over the limit")
		}
	}
	if noisy.Proven != budget.Fail || calm.Proven != budget.Pass {
		t.Errorf("after 40 windows of 60 samples: %v, of quiet ones %v", noisy.Proven, calm.Proven)
	}
}

// TestTooManyValues: user IDs by mistake.
func TestTooManyValues(t *testing.T) {
	text := "cpu 100s\n"
	for i := range 10_000 {
		text += fmt.Sprintf("main.main;main.serve 1 {user=u%d}\n", i)
	}
	many := folded.Must(text)
	r := judged(t, users, many)[0]
	if r.Verdict != budget.Inconclusive || !strings.Contains(r.Reason, "more than 1000 values") {
		t.Errorf("10,000 values:\n%s", r)
	}
	// One that is over the limit for sure does not hide behind them.
	r = judged(t, users, folded.Must(text+"main.main;main.serve;main.report 9000 {user=noisy}\n"))[0]
	if r.Verdict != budget.Fail || r.Offenders[0].Function != "noisy" {
		t.Errorf("10,000 values, and one with 47%%:\n%s", r)
	}
	next := watcher(t, "no user above 30%")
	for range 3 {
		if w := next(many.Copy()); w.Proven != budget.Inconclusive {
			t.Errorf("10,000 values in each window: %v", w.Proven)
		}
	}
	blocks := newTrial(t, "no user above 30%")
	var list []*profile.Profile
	for block := range 20 {
		text := "cpu 100ms\n"
		for i := range 100 {
			text += fmt.Sprintf("main.main;main.serve 1 {user=u%d-%d}\n", block, i)
		}
		list = append(list, folded.Must(text))
	}
	if r := blocks.judged(t, list)[0]; r.Verdict != budget.Inconclusive || !strings.Contains(r.Reason, "more than 1000 values") {
		t.Errorf("2,000 values in blocks:\n%s", r)
	}
}

// TestLabelThatNobodySets is never proven to be kept, in no regime.
func TestLabelThatNobodySets(t *testing.T) {
	p := folded.Must("cpu 10s\nmain.main;main.serve 1000 {endpoint=/}\n")
	next, blocks := watcher(t, "no tenant above 30%"), newTrial(t, "no tenant above 30%")
	for range 5 {
		if w := next(p.Copy()); w.Proven != budget.Inconclusive {
			t.Errorf("windows without the label prove %v", w.Proven)
		}
	}
	if r := blocks.judged(t, []*profile.Profile{p, p.Copy()})[0]; r.Verdict != budget.Inconclusive || !strings.Contains(r.Reason, "no sample has the label tenant") {
		t.Errorf("blocks without the label:\n%s", r)
	}
	rng, list := rand.New(rand.NewPCG(5, 6)), []*profile.Profile(nil)
	for range 30 {
		list = append(list, fifty(rng, 100, 0.6))
	}
	if r := newTrial(t, "no tenant above 30%").judged(t, list)[0]; r.Verdict != budget.Fail || r.Offenders[0].Function != "t0" {
		t.Errorf("blocks with a noisy tenant:\n%s", r)
	}
}

// TestValuesOfClients: long values, those with controls, and those that look alike are bounded and told apart.
func TestValuesOfClients(t *testing.T) {
	long := strings.Repeat("x", 5000)
	p := folded.Must("cpu 10s\nmain.main;main.serve 400 {tenant=A}\nmain.main;main.serve 300 {tenant=B}\nmain.main;main.serve 300 {tenant=C}\n")
	for _, s := range p.Sample {
		s.Label["tenant"][0] = map[string]string{"A": long + "a", "B": long + "b", "C": "two\nlines\x1b[2J"}[s.Label["tenant"][0]]
	}
	r := judged(t, budget.Must("no tenant above 20%"), p)[0]
	if r.Verdict != budget.Fail || len(r.Offenders) != 3 || r.Over != 3 {
		t.Fatalf("three values:\n%s", r)
	}
	if len(r.Offenders[0].Function) > 120 || strings.ContainsAny(r.String(), "\x1b") || strings.Count(r.String(), "\n") > 20 {
		t.Errorf("the values are not bounded:\n%s", r)
	}
	exact := budget.Must("no tenant above 20%")
	exact[0].Except = []string{fmt.Sprintf("%q", long+"a"), fmt.Sprintf("%q", "two\nlines\x1b[2J")}
	if r, err := exact.Judge(p, budget.Facts{}); err != nil || r[0].Over != 1 {
		t.Errorf("two are accepted: %v\n%v", err, r)
	}
}

// TestValuesGrow compares with a baseline.
func TestValuesGrow(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 10))
	before, now := fifty(rng, 10_000, 0.02), fifty(rng, 10_000, 0.2)
	for _, c := range []struct {
		now  *profile.Profile
		want budget.Verdict
	}{{now, budget.Fail}, {fifty(rng, 10_000, 0.02), budget.Pass}} {
		r, err := budget.Must("no tenant grows above 5 points").Judge(c.now, budget.Facts{Baseline: budget.Baseline{Profile: before}})
		if err != nil || r[0].Verdict != c.want || c.want == budget.Fail && r[0].Offenders[0].Function != "t0" {
			t.Errorf("want %v: %v\n%s", c.want, err, r[0])
		}
	}
}

// TestManyLabelBudgets: a thousand budgets on a label of a thousand values ask for its sums once.
func TestManyLabelBudgets(t *testing.T) {
	text := "cpu 10s\n"
	for i := range 1000 {
		text += fmt.Sprintf("main.main;main.serve 1 {user=u%d}\n", i)
	}
	set := make(budget.Set, 1000)
	for i := range set {
		set[i] = users[0]
		set[i].Name = fmt.Sprint("b", i)
	}
	if r := judged(t, set, folded.Must(text)); r[0].Verdict != budget.Pass || r[999].Verdict != budget.Pass {
		t.Errorf("%s\n%s", r[0], r[999])
	}
}

func BenchmarkTooManyValues(b *testing.B) {
	text := "cpu 100s\n"
	for i := range 10_000 {
		text += fmt.Sprintf("main.main;main.serve 1 {user=u%d}\n", i)
	}
	rules, _ := bridge.Rules(users)
	j, d := judge.New(rules), new(decode.Decoder)
	t, err := d.Profile(folded.Must(text))
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := j.Table(b.Context(), t, judge.Facts{}); err != nil {
			b.Fatal(err)
		}
	}
}
