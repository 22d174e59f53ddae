package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"hash/maphash"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/pprof"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/examples/internal/marked"
	"github.com/profguard/profguard/examples/internal/story"
)

var long = flag.Bool("long", false, "play the whole story")

func TestMain(m *testing.M) {
	runtime.MemProfileRate = 8 << 10 // as tighten has it
	goleak.VerifyTestMain(m)
}

// The whole story, as the README tells it, in the process that the README starts: a
// test binary has other pages.
func TestRun(t *testing.T) {
	if !*long {
		t.Skip("a minute, in which the collector works all the time: run it with -long")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	program := filepath.Join(t.TempDir(), "straitjacket")
	build := exec.CommandContext(ctx, "go", "build", "-ldflags=-w", "-o", program, ".") // without what only debuggers read
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	out, err := exec.CommandContext(ctx, program).CombinedOutput()
	t.Logf("%s", out)
	if err != nil {
		t.Fatal(err)
	}
	shape := regexp.MustCompile(fmt.Sprintf(`(?s)
    pass  rss at [^\n]* the limit is 15MiB( \(at most 1[0-4]\.\dMiB so far\))?
    pass  heap at .*
    profguard\.budget\.firing  who
    FAIL who: .*
 +1\. main\.names\.add .*blocklist\.go:%d
.*
    pass  rss at .*
    fail  heap at .*
    profguard\.budget\.resolved  who
.*
    pass  rss at .*
    pass  heap at `, addLine(t)))
	if !shape.Match(out) {
		t.Errorf("the story went otherwise than\n%s", shape)
	}
	for _, line := range story.Missing("README.md", "## What it prints", string(out)) {
		t.Errorf("the README shows what was not printed: %s", line)
	}
}

// Either blocklist before the same budget.
func TestBlocklists(t *testing.T) {
	for _, tt := range []struct {
		name  string
		empty func() blocklist // not the list itself, which would be in memory for both
		want  budget.Verdict
	}{
		{"names", func() blocklist { return names{} }, budget.Fail},
		{"hashes", func() blocklist { return &hashes{seed: maphash.MakeSeed()} }, budget.Pass},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := judge(t, tt.empty())
			if r.Verdict != tt.want {
				t.Fatalf("want %v:\n%v", tt.want, r)
			}
			if tt.want == budget.Pass {
				return
			}
			for _, o := range r.Offenders {
				if strings.HasSuffix(o.Function, ".names.add") && filepath.Base(o.File) == "blocklist.go" && o.Line == addLine(t) {
					return
				}
			}
			t.Errorf("nobody says names.add at blocklist.go:%d:\n%v", addLine(t), r)
		})
	}
}

// judge fills the blocklist and judges the heap profile.
func judge(t *testing.T, blocked blocklist) budget.Result {
	t.Helper()
	x := &extension{blocked: blocked}
	for i := range lists {
		x.subscribe(list(i))
	}
	runtime.GC() // a heap profile is of the last collection
	var profile bytes.Buffer
	if err := pprof.Lookup("heap").WriteTo(&profile, 0); err != nil {
		t.Fatal(err)
	}
	runtime.KeepAlive(x)
	who := budgets[2:]
	results, err := who.JudgeReader(&profile, budget.Facts{Kind: "heap"})
	if err != nil {
		t.Fatal(err)
	}
	return results[0]
}

// addLine is the line that the report must name.
func addLine(t *testing.T) int {
	t.Helper()
	return marked.Line(t, "blocklist.go", "n[strings.ToLower")
}

// The extension does what it is there for, with either blocklist.
func TestAnswers(t *testing.T) {
	for _, blocked := range []blocklist{names{}, &hashes{seed: maphash.MakeSeed()}} {
		t.Run(fmt.Sprintf("%T", blocked), func(t *testing.T) {
			blocked.add(list(0))
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			x, closeAll, err := start(ctx, blocked)
			if err != nil {
				t.Fatal(err)
			}
			defer closeAll()
			conn, err := net.Dial("udp", x.conn.LocalAddr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			for name, want := range map[string]byte{tracker(0, 1): 3, tracker(1, 1): 0, "example.com": 0} {
				answer := make([]byte, 1500)
				for answer[2] == 0 { // until an answer has come, for UDP may lose some
					ask(conn, name, answer)
				}
				if answer[3] != want {
					t.Errorf("%s: code %d, want %d", name, answer[3], want)
				}
			}
		})
	}
}
