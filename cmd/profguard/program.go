package main

import (
	"fmt"
	"path"
	"regexp"
	"strings"

	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/names"
)

// otherProgram says why a base is of another program than a profile, "" if it may be of the
// same. Growth against another program means nothing. The module is that of -module, if it is given.
func otherProgram(base, t *decode.Table, module string) string {
	const remedy = ": growth is judged against an earlier profile of the same program"
	if was, is := binary(base.Program()), binary(t.Program()); was != is && was != "" && is != "" {
		return fmt.Sprintf("the base is of another program, %s, and this is a profile of %s%s", was, is, remedy)
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

// binary is the name of a program's file without a version: releases may have it in their names.
func binary(file string) string {
	file = strings.TrimSuffix(strings.TrimSuffix(file, " (deleted)"), ".exe")
	if file == "" {
		return ""
	}
	return version.ReplaceAllString(path.Base(strings.ReplaceAll(file, `\`, "/")), "")
}
