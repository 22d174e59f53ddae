// Command profguard compares profiles with budgets from a shell, writes budgets
// for a program that has none, and compares the benchmarks of two revisions.
//
//	profguard check -budget 'no function above 20% cumulative' http://localhost:6060
//	profguard check -b budgets.txt -base before.pprof after.pprof
//	profguard diff before.pprof after.pprof -base-work request=9000 -work request=8000
//	profguard suggest http://localhost:6060 > budgets.txt
//	profguard compare -base origin/main ./...
//
// A profile is a file, the address of a service that has net/http/pprof, or "-" for
// standard input. Several of the same program are added up.
// "profguard help" has the rest.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

const usage = `profguard compares profiles with budgets, and benchmarks with those of another revision.

  profguard check -b budgets.txt PROFILE...       are the budgets kept?
  profguard check -budget SENTENCE PROFILE...     the same, with a budget in the command
  profguard diff OLD NEW                          what does a build cost more than the one before, and where?
  profguard suggest PROFILE...                    budgets to begin with, and what to look at first
  profguard compare -base REF [PACKAGE...]        do benchmarks cost more than before?
  profguard probe -b budgets.txt -allow TARGETS   an exporter for Prometheus, of many services that have no guard

PROFILE is a file, the address of a service with net/http/pprof
(http://localhost:6060), or - for standard input. Several are read one after the other
and added up: more samples decide more. check asks a service for all that the budgets
need, at the same time: profiles of each kind, and /metrics. Limits on allocations that a
guard takes for its period are for a minute here.
diff compares by a unit of work if both sides know one: references, which a guard writes to
DumpDir/references, do; for others say -base-work request=1000 and -work request=1200. It also
takes that folder alone, for its two newest builds.
check and diff write text, or with -o: json (its form has a version), markdown for a pull request,
and github, annotations beside its lines. Files have their paths in the repository that the
command runs in.
The language of budgets: https://pkg.go.dev/github.com/profguard/profguard/budget

A budget on a name that is not in the profile is undecided if the profile has one that is
nearly the same. Put a name in double quotes if it is right as it stands.

` + exits

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second interrupt ends the process, which may be reading its input
	status := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(status)
}

// run is the command, with its arguments.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	if len(args) == 0 {
		fmt.Fprint(stderr, usage)
		return exitMisuse
	}
	var command func(context.Context, []string, streams) (int, error)
	switch args[0] {
	case "check":
		command = check
	case "diff":
		command = diff
	case "suggest":
		command = suggest
	case "compare":
		command = compareBenchmarks
	case "probe":
		command = probe
	case "help", "-h", "-help", "--help":
		fmt.Fprint(stdout, usage)
		return exitKept
	default:
		fmt.Fprintf(stderr, "profguard: expected check, diff, suggest, compare or probe, found %q\n\n%s", args[0], usage)
		return exitMisuse
	}
	status, err := command(ctx, args[1:], streams{stdin, stdout, stderr})
	switch {
	case errors.Is(err, flag.ErrHelp):
		return exitKept
	case err != nil:
		fmt.Fprintf(stderr, "profguard %s: %v\n", args[0], err)
	}
	return status
}
