package budget

import (
	"crypto/sha256"
	"reflect"
	"strings"
	"testing"
	"time"
)

// hashing is a function that does the work of crypto/sha256, and saysSo what a
// budget says that misses it. More is in testdata/scenarios/crypto_*.
const (
	hashing = "crypto/internal/fips140/sha256.block"
	saysSo  = "; what does its work is crypto/internal/fips140/sha256, which this budget does not count: name that one"
)

// TestFIPSDoc: the documentation says where crypto/sha256 has gone.
func TestFIPSDoc(t *testing.T) {
	path := reflect.TypeOf(sha256.New()).Elem().PkgPath()
	if !strings.HasPrefix(path, "crypto/internal/fips140/") || !strings.HasSuffix(path, "/sha256") {
		t.Errorf("crypto/sha256.New returns a type of %s, want one of crypto/internal/fips140", path)
	}
}

// TestFIPSWatch: so does a window of a guard, and only one in which it is true.
func TestFIPSWatch(t *testing.T) {
	w, err := newWatch(Must("crypto/sha256 below 5%"), time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range []struct {
		function string
		want     bool
	}{{hashing, true}, {"main.hash", false}, {"crypto/sha256.Sum256", false}, {hashing, true}} {
		results, err := w.Profile(samplesOf(c.function, 500, 1000), time.Duration(i)*time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.HasSuffix(results[0].Reason, saysSo); got != c.want {
			t.Errorf("window %d, with %s: %q, said where the work is: %t, want %t", i, c.function, results[0].Reason, got, c.want)
		}
	}
}
