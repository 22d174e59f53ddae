package budget_test

import (
	"strings"
	"testing"

	. "github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/folded"
)

// TestObjectsAreNoBytes: where the limit is a number of objects, no amount of bytes is shown
// for them.
func TestObjectsAreNoBytes(t *testing.T) {
	p := folded.Must("allocs 10s\nmain.main;main.run;main.work 500000 512000000")
	r := judged(t, Must("process below 1000 of allocs"), p, Facts{})[0]
	if text := r.String(); !strings.Contains(text, "1. main.work  100.00%") || strings.Contains(text, "KiB") {
		t.Errorf("want the share of the objects alone:\n%s", text)
	}
}

// TestOffenderString: where no code of the own module has half of the offender, the nearest caller
// outside the standard library is named, which somebody can change.
func TestOffenderString(t *testing.T) {
	o := Offender{Frame: Frame{Function: "math/big.mul", File: "/go/src/math/big/nat.go", Line: 8, Share: 0.4}}
	o.Callers = []Frame{{Function: "crypto/rsa.Sign", Share: 0.4}, {Function: "example.com/proxy.SignHost", File: "/m/proxy/signer.go", Line: 84, Share: 0.38}}
	for _, tt := range []struct {
		blame Frame
		want  string
	}{
		{Frame{}, "math/big.mul at big/nat.go:8, called by example.com/proxy.SignHost at proxy/signer.go:84"},
		{Frame{Function: "main.serve", File: "/m/main.go", Line: 3}, "math/big.mul at big/nat.go:8, called from main.serve at m/main.go:3"},
	} {
		if o.Blame = tt.blame; o.String() != tt.want {
			t.Errorf("%s, want %s", o, tt.want)
		}
	}
}

// TestOffenderOfCallback: of a function that a library has called the one that passed it on is named,
// with its line, and what it goes to; of a walk that calls itself, what it comes to.
func TestOffenderOfCallback(t *testing.T) {
	const way = "main.main@main.go:1;main.poll@main.go:2;path/filepath.WalkDir@path.go:3;path/filepath.walkDir@path.go:4;"
	p := folded.Must("cpu 10s\n" + way + "main.visit@main.go:5;os.Lstat@os.go:6 500\n" +
		way + "path/filepath.walkDir@path.go:4;path/filepath.walkDir@path.go:4;main.visit@main.go:5;os.Lstat@os.go:6 500")
	r := judged(t, Must("no function above 90% cumulative"), p, Facts{Module: "example.com/shop"})[0]
	if got, want := r.Offenders[0].String(), "main.visit at main.go:5, called by main.poll at main.go:2, goes to os.Lstat"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if want := "\n       called by   main.poll (100% of it)  main.go:2\n"; !strings.Contains(r.String(), want) {
		t.Errorf("want %q:\n%s", want, r)
	}
	r = judged(t, Must("no function above 90% cumulative except main.visit"), p, Facts{Module: "example.com/shop"})[0]
	if len(r.Offenders) > 0 {
		t.Errorf("what visit does counts for its callers, although it is accepted:\n%s", r)
	}
	r = judged(t, Must("filepath.WalkDir below 50%"), p, Facts{Module: "example.com/shop"})[0]
	if want := "goes to     filepath.walkDir > main.visit > os.Lstat"; !strings.Contains(r.String(), want) {
		t.Errorf("want %q:\n%s", want, r)
	}
	p = folded.Must("cpu 10s\nmain.main@main.go:1;main.poll@main.go:2;main.visit@main.go:5;strings.Fields@strings.go:6 1000")
	r = judged(t, Must("main.visit below 50%"), p, Facts{Module: "example.com/shop"})[0]
	if strings.Contains(r.String(), "called by") {
		t.Errorf("the way in has the caller:\n%s", r)
	}
}

// TestReasonOfLines: a reason that is an error may have several lines.
func TestReasonOfLines(t *testing.T) {
	r := Result{Budget: Must("fmt absent")[0], Reason: "one\ntwo \x1b[31m"}
	if got, want := r.String(), "INCONCLUSIVE fmt absent\n  one\n  two \ufffd[31m"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestNoMatch: a function that has no samples of its own is in the profile all the same.
func TestNoMatch(t *testing.T) {
	p := folded.Must("cpu 10s\nmain.main;main.run;main.work 1000")
	for sentence, want := range map[string]bool{"main.run below 5% flat": false, "main.rnu below 5% flat": true} {
		r := judged(t, Must(sentence), p, Facts{})[0]
		if got := strings.Contains(r.Reason, nobody); got != want {
			t.Errorf("%s: says that nothing matches: %t, want %t: %s", sentence, got, want, r.Reason)
		}
	}
}

// TestWithoutSamples: values without a number of samples behind them prove nothing.
func TestWithoutSamples(t *testing.T) {
	p := folded.Must("cpu 10s\nmain.main;main.f 1\nmain.main;main.g 1\nmain.main;main.h 1")
	p.SampleType = p.SampleType[1:]
	for _, s := range p.Sample {
		s.Value = s.Value[1:]
	}
	for _, r := range judged(t, Must("main.f below 20%", "portlist absent"), p, Facts{}) {
		if r.Verdict != Inconclusive || !strings.Contains(r.Reason, "cpu/nanoseconds") {
			t.Errorf("want it inconclusive, with the kind that the profile has: %s", r)
		}
	}
}
