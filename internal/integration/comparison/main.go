// Command comparison measures what profguard compare reaches, for the tables of docs/design.md:
// benchmarks that cost the same, more and less are compared on a machine that is idle or busy.
//
//	go run ./comparison -busy 6 -minutes 8 -out busy.jsonl    # again and again, as long as there is time
//	go run ./comparison -table busy.jsonl
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/profguard/profguard/internal/compare"
	"github.com/profguard/profguard/internal/compare/report"
	"github.com/profguard/profguard/internal/compare/slice"
)

// A result is one benchmark of one comparison.
type result struct {
	Growth float64 `json:"growth"` // that was planted
	Limit  float64 `json:"limit"`
	Kind   string  `json:"kind"` // of work
	Load   string  `json:"load"`
	Short  bool    `json:"short,omitempty"` // undecided before its time was up
	report.Benchmark
	Slices [2][]slice.Record `json:"slices"`
}

// kinds of work, as the code of a benchmark that does it once.
var kinds = map[string]string{
	"JSON":   `if err := json.Unmarshal(text, &v); err != nil { b.Fatal(err) }`,
	"Sort":   `copy(list, numbers); sort.Ints(list)`,
	"Hash":   `sum = sha256.Sum256(block)`,
	"Allocs": `m := map[int]string{}; for i := range 200 { m[i] = strings.Repeat("x", i%50) }; sink = m`,
}

// code is a package with a benchmark of each kind, whose call does so much work, in percent.
func code(percent int) string {
	var b strings.Builder
	b.WriteString(`package work

import ("crypto/sha256"; "encoding/json"; "sort"; "strings"; "testing")

var (
	text = []byte(strings.Repeat("[", 20) + "{\"a\": [1, 2, 3], \"b\": \"text\"}" + strings.Repeat("]", 20))
	v any
	numbers, list = make([]int, 200), make([]int, 200)
	block = make([]byte, 4096)
	sum [32]byte
	sink map[int]string
)

func init() { for i := range numbers { numbers[i] = i * 7919 % 1009 } }
`)
	for kind, body := range kinds {
		fmt.Fprintf(&b, "\nfunc Benchmark%s(b *testing.B) {\n\tfor b.Loop() {\n\t\tfor range %d {\n\t\t\t%s\n\t\t}\n\t}\n}\n", kind, percent, body)
	}
	return b.String()
}

func main() {
	growths := flag.String("growth", "0,10,8,-10", "what the head costs more, in percent, a package each")
	limit := flag.Float64("limit", 5, "the budget, in percent")
	busy := flag.Int("busy", 0, "so many busy loops run beside it")
	minutes := flag.Float64("minutes", 8, "begin comparisons for so long")
	each := flag.Duration("each", 2*time.Minute, "the time of a benchmark")
	out := flag.String("out", "", "append the results to this file")
	table := flag.String("table", "", "print the tables of this file")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := errors.New("expected -out or -table")
	switch {
	case *table != "":
		err = tables(*table)
	case *out != "":
		err = collect(ctx, *growths, *limit, *busy, time.Duration(*minutes*float64(time.Minute)), *each, *out)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// collect compares again and again, and appends the results to a file.
func collect(ctx context.Context, growths string, limit float64, busy int, during, each time.Duration, out string) error {
	end := time.Now().Add(during)
	dir, err := os.MkdirTemp("", "comparison-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	planted, err := repository(ctx, dir, strings.Split(growths, ","))
	if err != nil {
		return err
	}
	stopLoops, err := loops(busy)
	if err != nil {
		return err
	}
	defer stopLoops()
	budgets, err := compare.ParseBudgets([]string{fmt.Sprintf("process grows below %g%% per call", limit)})
	if err != nil {
		return err
	}
	file, err := os.OpenFile(out, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer file.Close()
	for time.Now().Before(end) && ctx.Err() == nil {
		most := min(time.Duration(len(planted)*len(kinds))*each, time.Until(end))
		r, err := compare.Run(ctx, compare.Config{Dir: dir, Base: "HEAD", Bench: ".", Patterns: []string{"./..."}, Budgets: budgets, Same: true, Time: most, Profiles: filepath.Join(dir, "profiles")})
		if err != nil {
			return err
		}
		for _, b := range r.Benchmarks {
			line := result{Growth: planted[b.Package], Limit: limit, Kind: b.Name, Load: r.System.Load, Benchmark: b, Slices: b.Slices}
			// This command's time may be up before the benchmark's.
			line.Short = b.Verdict == report.Undecided && b.Took < each
			if err := json.NewEncoder(file).Encode(line); err != nil {
				return err
			}
		}
		fmt.Println(r.Summary(), "load", r.System.Load)
	}
	return ctx.Err()
}

// repository writes a repository whose head does more work than its base, in a package for each growth.
func repository(ctx context.Context, dir string, growths []string) (map[string]float64, error) {
	planted := map[string]float64{}
	write := func(name, text string) error {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700); err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600)
	}
	if err := write("go.mod", "module example.com/work\n\ngo 1.26\n"); err != nil {
		return nil, err
	}
	for i := range growths {
		if err := write(fmt.Sprintf("p%d/work_test.go", i), code(100)); err != nil {
			return nil, err
		}
	}
	for _, args := range [][]string{{"init", "-q"}, {"add", "-A"}, {"commit", "-q", "-m", "base"}} {
		cmd := exec.CommandContext(ctx, "git", append([]string{"-C", dir, "-c", "user.name=a", "-c", "user.email=a@example.com"}, args...)...)
		if text, err := cmd.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("git %v: %w: %s", args, err, bytes.TrimSpace(text))
		}
	}
	for i, growth := range growths {
		var percent int
		if _, err := fmt.Sscan(growth, &percent); err != nil {
			return nil, fmt.Errorf("-growth: expected whole percents, found %q", growth)
		}
		planted[fmt.Sprintf("example.com/work/p%d", i)] = float64(percent)
		if err := write(fmt.Sprintf("p%d/work_test.go", i), code(100+percent)); err != nil {
			return nil, err
		}
	}
	return planted, nil
}

// loops starts processes that compute, and returns what ends them.
func loops(n int) (stop func(), err error) {
	var started []*exec.Cmd
	stop = func() {
		for _, cmd := range started {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
	}
	for range n {
		cmd := exec.Command("sh", "-c", "while :; do :; done")
		cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		if err := cmd.Start(); err != nil {
			stop()
			return nil, err
		}
		started = append(started, cmd)
	}
	return stop, nil
}
