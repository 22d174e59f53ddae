package main

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"
)

// TestAction runs the steps of action.yml as a runner does, on pull requests of a small repository.
func TestAction(t *testing.T) {
	if testing.Short() {
		t.Skip("measures benchmarks")
	}
	t.Parallel()
	twice := strings.NewReplacer("range steps", "range 2 * steps")
	for name, pull := range map[string]struct {
		change   *strings.Replacer
		inputs   map[string]string
		status   int
		outcome  string // in $GITHUB_OUTPUT
		log      string // in the log, as an expression
		summary  string
		noErrors bool
	}{
		"planted": {
			change: twice, status: 1, outcome: "status=1",
			log: `(?m)^::error file=part/shop.go,line=(9|10),title=.*Sum.*shop\.sum`, summary: "broken",
		},
		"packages by lines": {
			change: twice, inputs: map[string]string{"packages": "./none\n.\n"}, status: 1, outcome: "status=1",
			log: `(?m)^::error file=part/shop.go`, summary: "broken",
		},
		"clean": {
			change: strings.NewReplacer("// sum adds.", "// sum adds numbers."), outcome: "status=0",
			log: "1 package the same", summary: "same", noErrors: true,
		},
		"no failure without a decision": {
			change: twice, inputs: map[string]string{"args": "-time=1ms\n"}, outcome: "status=3",
			log: "::warning ", summary: "undecided", noErrors: true,
		},
		"a budget with spaces": {
			change: twice, inputs: map[string]string{"args": "-budget=process grows below 1000% per call\n-same"}, outcome: "status=0",
			log: "1 kept", summary: "kept", noErrors: true,
		},
		"no base": {change: twice, inputs: map[string]string{"base": "origin/gone"}, status: 2, outcome: "status=2"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := pullRequest(t, pull.change)
			inputs := map[string]string{"working-directory": "part"}
			maps.Copy(inputs, pull.inputs)
			r := runAction(t, dir, inputs)
			if r.status != pull.status || !strings.Contains(r.outputs, pull.outcome+"\n") {
				t.Errorf("expected exit status %d and %s, found %d and %q", pull.status, pull.outcome, r.status, r.outputs)
			}
			if !regexp.MustCompile(pull.log).MatchString(r.log) || pull.noErrors && strings.Contains(r.log, "::error") {
				t.Errorf("expected %q in the log", pull.log)
			}
			if !strings.Contains(r.summary, pull.summary) {
				t.Errorf("expected %q in the summary, found:\n%s", pull.summary, r.summary)
			}
		})
	}
}

// pullRequest is a checkout of a pull request that changes a file, with the branch main on origin.
func pullRequest(t *testing.T, change *strings.Replacer) string {
	dir := t.TempDir()
	part := filepath.Join(dir, "part")
	if err := os.MkdirAll(filepath.Join(part, "none"), 0o700); err != nil {
		t.Fatal(err)
	}
	git := func(args ...string) {
		if _, err := git(dir, "", args...); err != nil {
			t.Fatal(err)
		}
	}
	code := "package shop\n\nconst steps = 20_000\n\n// sum adds.\n//\n//go:noinline\nfunc sum() (n int) {\n\tfor i := range steps {\n\t\tn += i ^ n<<1\n\t}\n\treturn n\n}\n"
	write(t, part, "go.mod", "module example.com/shop\n\ngo 1.26\n")
	write(t, part, "shop.go", code)
	write(t, part, "none/none.go", "package none\n")
	write(t, part, "shop_test.go", "package shop\n\nimport \"testing\"\n\nvar sink int\n\nfunc BenchmarkSum(b *testing.B) {\n\tfor b.Loop() {\n\t\tsink += sum()\n\t}\n}\n")
	git("init", "-q")
	git("add", "-A")
	git("commit", "-q", "-m", "base")
	git("update-ref", "refs/remotes/origin/main", "HEAD")
	write(t, part, "shop.go", change.Replace(code))
	git("commit", "-q", "-a", "-m", "head")
	return dir
}

// What a run of an action has left.
type actionRun struct {
	status                int
	log, summary, outputs string
}

// runAction runs what action.yml has for the shell, until a step fails.
func runAction(t *testing.T, dir string, inputs map[string]string) (r actionRun) {
	t.Helper()
	var action struct {
		Inputs map[string]struct{ Default string }
		Runs   struct {
			Steps []struct {
				Run, Shell string
				Env        map[string]string
			}
		}
	}
	if err := yaml.Unmarshal([]byte(text(t, filepath.Join(top, "action.yml"))), &action); err != nil {
		t.Fatal(err)
	}
	at, err := filepath.Abs(top)
	if err != nil {
		t.Fatal(err)
	}
	for name := range inputs {
		if _, ok := action.Inputs[name]; !ok {
			t.Fatalf("action.yml has no input %s", name)
		}
	}
	temp := t.TempDir()
	summary, outputs := filepath.Join(temp, "summary"), filepath.Join(temp, "outputs")
	cache, err := exec.Command("go", "env", "GOCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range action.Runs.Steps {
		if step.Run == "" {
			continue
		}
		if step.Shell != "bash" {
			t.Errorf("expected bash, found the shell %q", step.Shell)
		}
		cmd := exec.CommandContext(t.Context(), "bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step.Run)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "CI=true", "GITHUB_ACTIONS=true", "GITHUB_ACTION_PATH="+at, "GITHUB_WORKSPACE="+dir, "GITHUB_BASE_REF=main",
			"GITHUB_STEP_SUMMARY="+summary, "GITHUB_OUTPUT="+outputs, "XDG_CACHE_HOME="+temp, "GOCACHE="+strings.TrimSpace(string(cache)))
		for key, value := range step.Env {
			name, _ := strings.CutPrefix(strings.Trim(value, "${ }"), "inputs.")
			input, known := action.Inputs[name]
			if !known {
				t.Fatalf("%s: expected an input, found %s", key, value)
			}
			given, ok := inputs[name]
			if !ok {
				given = input.Default
			}
			cmd.Env = append(cmd.Env, key+"="+given)
		}
		out, _ := cmd.CombinedOutput()
		r.log += string(out)
		if r.status = cmd.ProcessState.ExitCode(); r.status != 0 {
			break
		}
	}
	t.Log(r.log)
	for file, into := range map[string]*string{summary: &r.summary, outputs: &r.outputs} {
		if content, err := os.ReadFile(file); err == nil {
			*into = string(content)
		}
	}
	return r
}
