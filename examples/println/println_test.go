package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/profguard/profguard/examples/internal/marked"
	"github.com/profguard/profguard/examples/internal/slowed"
	"github.com/profguard/profguard/examples/internal/story"
	"github.com/profguard/profguard/guard"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestNoPrint: without it all budgets are kept.
func TestNoPrint(t *testing.T) {
	g, events := busyShop(t)
	// enough samples of the handler: with the print, most would have it.
	const enough = 100
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if _, err := story.Until(ctx, g, func(s guard.Status) bool { return kept(t, s, enough) }); err != nil {
		t.Fatal(err)
	}
	g.Stop() // it has said all that it will
	for len(events) > 0 {
		if e := <-events; strings.HasPrefix(string(e.Name), "profguard.budget.") {
			t.Errorf("%s about %s: %s", e.Name, e.Budget, e.Message)
		}
	}
}

// kept reports whether the costs have passed, and so many samples of the handler
// have been without the print.
func kept(t *testing.T, s guard.Status, enough int64) bool {
	t.Helper()
	all := true
	for _, b := range s.Budgets {
		if b.Verdicts["fail"] > 0 {
			t.Fatalf("a window failed:\n%s", b.Result)
		}
		if b.Name == "debug-print" {
			all = all && b.Samples >= enough
		} else {
			all = all && b.Verdicts["pass"] > 0
		}
	}
	return all
}

// TestStory runs what the README shows: with the print both budgets break, and name its
// line, and without it they are kept again.
func TestStory(t *testing.T) {
	slowed.Skip(t)
	if testing.Short() {
		t.Skip("takes half a minute")
	}
	t.Setenv("TMPDIR", t.TempDir())
	var out bytes.Buffer
	if err := run(t.Context(), &out); err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	want := fmt.Sprintf(`(?s)INCONCLUSIVE api-cost: .* after \d+ samples?, \d+ would tell it from the limit`+
		`.*firing  debug-print\n.*fmt\.Println shows in \d+ of \d+ samples?`+
		`.*\n +1\. fmt\.Println .*called from \S*\(\*api\)\.Get(?: \(\d+%% of it\))?  \S*api\.go:%[1]d`+
		`.*firing  api-cost\n.*FAIL api-cost: .*surely above.*api\.go:%[1]d`+
		`.*resolved  debug-print\n +(PASS|KEPT AGAIN) debug-print: `+
		`.*api / cache +[\d.]+ times \([\d.]+ to [^)]+\) +[\d.]+ times`, printLine(t))
	if !regexp.MustCompile(want).Match(out.Bytes()) {
		t.Errorf("the story is not what the README says, want %s in:\n%s", want, &out)
	}
	for _, line := range story.Missing("README.md", "## What it prints", out.String()) {
		t.Errorf("the README shows what was not printed: %s", line)
	}
	if left, err := os.ReadDir(os.TempDir()); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// TestServices: what customers see, also under the race detector.
func TestServices(t *testing.T) {
	s, err := openShop()
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	s.api.debug.Store(true)
	customer, err := dial(s.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer customer.close()
	product, err := customer.Get(t.Context(), wrapperspb.String("product-07"))
	if err != nil {
		t.Fatal(err)
	}
	price := product.GetFields()["prices"].GetStructValue().GetFields()["de"].GetStructValue().GetFields()
	if gross := price["gross"].GetNumberValue(); gross < 23.78 || gross > 23.79 {
		t.Errorf("gross price %v, want 19.99 and 19%%", gross)
	}
	if _, err := customer.Get(t.Context(), wrapperspb.String("a lamp")); err == nil {
		t.Error("want an error for a product that there is not")
	}
	if s.calls() != 2 || s.lookups() != 2 {
		t.Errorf("%v calls and %v lookups were counted, want 2 and 2", s.calls(), s.lookups())
	}
}

// busyShop opens a shop with customers and a guard, until the test ends.
func busyShop(t *testing.T) (*guard.Guard, chan guard.Event) {
	t.Helper()
	slowed.Skip(t)
	s, err := openShop()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.close)
	s.api.debug.Store(false)
	leave, err := s.customers(4, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(leave)
	events := make(chan guard.Event, 64)
	g, err := guard.Start(watch(s, "", func(e guard.Event) { events <- e })) // no dumps: Stop does not wait for a slow disk
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Stop)
	return g, events
}

// patience is for machines that do ten things at once.
const patience = 2 * time.Minute

// printLine is where the forgotten print stands.
func printLine(t *testing.T) int {
	t.Helper()
	return marked.Line(t, "api.go", "// forgotten")
}
