package integration

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/reference"
	"github.com/profguard/profguard/internal/release"
)

// The tables of docs/releases.md: go test -run TestReleasePairs -releases 40 -v
var releaseSeconds = flag.Int("releases", 0, "how many seconds each build of TestReleasePairs runs after its first minute; 0 runs none")

// releaseOnly are the changes to try.
var releaseOnly = flag.String("changes", "", "a regular expression of changes that TestReleasePairs tries; all without it")

// A change is what a release does to programs/shop: texts that are replaced, by file, and files that
// come.
type change struct {
	name    string
	edit    []string          // old and new texts of main.go
	files   map[string]string // further files, by their path in the folder
	env     []string          // of go build
	pgo     bool              // with the profile of the build before
	flags   []string          // of the program
	points  float64           // by which the cost of a request changes, as part
	want    string            // the function that is to be named first, "" for none
	perUnit bool              // not judged without a unit of work
}

// burning is a function that takes so many steps of about a nanosecond.
const burning = `
//go:noinline
func burn(n int) (x int) {
	for i := range n {
		x += i ^ x>>1
	}
	return x
}
`

var refactorings = []change{
	{name: "a function is renamed", edit: []string{"valid(", "isAllowed(", "// valid reports", "// isAllowed reports"}},
	{name: "it moves to another package", edit: []string{
		"!valid(", "!check.Valid(", "if valid(", "if check.Valid(", "func valid(", "func unused(", "var requests", "var _ = unused\n\nvar requests",
		"\t\"github.com/profguard/profguard/guard\"\n", "\t\"github.com/profguard/profguard/guard\"\n\t\"github.com/profguard/profguard/internal/integration/releases/shop/check\"\n",
	}, files: map[string]string{"check/check.go": "// Package check checks names.\npackage check\n\nimport \"strings\"\n\n// Valid reports whether a name is allowed.\nfunc Valid(name string) bool {\n\tfor _, r := range name {\n\t\tif !strings.ContainsRune(\"abcdefghijklmnopqrstuvwxyz0123456789-\", r) {\n\t\t\treturn false\n\t\t}\n\t}\n\treturn !strings.Contains(name, \"forbidden\")\n}\n"}},
	{name: "it is split", edit: []string{
		"func valid(name string) bool {\n", "func valid(name string) bool { return letters(name) && words(name) }\n\n//go:noinline\nfunc words(name string) bool { return !strings.Contains(name, \"forbidden\") }\n\n//go:noinline\nfunc letters(name string) bool {\n",
		"\treturn !strings.Contains(name, \"forbidden\")\n}\n\nfunc sum", "\treturn true\n}\n\nfunc sum",
	}},
	{name: "it is merged into its caller", edit: []string{
		"o.ID = sum(o.Items)", "total := 0\n\tfor range 40 {\n\t\tfor i := range o.Items {\n\t\t\ttotal += o.Items[i].Price*o.Items[i].Count ^ total>>3\n\t\t}\n\t}\n\to.ID = total",
		"func sum(", "var _ = sum\n\nfunc sum(",
	}},
	{name: "a closure around it", edit: []string{"reply, err := json.Marshal(o)", "var reply []byte\n\tvar err error\n\tfunc() {\n\t\tdefer func() { _ = recover() }()\n\t\treply, err = json.Marshal(o)\n\t}()"}},
	{name: "it becomes generic", edit: []string{
		"func sum(items []item) (total int) {", "func sum[T ~[]item](items T) (total int) {",
	}},
	{name: "a literal above it", edit: []string{"\tsort.Slice(found", "\tsort.SliceStable(found[:1], func(i, j int) bool { return false })\n\tsort.Slice(found"}},
	{name: "a handler becomes a method", edit: []string{
		"func search(w", "type server struct{}\n\nfunc (*server) search(w", "mux.HandleFunc(\"/search\", search)", "mux.HandleFunc(\"/search\", new(server).search)",
	}},
	{name: "inlined by PGO", pgo: true},
	{name: "Go 1.26 to 1.27", env: []string{"GOTOOLCHAIN=go1.27.4"}},
}

var otherChanges = []change{
	{name: "equal", want: ""},
	{name: "equal", want: ""},
	{name: "ten times the load", flags: []string{"-rate", "20000"}, perUnit: true},
	{name: "another mix of handlers", flags: []string{"-mix", "0.7"}},
	{name: "half as many digests", edit: []string{"for range 4 {", "for range 2 {"}},
	{name: "no digest", edit: []string{"fmt.Fprintln(w, digest(r.URL.Path))", "fmt.Fprintln(w, r.URL.Path); _ = digest"}},
	{name: "5 points dearer", points: 0.05, want: "main.burn"},
	{name: "10 points dearer", points: 0.1, want: "main.burn"},
	{name: "30 points dearer", points: 0.3, want: "main.burn"},
	{name: "an expression compiled in each search", edit: []string{
		"found := make", "word := regexp.MustCompile(\"^thing-[0-9]+$\")\n\t_ = word\n\tfound := make", "\t\"sort\"\n", "\t\"regexp\"\n\t\"sort\"\n",
	}, want: "regexp.MustCompile"},
}

// TestReleasePairs builds programs/shop with changes, runs it before and after, and compares the
// references that its guard has left.
func TestReleasePairs(t *testing.T) {
	if *releaseSeconds == 0 {
		t.Skip("builds and runs a program for each change: say -releases 40")
	}
	seconds := time.Duration(*releaseSeconds) * time.Second
	before := runShop(t, buildShop(t, change{}, nil), 2*seconds)
	var slow *shop // with a tenth of the load, once it is needed
	if before == nil {
		t.Fatal("there is nothing to compare with")
	}
	cost := before.side.Work()["request"]
	cpu := 0.0
	for _, w := range before.side.Windows {
		cpu += w.CPU
	}
	cost = cpu / cost * 1e9 // ns a request
	t.Logf("a request costs %.1f us, %d samples", cost/1e3, before.side.Table.Count())
	var rows strings.Builder
	only := regexp.MustCompile(*releaseOnly)
	for _, c := range append(refactorings, otherChanges...) {
		if !only.MatchString(c.name) {
			continue
		}
		if c.points > 0 {
			steps := c.points * cost / nanosecondsPerStep()
			c.edit = append(c.edit, "\to.ID = sum(o.Items)", fmt.Sprintf("\to.ID = sum(o.Items) + burn(%.0f)", 2*steps), "var requests", burning+"\nvar requests") // half of the requests are checkouts
		}
		base := before
		if c.perUnit {
			if slow == nil {
				slow = runShop(t, buildShop(t, change{name: "less load"}, nil), 2*seconds, "-rate", "2000")
			}
			base = slow
		}
		now := runShop(t, buildShop(t, c, base), seconds, c.flags...)
		if now == nil || base == nil {
			continue
		}
		per, err := release.Compare(t.Context(), base.side, now.side, release.Options{Per: "request"})
		if err != nil {
			t.Fatal(err)
		}
		shares, err := release.Compare(t.Context(), base.side, now.side, release.Options{Limit: 0.05})
		if err != nil {
			t.Fatal(err)
		}
		more, less, moved := per.Lists()
		first := ""
		if len(more) > 0 {
			first = more[0].Name
		}
		fmt.Fprintf(&rows, "| %s | %.0f | %+.1f%% (%s) | %.1f%% | %s | %s | %s | %s |\n", c.name, per.Now.Samples, 100*per.Process.Value, per.Process.Percent(), 100*per.Matched,
			listed(more), listed(less), listed(moved), map[bool]string{true: shares.Why, false: listed(firstOf(shares))}[shares.Why != ""])
		t.Log(per.Balance())
		if first != c.want && !(c.points > 0 && c.points <= 0.05 && first == "") {
			t.Errorf("%s: named %q, want %q: %s", c.name, first, c.want, per.Balance())
		}
	}
	t.Logf("\n%s", rows.String())
}

func firstOf(c *release.Comparison) []release.Function {
	more, _, _ := c.Lists()
	return more
}

func listed(functions []release.Function) string {
	var texts []string
	for i := range functions[:min(len(functions), 2)] {
		texts = append(texts, functions[i].Short())
	}
	return strings.Join(texts, ", ")
}

// nanosecondsPerStep is how long a step of burn takes.
func nanosecondsPerStep() float64 {
	const n = 50_000_000
	x, start := 0, time.Now()
	for i := range n {
		x += i ^ x>>1
	}
	if x == 1 {
		fmt.Print()
	}
	return float64(time.Since(start).Nanoseconds()) / n
}

// A shop is a build that has run.
type shop struct {
	side *release.Side
	file string // its reference
}

// buildShop builds the program with a change, and returns its path.
func buildShop(t *testing.T, c change, before *shop) string {
	t.Helper()
	dir := t.TempDir()
	folder, err := filepath.Abs("releases/shop")
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile(filepath.Join(folder, "main.go"))
	if err != nil {
		t.Fatal(err)
	}
	text := string(source)
	for i := 0; i < len(c.edit); i += 2 {
		if !strings.Contains(text, c.edit[i]) {
			t.Fatalf("%s: main.go does not have %q", c.name, c.edit[i])
		}
		text = strings.ReplaceAll(text, c.edit[i], c.edit[i+1])
	}
	files := map[string]string{"main.go": text}
	for name, content := range c.files {
		files[name] = content
	}
	overlay := struct{ Replace map[string]string }{map[string]string{}}
	for name, content := range files {
		to := filepath.Join(dir, strings.ReplaceAll(name, "/", "_"))
		if err := os.WriteFile(to, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		overlay.Replace[filepath.Join(folder, name)] = to
	}
	data, err := json.Marshal(overlay)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "overlay.json"), data, 0o600); err != nil {
		t.Fatal(err)
	}
	binary := filepath.Join(dir, "shop")
	args := []string{"build", "-overlay", filepath.Join(dir, "overlay.json"), "-o", binary}
	if c.pgo {
		args = append(args, "-pgo", before.file)
	}
	build := exec.CommandContext(t.Context(), "go", append(args, "./releases/shop")...)
	build.Env = append(os.Environ(), c.env...)
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%s: go build: %v\n%s", c.name, err, out)
	}
	return binary
}

// runShop runs a build for a minute, which does not count, and so long, and reads the reference that its guard
// leaves.
func runShop(t *testing.T, binary string, d time.Duration, flags ...string) *shop {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "dumps")
	args := append([]string{"-dir", dir, "-seconds", fmt.Sprint(int((time.Minute + d).Seconds())), "-rate", "20000"}, flags...)
	if out, err := exec.CommandContext(t.Context(), binary, args...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	list, err := filepath.Glob(filepath.Join(dir, "references", "*.pb.gz"))
	if err != nil {
		t.Fatal(err)
	}
	if len(list) == 0 {
		t.Log("less than five windows were good: the machine is too busy")
		return nil
	}
	data, err := os.ReadFile(list[0])
	if err != nil {
		t.Fatal(err)
	}
	side, err := reference.Decode(new(decode.Decoder), data)
	if err != nil {
		t.Fatal(err)
	}
	side.Module = "github.com/profguard/profguard/internal/integration"
	return &shop{side, list[0]}
}
