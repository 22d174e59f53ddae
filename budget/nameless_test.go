package budget_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"

	. "github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/folded"
)

// named is a profile of a healthy service. lacking is that of a program in which a stack has so
// many of 10,000 samples.
const named = "cpu 10s\nruntime.main;main.main;main.serve;main.a 5000\nruntime.main;main.main;main.serve;main.b 5000\n"

func lacking(stack string, samples int) *profile.Profile {
	rest := 10_000 - samples
	p := folded.Must(fmt.Sprintf("cpu 10s\nruntime.main;main.main;main.serve;main.a %d\nruntime.main;main.main;main.serve;main.b %d\n%s %d\n", rest/2, rest-rest/2, stack, samples))
	for _, f := range p.Function {
		f.Name = strings.ReplaceAll(f.Name, "EMPTY", "")
	}
	for _, l := range p.Location {
		if l.Line[0].Function.Name == "NOLINES" {
			l.Line = nil
		}
	}
	return p
}

// ofNames are budgets that a profile without names can't show to be kept.
var ofNames = []string{
	"regexp.compile below 5%", "regexp.compile below 90%", "regexp.compile below 0.1 cores", "regexp.compile below 5% flat", "regexp.compile absent",
	"no function above 60%", "no function above 99.9% flat", "no package above 60%", "main.b below 60% in regexp.compile", "gc below 5%",
	"regexp.compile grows below 5 points",
}

// A pass that depends on names of functions takes a profile that has them. In any stack without
// them may be what a budget is about.
func TestFault_83_Nameless(t *testing.T) {
	base := Facts{Baseline: Baseline{Profile: folded.Must(named)}}
	for _, stack := range []string{
		"[shop];[shop];[shop]", "NOLINES;NOLINES", "EMPTY;EMPTY", "0x4a2b10;0x4a2c20", "7f3a10c2;7f3a10d8", "shop+0x2b10;shop+0x2c20", "[unknown]",
		"[shop];[shop];entry_SYSCALL_64;do_syscall_64;vfs_write.isra.0", // perf, with the kernel's names
		"[shop];[shop];main.leaf", "runtime.main;main.main;[shop];main.leaf",
	} {
		for _, samples := range []int{150, 9_900, 10_000} {
			p := lacking(stack, samples)
			for _, sentence := range ofNames {
				r := judged(t, Must(sentence), p, base)[0]
				// A fail is of what has a name, or of the file itself.
				fails := r.Verdict == Fail && strings.HasPrefix(sentence, "no function") && (r.Budget.Flat || strings.HasSuffix(stack, "main.leaf"))
				if r.Verdict != Inconclusive && !fails || r.Verdict == Inconclusive && !strings.Contains(r.Reason, "have no function names") {
					t.Errorf("%d samples of %s:\n%s", samples, stack, r)
				}
				if r.Verdict == Inconclusive && r.Unit == "share" && r.High < float64(samples)/10_000 {
					t.Errorf("%d samples of %s: at most %v:\n%s", samples, stack, r.High, r)
				}
			}
			// What asks for no name is judged as ever, and what fails by names that are there fails.
			for sentence, want := range map[string]Verdict{"process below 11 cores": Pass, "process below 9 cores": Fail} {
				if r := judged(t, Must(sentence), p)[0]; r.Verdict != want {
					t.Errorf("%d samples of %s:\n%s", samples, stack, r)
				}
			}
			if r := judged(t, Must("main.a below 40%"), p)[0]; samples == 150 && r.Verdict != Fail {
				t.Errorf("a fail that is proven:\n%s", r)
			}
			w, err := newWatch(Must(ofNames[:2]...), time.Minute)
			if err != nil {
				t.Fatal(err)
			}
			for i := range 20 {
				results, err := w.Profile(p, time.Duration(i)*time.Minute)
				if err != nil || results[0].Proven == Pass || results[1].Proven == Pass {
					t.Fatalf("%d samples of %s, window %d: %v %v", samples, stack, i, results, err)
				}
			}
		}
	}
}

// The clean twins: all names, few without, and what ordinary programs of Go end in.
func TestNamesEnough(t *testing.T) {
	base := Facts{Baseline: Baseline{Profile: folded.Must(named)}}
	const cgo = "runtime.main;main.main;main.serve;main._Cfunc_sum;runtime.cgocall;runtime.asmcgocall"
	for name, p := range map[string]*profile.Profile{
		"named": folded.Must(named), "few": lacking("[shop];[shop]", 90),
		"vdso": lacking("runtime.main;main.main;main.serve;main.c;time.Now;[[vdso]]", 5_000), "libc": lacking(cgo+";[libc.so.6];[libc.so.6]", 5_000),
		"no lines": lacking(cgo+";NOLINES;NOLINES", 5_000), "kernel": lacking(cgo+";[libc.so.6];do_syscall_64;vfs_write.isra.0", 5_000),
		"external": lacking("runtime._ExternalCode", 5_000), "runtime._VDSO": lacking("runtime._VDSO", 5_000),
		"assembly": lacking("runtime.main;main.main;main.serve;main.c;memeqbody", 5_000), "race": lacking("racecall", 5_000),
	} {
		for _, sentence := range ofNames {
			if sentence == "main.b below 60% in regexp.compile" {
				continue // nothing is in its scope
			}
			if r := judged(t, Must(sentence), p, base)[0]; r.Verdict != Pass {
				t.Errorf("%s:\n%s", name, r)
			}
		}
	}
}

// Where the baseline lacks names, what has one now is no growth.
func TestFault_83_NamelessBaseline(t *testing.T) {
	for sentence, want := range map[string]Verdict{"main.a grows below 5 points": Fail, "no function grows above 5 points": Inconclusive} {
		now := folded.Must(named)
		if r := judged(t, Must(sentence), now, Facts{Baseline: Baseline{Profile: lacking("runtime.main;main.main;main.serve;main.b", 10_000)}})[0]; r.Verdict != want {
			t.Errorf("with names:\n%s", r)
		}
		r := judged(t, Must(sentence), now, Facts{Baseline: Baseline{Profile: lacking("[shop];[shop]", 10_000)}})[0]
		if r.Verdict != Inconclusive || !strings.Contains(r.Reason, "of the samples of the baseline have no function names") {
			t.Errorf("without names:\n%s", r)
		}
	}
}

// A profile of another language has nothing that "no function" charges, and neither has the part
// of a profile that is of one.
func TestNoNamesOfGo(t *testing.T) {
	for name, p := range map[string]*profile.Profile{
		"all": folded.Must("cpu 10s\nrust_main;core::hot 1000\n"), "most": lacking("rust_main;core::hot", 9_000),
		"C": lacking("main;serve;sum.constprop.0", 10_000),
	} {
		results := judged(t, Must("no function above 20%", "no function above 20% except none", "regexp.compile below 5%"), p)
		if r := results[0]; r.Verdict != Inconclusive || !strings.Contains(r.Reason, `say "except none"`) {
			t.Errorf("%s:\n%s", name, r)
		}
		if r := results[1]; r.Verdict != Fail {
			t.Errorf("%s:\n%s", name, r)
		}
		if r := results[2]; r.Verdict != Pass { // its functions have names
			t.Errorf("%s:\n%s", name, r)
		}
	}
}

// Goroutines are counted: one without frames, as one that has just begun, is one more at the most.
func TestNamelessGoroutine(t *testing.T) {
	for sentence, want := range map[string]Verdict{
		"no function above 36 of goroutine":            Pass,
		"no function above 34 of goroutine":            Inconclusive,
		"main.serve below 500 of goroutine":            Pass,
		"main.a below 61% of goroutine":                Pass,
		"main.a below 59% of goroutine":                Inconclusive,
		"no function above 33 of goroutine":            Fail,
		"main.leak absent of goroutine":                Inconclusive,
		"main.leak below 1 of goroutine in main.serve": Pass,
	} {
		p := folded.Must("goroutine\nruntime.main;main.main;main.serve;main.a 20\nruntime.main;main.main;main.serve;main.b 14\nNONE 1\n")
		for _, s := range p.Sample {
			if s.Location[0].Line[0].Function.Name == "NONE" {
				s.Location = nil
			}
		}
		if r := judged(t, Must(sentence), p, Facts{})[0]; r.Verdict != want {
			t.Errorf("want %v: %s", want, r)
		}
	}
}

// What lacks names counts where a budget asks about it: not under another label, and together with
// what is of another language.
func TestNamelessInScope(t *testing.T) {
	const stack = "runtime.main;main.main;main.serve;main.a"
	for _, tt := range []struct {
		profile, sentence string
		want              Verdict
	}{
		{stack + " 5000 {endpoint=/a}\n[shop];[shop] 5000", "regexp.compile below 5% where endpoint=/a", Pass},
		{stack + " 5000 {endpoint=/a}\n[shop];[shop] 5000 {endpoint=/a}", "regexp.compile below 5% where endpoint=/a", Inconclusive},
		{stack + " 4900\nruntime.main;main.main;main.serve;main.b 4970\n[shop];[shop] 65\nrust_main;core::hot 65", "no function above 90%", Inconclusive},
		{stack + " 4900\nruntime.main;main.main;main.serve;main.b 5035\n[shop];[shop] 65", "no function above 90%", Pass},
	} {
		if r := judged(t, Must(tt.sentence), folded.Must("cpu 10s\n"+tt.profile+"\n"))[0]; r.Verdict != tt.want {
			t.Errorf("%s, want %v:\n%s", tt.profile, tt.want, r)
		}
	}
}
