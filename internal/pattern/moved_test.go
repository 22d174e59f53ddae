package pattern_test

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// apart are packages below others that import them, with work of their own.
var apart = []string{
	"crypto/tls/internal/fips140tls", "crypto/x509/pkix", "database/sql/driver", "database/sql/internal", "go/build/constraint",
	"go/doc/comment", "image/color", "log/internal", "log/slog/internal", "log/slog/internal/buffer", "math/bits", "net/http/httptrace",
	"net/netip", "regexp/syntax", "sync/atomic", "text/template/parse",
}

// Where a package of the standard library imports packages below it, a release may have moved work
// to them: they are known to be apart, or a pattern for the package matches them, too.
func TestMoved(t *testing.T) {
	out, err := exec.Command("go", "list", "-f", "{{.ImportPath}} {{join .Deps \" \"}}", "std").Output()
	if err != nil {
		t.Fatal("go list std:", err)
	}
	found := 0
	for line := range strings.Lines(string(out)) {
		packages := strings.Fields(line)
		from := packages[0]
		if strings.Contains("/"+from, "/internal/") || strings.HasPrefix(from, "vendor/") || strings.HasPrefix(from, "runtime/") {
			continue
		}
		for _, to := range packages[1:] {
			if !strings.HasPrefix(to, from+"/") || slices.Contains(apart, to) {
				continue
			}
			found++
			if !mustParse(t, from)[0].Match(to + ".F") {
				t.Errorf("%s does not match %s, which it imports: add it to moved, or to apart in this test", from, to)
			}
		}
	}
	if found < 3 { // net/http/internal and below
		t.Errorf("found %d packages", found)
	}
}
