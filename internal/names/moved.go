package names

import "strings"

// Moved has the packages of the standard library that have others do their work since some release
// of Go. A To may end in "/...", for all packages below.
var Moved = []struct {
	From string
	To   []string
}{
	{"encoding/json", []string{"encoding/json/v2", "encoding/json/jsontext", "encoding/json/internal/..."}}, // since Go 1.27
	{"net/http", []string{"net/http/internal/..."}},                                                         // HTTP/2, since Go 1.27
}

// FIPS is where, since Go 1.24, many packages of crypto do their work, in functions with the same
// names: crypto/sha256 in crypto/internal/fips140/sha256 or, with GOFIPS140, in
// crypto/internal/fips140/v1.0.0/sha256.
const FIPS = "crypto/internal/fips140"

// origin is the package that has the work of a package, given as its canonical path, done there, or
// that package itself.
func origin(path string) string {
	if rest, below := strings.CutPrefix(path, FIPS+"/"); below {
		version, of, _ := strings.Cut(rest, "/")
		if of != "" && len(version) > 1 && version[0] == 'v' && isNumber(version[1:2]) {
			rest = of
		}
		return "crypto/" + rest
	}
	for _, m := range Moved {
		for _, to := range m.To {
			tree, isTree := strings.CutSuffix(to, "...")
			if path == to || isTree && (strings.HasPrefix(path, tree) || path == strings.TrimSuffix(tree, "/")) {
				return m.From
			}
		}
	}
	return path
}
