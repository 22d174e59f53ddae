package judge

import (
	"strings"

	"github.com/profguard/profguard/internal/decode"
)

// fips holds what does the work of many packages of crypto since Go 1.24, in a
// program built with GOFIPS140 under a version, as in "v1.0.0/sha256".
const fips = "crypto/internal/fips140/"

// elsewhere is, for a rule about a package of crypto that has no hit, the package in
// which its work is done: a limit on the wrong name is always kept. It is "" for any
// other rule.
func (w *window) elsewhere(r *rule) string {
	name, ok := strings.CutPrefix(r.Subject, "crypto") // "/sha256"
	if !ok || r.Class != Pattern || r.query < 0 || w.judged.counter.Sums(r.query).By(r.subject) > 0 {
		return ""
	}
	name = strings.TrimSuffix(name, "/...")
	if strings.LastIndexByte(name, '/') != 0 || strings.ContainsAny(name, ".*") {
		return "" // no path of a package right below crypto
	}
	names := w.judged.names
	does := func(path string) bool { return strings.HasPrefix(path, fips) && strings.HasSuffix(path, name) }
	known := false
	for i := 0; i < len(w.t.Funcs) && !known; i++ {
		known = does(names.PackageName(names.Package(w.t.Funcs[i].Name)))
	}
	if !known {
		return "" // without counting anything
	}
	// It may work for others only: outside the scope, or in samples that do not count.
	sums := w.count(r.detail)
	for _, key := range sums.Keys {
		if path := names.PackageName(names.Package(decode.ID(key))); sums.By(key) > 0 && does(path) {
			return path
		}
	}
	return ""
}
