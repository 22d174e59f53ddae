package main

import (
	"context"
	"fmt"
	"time"

	"github.com/profguard/profguard/internal/probe"
	"github.com/profguard/profguard/internal/unit"
)

// probeTargets serves what a guard in each of many targets would export.
func probeTargets(ctx context.Context, args []string, std streams) (int, error) {
	cfg := probe.Config{Log: std.err}
	f := newFlags("probe")
	files, sentences := budgetFlags(f, "")
	listen := f.String("listen", ":9201", "the `address` for /probe and /metrics")
	f.Func("allow", "a target that may be probed: a `pattern` such as *.shop:6060, or a network such as 10.1.0.0/16; may be given several times", cfg.Allowed.Add)
	authorizationFlag(f, &cfg.Authorization)
	f.IntVar(&cfg.Seconds, "seconds", 10, "the length of a profile in `seconds`; scrape_timeout must be a few seconds longer")
	f.DurationVar(&cfg.Every, "every", time.Minute, "the `period`: set it to the scrape_interval. A target that is asked again within half of it gets the same answer")
	f.IntVar(&cfg.Functions, "functions", 100, "the maximum number of functions exported for each target, which rollout compares; 0 for none")
	f.Func("unit", "a counter in the targets' `metrics` that counts work, such as http_requests_total; may be given several times. Units that budgets name are always counted", func(text string) error {
		if _, ok := unit.ParseWork(text); !ok {
			return fmt.Errorf("expected the name of a counter, found %q", text)
		}
		cfg.Units = append(cfg.Units, text)
		return nil
	})
	f.StringVar(&cfg.Module, "module", "", "the `path` of your module, to find your calls and to tell a server's own work from yours")
	f.StringVar(&cfg.Metrics, "metrics", "/metrics", "the `path` of each target's own metrics")
	f.IntVar(&cfg.Concurrency, "concurrency", 50, "the maximum number of targets probed at the same time")
	f.IntVar(&cfg.Targets, "targets", 1000, "the maximum number of targets remembered; the least recently probed is dropped")
	args, err := parseFlags(f, args, std.out)
	if err != nil {
		return exitMisuse, err
	}
	if len(args) > 0 {
		return exitMisuse, fmt.Errorf("expected no arguments, found %q: targets are named by Prometheus, as /probe?target=HOST:PORT", args[0])
	}
	if cfg.Budgets, err = readBudgets(*files, *sentences); err != nil {
		return exitMisuse, err
	}
	handler, err := probe.New(ctx, cfg)
	if err != nil {
		return exitMisuse, err
	}
	return serve(ctx, std.err, *listen, "/probe?target=HOST:PORT, /metrics", handler)
}
