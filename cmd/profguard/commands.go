package main

import (
	"context"
	"fmt"
	"strings"
)

// A command is one of profguard's.
type command struct {
	name      string
	arguments string
	does      string // a line of the list of commands
	help      string // what a user needs to know beside the flags
	run       func(context.Context, []string, streams) (int, error)
}

// allCommands are in the order of the list.
func allCommands() []command {
	return []command{
		{"check", "-b FILE PROFILE...", "judge profiles by budgets", profilesHelp + checkHelp, check},
		{"suggest", "PROFILE...", "write budgets to begin with, and what to look at first", profilesHelp, suggest},
		{"diff", "OLD NEW", "show how much more a build costs than the one before, and where", diffHelp, diff},
		{"vet", "[PACKAGE...]", "check the budgets in source code before they run", vetHelp, vetSources},
		{"compare", "-base REF [PACKAGE...]", "compare the benchmarks of two revisions", compareHelp, compareBenchmarks},
		{"rollout", "-prometheus URL -job JOB", "compare two builds of a service by their metrics in Prometheus", rolloutHelp, rollOut},
		{"probe", "-b FILE -allow TARGETS", "watch services that have no guard, as an exporter for Prometheus", probeHelp, probeTargets},
	}
}

const profilesHelp = `PROFILE is a file, the address of a service with net/http/pprof such as
http://localhost:6060, or - for standard input. Several profiles are added up: more
samples decide more.
`

const checkHelp = `
A service is asked for everything that the budgets need, at the same time: profiles of
each kind, and its metrics. A limit on allocations that a guard takes for its period is
for a minute here.

A budget on a name that the profile does not have is undecided if the profile has a name
that differs by one letter. Put a name in double quotes if it is right as it stands.

-o github writes annotations for GitHub. Files have their paths in the repository in
which the command runs.
`

const diffHelp = `OLD and NEW are profiles, or references, which a guard leaves in its DumpDir. References
know how much work was done, so builds are compared per unit of work. For profiles, say
so: -base-work request=1000 -work request=1200. The DumpDir alone means its two newest
builds.
`

const vetHelp = `Reads the sentences of budget.Must and budget.Parse, in constants and in files of
//go:embed, and reports at their lines what is certainly wrong:
  * a sentence that does not parse
  * an "except ... until DATE" whose day is over
  * a budget that can never fail, because its "except" accepts every function
  * in budgets of a guard: a pattern that matches no function of the program, and work
    ("per request") that nobody counts
Nothing is compiled or run. Regular expressions, names made by the compiler and packages
of the runtime are left out. In tests, only sentences of budget.Must that do not parse are
reported. The default package is ./...
`

const compareHelp = `Compares the benchmarks of the working tree with those of a revision, in any Go
repository. The base is where the histories of REF and HEAD part. The default package is
./...
`

const rolloutHelp = `Compares the newest build of a job with the build that ran before, by the metrics that
guards with FunctionSeries export. With -listen it serves the outcomes to Prometheus and
to gates.
`

const probeHelp = `Prometheus asks /probe?target=HOST:PORT. The target needs net/http/pprof. It is judged
as a guard would judge itself.
`

// exits is what the exit status means.
const exits = `Exit status:
  0  every budget is kept, nothing costs more, or the command has done its work
  1  a budget is broken, vet finds a mistake, something costs more, or a benchmark fails
  2  wrong use, or something cannot be read, compared or served
  3  undecided: nothing is broken, but something could not be judged
`

// usage lists the commands.
func usage() string {
	var b strings.Builder
	b.WriteString("profguard judges profiles, benchmarks and builds of Go programs.\n\n")
	for _, c := range allCommands() {
		fmt.Fprintf(&b, "  profguard %-33s %s\n", c.name+" "+c.arguments, c.does)
	}
	b.WriteString("\n\"profguard COMMAND -h\" shows more, and \"profguard -version\" shows the version.\nBudgets are sentences such as \"no function above 20% cumulative\":\nhttps://pkg.go.dev/github.com/profguard/profguard/budget\n\n" + exits)
	return b.String()
}

// named is the command of that name.
func named(name string) (c command, found bool) {
	for _, c := range allCommands() {
		if c.name == name {
			return c, true
		}
	}
	return command{}, false
}

// allNames are those of all commands.
func allNames() string {
	var list []string
	for _, c := range allCommands() {
		list = append(list, c.name)
	}
	return either(list)
}
