package main

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/bridge"
	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/judge"
	"github.com/profguard/profguard/internal/kinds"
	"github.com/profguard/profguard/internal/service"
)

var recordedDir = flag.String("recorded", "", "a folder of recorded profiles, PLANT/PROGRAM.pb.gz, to judge by what suggest says")

// TestSuggestOfRecorded takes what is suggested for each healthy window of a program, and judges
// all its other windows by that: healthy ones keep the budgets, and those with a plant do not.
func TestSuggestOfRecorded(t *testing.T) {
	if *recordedDir == "" {
		t.Skip("-recorded names no folder")
	}
	paths, err := filepath.Glob(filepath.Join(*recordedDir, "*", "*.pb.gz"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no profiles: %v", err)
	}
	program := func(path string) string {
		return regexp.MustCompile(`(-\d+)?(_-cpu_\w+)?\.pb\.gz$`).ReplaceAllString(filepath.Base(path), "")
	}
	plant := func(path string) string { return filepath.Base(filepath.Dir(path)) }
	open := func(path string) (*input, judge.Facts) {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		table, err := new(decode.Decoder).Bytes(data)
		if err != nil {
			t.Fatal(err)
		}
		return &input{from: path, Profile: service.Profile{Table: table}}, judge.Facts{Kind: kinds.CPU, Module: recordedModules[program(path)]}
	}
	kept, healthy, found, above, plants := 0, 0, 0, 0, 0
	for _, from := range paths {
		if plant(from) != "healthy" {
			continue
		}
		in, facts := open(from)
		in.Facts = facts
		w := writer{input: in}
		w.suggest()
		if w.failed != nil {
			t.Fatal(w.failed)
		}
		set, err := budget.Parse(w.out.String())
		if err != nil {
			t.Fatalf("%v:\n%s", err, w.out.String())
		}
		t.Logf("%s (%d samples): %s", filepath.Base(from), w.Table.Count(), strings.Join(strings.Split(set.String(), "\n"), "; "))
		for _, other := range paths {
			if program(other) != program(from) || other == from {
				continue
			}
			in, facts := open(other)
			facts.Figures = map[string]float64{"cores": 1}
			in.Facts, in.Kind = facts, kinds.CPU
			findings, _, err := judgeAll(set, []*input{in})
			if err != nil {
				t.Fatal(err)
			}
			fails, over, said := false, false, ""
			for i, f := range findings {
				r := bridge.Result[budget.Result](set[i], f)
				if r.Verdict == budget.Fail {
					fails, said = true, said+" "+r.String()
				}
				over = over || r.Value > r.Limit
			}
			if plant(other) == "healthy" {
				if healthy++; !fails {
					kept++
				} else {
					t.Logf("  BROKEN by the healthy %s: %s", filepath.Base(other), said)
				}
				continue
			}
			plants++
			if over {
				above++
			}
			if fails {
				found++
			} else {
				t.Logf("  %s %s is not found (above a limit: %t)", plant(other), filepath.Base(other), over)
			}
		}
	}
	t.Logf("healthy windows that keep the budgets: %d of %d; plants that break one: %d of %d (above a limit: %d)", kept, healthy, found, plants, above)
}

var recordedModules = map[string]string{
	"caddy": "github.com/caddyserver/caddy/v2", "nats": "github.com/nats-io/nats-server/v2",
	"connectapi": "acme.example/connectapi", "hertzapi": "acme.example/hertzapi", "mysqlshop": "acme.example/mysqlshop",
}
