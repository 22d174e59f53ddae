package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	_ "net/http/pprof"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/mod/modfile"
)

// The version is the one that README names.
const root, version = "github.com/profguard/profguard", "v0.1.0"

// A user is somebody with an empty module cache, outside of the repository, for whom the release is there.
type user struct {
	bin string // where go install puts commands
	env []string
}

// newUser returns a user of a release.
func newUser(t *testing.T, r *release) *user {
	t.Helper()
	registry, err := exec.Command("go", "env", "GOPROXY").Output()
	if err != nil {
		t.Fatal(err)
	}
	u := &user{bin: t.TempDir()}
	u.env = append(os.Environ(),
		"GOMODCACHE="+t.TempDir(), "GOBIN="+u.bin, "PATH="+u.bin+string(os.PathListSeparator)+os.Getenv("PATH"),
		"GOPROXY=file://"+r.proxy+","+strings.TrimSpace(string(registry)), "GONOSUMDB=github.com/profguard/*",
		"GOTOOLCHAIN=local", "GOWORK=off", // go test puts its own go into PATH
		"GOFLAGS=-modcacherw -trimpath -buildvcs=false", // trimmed, the build cache knows packages that were in another folder
	)
	return u
}

// run runs a command in a folder, and returns what it prints on stdout, and the exit status.
func (u *user) run(t *testing.T, dir, name string, args ...string) (string, int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env = dir, u.env
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	start := time.Now()
	err := cmd.Run()
	t.Logf("%s %s: %v after %v\n%s%s", name, strings.Join(args, " "), err, time.Since(start).Round(time.Second), out.String(), said.String())
	if cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return out.String(), cmd.ProcessState.ExitCode()
}

// must runs a command that ends with status 0.
func (u *user) must(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	out, status := u.run(t, dir, name, args...)
	if status != 0 {
		t.Fatalf("%s %q: exit status %d", name, args, status)
	}
	return out
}

// TestMain gives commits an author, where nobody has told git who that is.
func TestMain(m *testing.M) {
	for _, who := range []string{"AUTHOR", "COMMITTER"} {
		os.Setenv("GIT_"+who+"_NAME", "a")
		os.Setenv("GIT_"+who+"_EMAIL", "a@example.com")
	}
	os.Exit(m.Run())
}

// TestRelease makes a release and does what its users will.
func TestRelease(t *testing.T) {
	if testing.Short() {
		t.Skip("fetches modules, and takes a minute")
	}
	t.Parallel()
	r, err := publish(version, filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	t.Log(r)
	u := newUser(t, r)
	u.must(t, r.repository, "git", "checkout", "-q", "-f")
	u.must(t, t.TempDir(), "go", "install", root+"/cmd/profguard@"+version)
	u.must(t, t.TempDir(), "go", "install", root+"/analyzer/profguardvet@"+version) // of a nested module
	if out := u.must(t, "", filepath.Join(u.bin, "profguard"), "-version"); !strings.HasPrefix(out, "profguard "+version+", "+runtime.Version()) {
		t.Errorf("profguard -version says %q", out)
	}
	t.Run("uses", func(t *testing.T) {
		t.Run("quickstart", func(t *testing.T) {
			t.Parallel()
			out := u.must(t, t.TempDir(), "go", "run", root+"/examples/quickstart@"+version)
			if !strings.Contains(out, "profguard.budget.firing") {
				t.Error("the budget has not fired")
			}
		})
		t.Run("README", func(t *testing.T) { t.Parallel(); readme(t, u, r) })
		t.Run("service", func(t *testing.T) { service(t, u, "", "") })
		exporters := map[string]string{
			"bucket":    "var _ guard.Exporter = &bucket.Exporter{}",
			"datadog":   "_ = datadog.Client(g, nil)",
			"otlp":      "var _ guard.Exporter = &otlp.Exporter{}",
			"pyroscope": "var _ guard.Exporter = &pyroscope.Exporter{}",
		}
		for _, n := range r.modules {
			if name, ok := strings.CutPrefix(n.dir, "export/"); ok {
				if exporters[name] == "" {
					t.Errorf("this test has no use of %s", n.path())
				}
				t.Run(name, func(t *testing.T) { service(t, u, n.path(), exporters[name]) })
			}
		}
		t.Run("modules", func(t *testing.T) { modules(t, u, r) })
		t.Run("tags", func(t *testing.T) { tags(t, u, r) })
	})
}

// service makes a service with a guard and an exporter, and runs it.
func service(t *testing.T, u *user, exporter, use string) {
	dir, imports, paths := t.TempDir(), "", []string{"get", root + "/guard@" + version}
	if exporter != "" {
		imports, paths = fmt.Sprintf("%q", exporter), append(paths, exporter+"@"+version)
	}
	write(t, dir, "main.go", fmt.Sprintf(`package main

import (
	"fmt"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/guard"
	%s
)

func main() {
	g, err := guard.Start(guard.Config{Budgets: budget.Must("no function above 20%% cumulative")})
	if err != nil {
		panic(err)
	}
	defer g.Stop()
	%s
	fmt.Println("started")
}
`, imports, use))
	u.must(t, dir, "go", "mod", "init", "example.com/service")
	u.must(t, dir, "go", paths...)
	if out := u.must(t, dir, "go", "run", "."); out != "started\n" {
		t.Errorf("it prints %q", out)
	}
}

// modules: what is served has no replace, requires its siblings at the version, and knows their sums.
func modules(t *testing.T, u *user, r *release) {
	if len(r.modules) < 9 || r.modules[0].path() != root {
		t.Fatalf("expected the root first and eight others, found %d modules", len(r.modules))
	}
	for _, n := range r.modules {
		text, err := os.ReadFile(filepath.Join(r.proxy, n.path(), "@v", version+".mod"))
		if err != nil {
			t.Fatal(err)
		}
		file, err := modfile.Parse("go.mod", text, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, q := range file.Require {
			if strings.HasPrefix(q.Mod.Path, root) && q.Mod.Version != version || len(file.Replace) > 0 {
				t.Errorf("%s requires %v, with %d replaced", n.path(), q.Mod, len(file.Replace))
			}
		}
		u.must(t, filepath.Join(r.repository, n.dir), "go", "list", "-deps", "-f", "{{if .Error}}{{.Error}}{{end}}", "./...")
	}
}

// tags: what the go command makes of the tags is what was tried.
func tags(t *testing.T, u *user, r *release) {
	direct := *u
	direct.env = append(slices.Clone(u.env), "GOPROXY=direct", "GOMODCACHE="+t.TempDir(),
		"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=url.file://"+r.repository+".insteadOf", "GIT_CONFIG_VALUE_0=https://"+root)
	for _, n := range r.modules {
		var sums [2]struct{ Sum, GoModSum string }
		for i, who := range []*user{u, &direct} {
			out := who.must(t, t.TempDir(), "go", "mod", "download", "-json", n.path()+"@"+version)
			if err := json.Unmarshal([]byte(out), &sums[i]); err != nil {
				t.Fatal(err)
			}
		}
		if sums[0] != sums[1] || sums[0].Sum == "" {
			t.Errorf("%s: tried was %v, tagged is %v", n.path(), sums[0], sums[1])
		}
	}
}

// readme runs the commands of README.md as they stand, in a repository with all that they name.
func readme(t *testing.T, u *user, r *release) {
	text, err := os.ReadFile(filepath.Join(r.repository, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.DefaultServeMux)
	defer server.Close()
	go func() {
		for x := 0; t.Context().Err() == nil; time.Sleep(time.Millisecond) {
			for range 1_000_000 {
				x = x*3 + 1
			}
		}
	}()
	dir := shop(t, u)
	for _, name := range []string{"old.pprof", "new.pprof"} {
		answer, err := http.Get(server.URL + "/debug/pprof/profile?seconds=1")
		if err != nil {
			t.Fatal(err)
		}
		profile, err := io.ReadAll(answer.Body)
		answer.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		write(t, dir, name, string(profile))
	}
	write(t, dir, "budgets.txt", "goroutines below 5000\nno function above 99%\n")
	all := commands(string(text))
	if len(all) < 3 {
		t.Errorf("README has only these commands: %q", all)
	}
	for _, command := range all {
		at := dir
		if strings.Contains(command, " ./examples/") {
			at = r.repository
		}
		// Any verdict will do. Status 2 is wrong use.
		command = strings.ReplaceAll(command, "http://localhost:6060", server.URL)
		if _, status := u.run(t, at, "bash", "-c", command); status == 2 || status != 0 && strings.HasPrefix(command, "go ") || status > 3 {
			t.Errorf("%s: exit status %d", command, status)
		}
	}
}

// commands are the commands of go and profguard in the blocks of a page. Those of go test are what CI runs anyway.
func commands(page string) (all []string) {
	for i, block := range strings.Split(page, "```") {
		language, text, _ := strings.Cut(block, "\n")
		if i%2 == 0 || !slices.Contains([]string{"", "sh", "bash", "shell", "console"}, strings.TrimSpace(language)) {
			continue
		}
		for line := range strings.Lines(text) {
			line, _, _ = strings.Cut(strings.TrimPrefix(strings.TrimSpace(line), "$ "), " #")
			word, _, _ := strings.Cut(line, " ")
			if (word == "go" || word == "profguard") && !strings.HasPrefix(line, "go test") {
				all = append(all, strings.TrimSpace(line))
			}
		}
	}
	return all
}

// shop is a repository with a benchmark, whose branch main has another comment.
func shop(t *testing.T, u *user) string {
	dir := t.TempDir()
	write(t, dir, "go.mod", "module example.com/shop\n\ngo 1.26\n")
	source := "package shop\n\nimport \"testing\"\n\nvar sink int\n\nfunc BenchmarkSum(b *testing.B) {\n\tfor b.Loop() {\n\t\tfor i := range 10_000 {\n\t\t\tsink += i ^ sink<<1\n\t\t}\n\t}\n}\n"
	write(t, dir, "shop_test.go", source)
	u.must(t, dir, "git", "init", "-q")
	u.must(t, dir, "git", "add", "-A")
	u.must(t, dir, "git", "commit", "-q", "-m", "base")
	u.must(t, dir, "git", "update-ref", "refs/remotes/origin/main", "HEAD")
	write(t, dir, "shop_test.go", source+"\n// more\n")
	return dir
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestMistakes: what is not a release is told before anything is made.
func TestMistakes(t *testing.T) {
	for _, v := range []string{"", "0.1.0", "v0.1", "v2.0.0", "v0.1.0 "} {
		if _, err := publish(v, filepath.Join(t.TempDir(), "out")); err == nil || !strings.Contains(err.Error(), "-version: expected") {
			t.Errorf("-version %q: %v", v, err)
		}
	}
	if _, err := publish(version, t.TempDir()); err == nil || !strings.Contains(err.Error(), "-out: expected") {
		t.Errorf("a folder that is there: %v", err)
	}
}

// TestCommands: the commands of a page are those of its shell blocks.
func TestCommands(t *testing.T) {
	page := "Try `go run x`:\n\n```\n$ go install x@latest  # the command\nprofguard check a # and\ngo test ./...\nprofguard_budget_state\n```\n\n```go\ngo serve()\n```\n"
	if got, want := commands(page), []string{"go install x@latest", "profguard check a"}; !slices.Equal(got, want) {
		t.Errorf("found %q, want %q", got, want)
	}
}
