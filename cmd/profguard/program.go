package main

import (
	"fmt"
	"maps"
	"path"
	"regexp"
	"strings"

	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/names"
	"github.com/profguard/profguard/internal/reference"
	"github.com/profguard/profguard/internal/release"
)

// otherProgram says why a base is of another program than a profile, "" if it may be of the
// same. Growth against another program means nothing. The module is that of -module, if it is given.
func otherProgram(base, t *decode.Table, module string) string {
	const remedy = ": growth is judged against an earlier profile of the same program"
	differ := func(was, is string) string {
		return fmt.Sprintf("the base is of another program, %s, and this is a profile of %s%s", was, is, remedy)
	}
	if was, is := factsOf(base).Build.Program, factsOf(t).Build.Program; was != "" && was == is {
		return "" // whatever a release calls its file
	} else if was != "" && is != "" {
		return differ(was, is)
	}
	if was, is := binary(base.Program()), binary(t.Program()); was != is && was != "" && is != "" {
		return differ(was, is)
	}
	was, is := ours(base, module), ours(t, module)
	if len(was) < leastOurs || len(is) < leastOurs {
		return ""
	}
	for name := range was {
		if is[name] {
			return ""
		}
	}
	return "the base is of another program: no function of package main, or of the module, is in both" + remedy
}

// factsOf is what a reference says of itself. It is empty of any other profile.
func factsOf(t *decode.Table) *release.Side {
	side, _, err := reference.Facts(t.Comments())
	if err != nil || side == nil {
		return &release.Side{} // its samples are judged all the same
	}
	return side
}

// knownWork is the work that a reference says was done in it, beside or instead of which more is given.
// A unit that some of its windows lack stands for less than all its samples, and is left out.
func knownWork(t *decode.Table, given map[string]float64) map[string]float64 {
	p := factsOf(t).Pieces
	known := map[string]float64{}
	for name, n := range p.Work {
		if p.Costs[name].N == p.Count {
			known[name] = n
		}
	}
	maps.Copy(known, given)
	return known
}

// leastOurs is the number of own functions from which two profiles of one program have some in common.
const leastOurs = 3

// ours are the functions of package main and of a module, but those that each program has.
func ours(t *decode.Table, module string) map[string]bool {
	own := map[string]bool{}
	for _, f := range t.Funcs {
		name := t.Symbols.Name(f.Name)
		if pkg := names.PackageOf(name); pkg != "main" && (module == "" || pkg != module && !strings.HasPrefix(pkg, module+"/")) {
			continue
		}
		if name != "main.main" && !strings.HasPrefix(name, "main.init") && !names.IsLiteral(name) {
			own[name] = true
		}
	}
	return own
}

// version is what names of binaries may have at their end.
var version = regexp.MustCompile(`[-_]v?\d[\w.+-]*$`)

// hashed is a test binary of profguard compare, whose name differs from revision to revision.
var hashed = regexp.MustCompile(`(^|[/\\])[0-9a-f]{32}\.test(\.exe)?( \(deleted\))?$`)

// binary is the name of a program's file without a version: releases may have it in their names. It is "" if
// nothing is known by the name.
func binary(file string) string {
	if hashed.MatchString(file) {
		return ""
	}
	file = strings.TrimSuffix(strings.TrimSuffix(file, " (deleted)"), ".exe")
	if file == "" {
		return ""
	}
	return version.ReplaceAllString(path.Base(strings.ReplaceAll(file, `\`, "/")), "")
}
