package integration

import (
	"encoding/json"
	"flag"
	"fmt"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/reference"
	"github.com/profguard/profguard/internal/release"
)

// The tables of docs/design.md: go test -run TestReleasePairs -releases 40 -v
var releaseSeconds = flag.Int("releases", 0, "how many seconds each build of TestReleasePairs runs after its first minute; 0 runs none")

// releaseOnly are the changes to try.
var releaseOnly = flag.String("changes", "", "a regular expression of changes that TestReleasePairs tries, such as shop/equal; all without it")

// TestReleasePairs builds the programs of releases with changes, runs them before and after, and compares
// the references that their guards have left.
func TestReleasePairs(t *testing.T) {
	if *releaseSeconds == 0 {
		t.Skip("builds and runs a program for each change: say -releases 40")
	}
	for _, p := range releasePrograms {
		t.Run(p.name, func(t *testing.T) { releasePairs(t, p) })
	}
}

func releasePairs(t *testing.T, p program) {
	only := regexp.MustCompile(*releaseOnly)
	changes := slices.DeleteFunc(slices.Concat(common, p.changes), func(c change) bool { return !only.MatchString(p.name + "/" + c.name) })
	if len(changes) == 0 {
		t.Skip("no change of it is tried")
	}
	seconds := time.Duration(*releaseSeconds) * time.Second
	before := p.run(t, p.build(t, change{}, nil), 2*seconds)
	var slow *built // with a tenth of the load, once it is needed
	if before == nil {
		t.Fatal("there is nothing to compare with")
	}
	pieces := &before.side.Pieces
	cost := pieces.CPU / pieces.Work["request"] * 1e9 // ns a request
	t.Logf("a request costs %.1f us, %.0f samples", cost/1e3, pieces.Samples)
	var rows strings.Builder
	for _, c := range changes {
		if c.points > 0 {
			steps := c.points * cost / nanosecondsPerStep()
			c.edit = append(c.edit, p.head(), p.head()+fmt.Sprintf("\t_ = burn(%.0f)\n", 2*steps), "func main() {", burning+"\nfunc main() {")
		}
		base := before
		if c.perUnit {
			if slow == nil {
				slow = p.run(t, p.build(t, change{name: "less load"}, nil), 2*seconds, "-rate", "2000")
			}
			base = slow
		}
		now := p.run(t, p.build(t, c, base), seconds, c.flags...)
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
		fmt.Fprintf(&rows, "| %s | %.0f | %+.1f%% (%s) | %s | %s | %s | %s |\n", c.name, per.Now.Samples, 100*per.Process.Value, per.Process.Percent(),
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

// A built is a program with a change that has run.
type built struct {
	side *release.Side
	file string // its reference
}

// head is how the first handler begins.
func (p program) head() string {
	return "func " + p.first + "(w http.ResponseWriter, r *http.Request) {\n"
}

// with returns the files that a change replaces or adds, by their path in the program's folder.
func (p program) with(t *testing.T, c change) map[string]string {
	t.Helper()
	source, err := os.ReadFile(filepath.Join("releases", p.name, "main.go"))
	if err != nil {
		t.Fatal(err)
	}
	text := string(source)
	for i := 0; i < len(c.edit); i += 2 {
		if !strings.Contains(text, c.edit[i]) {
			t.Fatalf("%s, %s: main.go does not have %q", p.name, c.name, c.edit[i])
		}
		text = strings.ReplaceAll(text, c.edit[i], c.edit[i+1])
	}
	files := map[string]string{"main.go": text}
	maps.Copy(files, c.files)
	return files
}

// TestReleaseChanges applies the changes to the programs, so that the pairs can be built; -long builds them.
func TestReleaseChanges(t *testing.T) {
	for _, p := range releasePrograms {
		if !strings.Contains(p.with(t, change{})["main.go"], p.head()) {
			t.Errorf("%s has no handler %s", p.name, p.first)
		}
		for _, c := range slices.Concat(common, p.changes) {
			for name, text := range p.with(t, c) {
				if _, err := parser.ParseFile(token.NewFileSet(), name, text, parser.SkipObjectResolution); err != nil {
					t.Errorf("%s, %s: %v", p.name, c.name, err)
				}
			}
			if *long && !c.pgo {
				p.build(t, c, nil)
			}
		}
	}
}

// build builds the program with a change, and returns its path.
func (p program) build(t *testing.T, c change, before *built) string {
	t.Helper()
	dir := t.TempDir()
	folder, err := filepath.Abs("releases/" + p.name)
	if err != nil {
		t.Fatal(err)
	}
	overlay := struct{ Replace map[string]string }{map[string]string{}}
	for name, content := range p.with(t, c) {
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
	binary := filepath.Join(dir, p.name)
	args := []string{"build", "-overlay", filepath.Join(dir, "overlay.json"), "-o", binary}
	if c.pgo {
		args = append(args, "-pgo", before.file)
	}
	build := exec.CommandContext(t.Context(), "go", append(args, "./releases/"+p.name)...)
	build.Env = append(os.Environ(), c.env...)
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%s, %s: go build: %v\n%s", p.name, c.name, err, out)
	}
	return binary
}

// run runs a build for a minute, which does not count, and so long, and reads the reference that its guard
// leaves.
func (p program) run(t *testing.T, binary string, d time.Duration, flags ...string) *built {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "dumps")
	args := append([]string{"-dir", dir, "-seconds", fmt.Sprint(int((time.Minute + d).Seconds())), "-rate", "20000"}, flags...)
	if out, err := exec.CommandContext(t.Context(), binary, args...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	list, err := filepath.Glob(filepath.Join(dir, "profguard", "references", "*.pb.gz"))
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
	side, err := reference.Decode(new(decode.Decoder), data, "github.com/profguard/profguard/internal/integration")
	if err != nil {
		t.Fatal(err)
	}
	return &built{side, list[0]}
}
