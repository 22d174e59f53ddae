package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"flag"
	"path/filepath"
	"regexp"
	"runtime/pprof"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/examples/internal/marked"
	"github.com/profguard/profguard/examples/internal/slowed"
	"github.com/profguard/profguard/examples/internal/story"
)

var long = flag.Bool("long", false, "play the whole story")

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The whole story, as the README tells it.
func TestRun(t *testing.T) {
	if !*long {
		t.Skip("half a minute of RSA: run it with -long")
	}
	slowed.Skip(t)
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	var out bytes.Buffer
	err := run(ctx, &out)
	t.Log(out.String())
	if err != nil {
		t.Fatal(err)
	}
	shape := regexp.MustCompile(`(?s)
    INCONCLUSIVE gopher: .*
    INCONCLUSIVE gemini: .* after \d+ samples?, \d+ would tell it from the limit of 2ms.*
    profguard\.budget\.firing  gemini
    FAIL gemini: .*
 +called from \S+\.\(\*gemini\)\.answer .*gemini\.go:` + strconv.Itoa(handshakeLine(t)) + `
.*    Gemini costs at least .*
    profguard\.budget\.resolved  gemini
    PASS gemini: .*
    Gemini costs at least `)
	if !shape.MatchString(out.String()) {
		t.Errorf("the story went otherwise than\n%s", shape)
	}
	for _, line := range story.Missing("README.md", "## What it prints", out.String()) {
		t.Errorf("the README shows what was not printed: %s", line)
	}
}

// The same budget, held against profiles of so many requests with either key.
func TestKeys(t *testing.T) {
	servers, err := open()
	if err != nil {
		t.Fatal(err)
	}
	defer servers.close()
	for _, tt := range []struct {
		name        string
		certificate *tls.Certificate
		want        budget.Verdict
	}{
		{"RSA", servers.rsa, budget.Fail},
		{"ECDSA", servers.ecdsa, budget.Pass},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.want == budget.Pass {
				slowed.Skip(t)
			}
			servers.gemini.certificate.Store(tt.certificate)
			r := judge(t, servers)
			if r.Verdict != tt.want {
				t.Fatalf("want %v:\n%v", tt.want, r)
			}
			if tt.want == budget.Fail {
				checkOffender(t, r)
			}
		})
	}
}

// judge profiles visits, more and more of them, until there are enough for a
// verdict about Gemini.
func judge(t *testing.T, servers *pair) budget.Result {
	t.Helper()
	visitor := &crowd{servers: servers}
	for visits := 100; ; visits *= 2 {
		before := servers.gemini.requests()
		var profile bytes.Buffer
		if err := pprof.StartCPUProfile(&profile); err != nil {
			t.Fatal(err)
		}
		for range visits {
			if err := visitor.visitGemini(t.Context()); err != nil {
				t.Error(err)
			}
		}
		pprof.StopCPUProfile()
		results, err := budgets.JudgeReader(&profile, budget.Facts{
			Work: map[string]float64{"gemini-request": servers.gemini.requests() - before},
		})
		if err != nil {
			t.Fatal(err)
		}
		r := results[1]
		if r.Verdict != budget.Inconclusive || t.Failed() || visits > 10_000 {
			return r
		}
	}
}

// checkOffender wants what RSA does, on behalf of the handshake.
func checkOffender(t *testing.T, r budget.Result) {
	t.Helper()
	if len(r.Offenders) == 0 {
		t.Fatalf("nobody is named:\n%v", r)
	}
	// The server calls the handshake. RSA is exponentiation of big numbers, below it.
	worst := r.Offenders[0]
	ofRSA := regexp.MustCompile(`^crypto/(internal/fips140/(bigmod|rsa)|rsa)\.`)
	if worst.Function != "crypto/tls.(*Conn).Handshake" || !slices.ContainsFunc(worst.Callees, func(f budget.Frame) bool { return ofRSA.MatchString(f.Function) }) {
		t.Errorf("found %s, want the handshake, which goes to RSA:\n%v", worst.Function, r)
	}
	if !strings.HasSuffix(worst.Blame.Function, ".(*gemini).answer") ||
		filepath.Base(worst.Blame.File) != "gemini.go" || worst.Blame.Line != handshakeLine(t) {
		t.Errorf("blamed on %+v, want (*gemini).answer at gemini.go:%d", worst.Blame, handshakeLine(t))
	}
}

// handshakeLine is the line that the report must blame.
func handshakeLine(t *testing.T) int {
	t.Helper()
	return marked.Line(t, "gemini.go", "conn.Handshake()")
}
