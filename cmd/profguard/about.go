package main

import (
	"fmt"
	"net/url"
	"path"
	"strings"
	"time"

	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/unit"
)

// about says in a line what was profiled: where the profile is from, which program, how
// much of it and for how long.
func about(args []string, kind, module string, data []byte, t *decode.Table) string {
	var from []string
	for _, arg := range args {
		if arg == "-" {
			from = append(from, "standard input")
			continue
		}
		from = append(from, redacted(arg))
	}
	var what []string
	if program := programOf(module, data); program != "" {
		what = append(what, program)
	}
	taken := "a profile"
	if kind == "cpu" {
		taken = unit.Plural(t.Count(), "sample") + " of cpu"
	} else if kind != "" {
		taken = "a profile of " + kind
	}
	if t.DurationNanos > 0 {
		taken += fmt.Sprintf(" in %v", time.Duration(t.DurationNanos).Round(time.Second/10))
	}
	what = append(what, taken)
	if cores := coresOf(t); kind == "cpu" && cores > 0 {
		what = append(what, unit.Format(cores, unit.Cores))
	}
	return strings.Join(from, ", ") + ": " + strings.Join(what, ", ")
}

// redacted is an argument without the password of an address.
func redacted(arg string) string {
	u, err := url.Parse(arg)
	if err != nil || !strings.Contains(arg, "://") {
		return arg // a file
	}
	return u.Redacted()
}

// programOf is the main module, if that is given, or the path of package main, which its
// files have if the program was built with -trimpath. Otherwise it is the name of the
// binary, or "".
func programOf(module string, data []byte) string {
	if module != "" {
		return module
	}
	p, err := parse("", data)
	if err != nil {
		return "" // it is too large, and can be judged all the same
	}
	for _, f := range p.Function {
		host, _, ok := strings.Cut(f.Filename, "/")
		if strings.HasPrefix(f.Name, "main.") && ok && strings.Contains(strings.TrimLeft(host, "."), ".") {
			return path.Dir(f.Filename)
		}
	}
	if len(p.Mapping) == 0 || p.Mapping[0].File == "" {
		return ""
	}
	return path.Base(strings.ReplaceAll(p.Mapping[0].File, `\`, "/"))
}

// coresOf is what the program used, 0 if the profile does not say how long it took.
func coresOf(t *decode.Table) float64 {
	if t.DurationNanos <= 0 {
		return 0
	}
	return float64(t.Count()) * periodOf(t).Seconds() / time.Duration(t.DurationNanos).Seconds()
}

// periodOf is the CPU time of a sample.
func periodOf(t *decode.Table) time.Duration {
	if t.Period <= 0 {
		return 10 * time.Millisecond // Go's own
	}
	return time.Duration(t.Period)
}
