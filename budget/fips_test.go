package budget

import (
	"crypto/sha256"
	"reflect"
	"strings"
	"testing"

	"github.com/profguard/profguard/internal/judge"
	"time"

	"github.com/google/pprof/profile"
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

// TestFIPSTrial: a Check that passes because it looks at the wrong package says so.
func TestFIPSTrial(t *testing.T) {
	for function, want := range map[string]bool{hashing: true, "main.hash": false, "crypto/sha256.Sum256": false} {
		trial, err := newTrial(Must("crypto/sha256 below 5%", "crypto/sha256 absent"), judge.Options{})
		if err != nil {
			t.Fatal(err)
		}
		var all []*profile.Profile
		for range 40 {
			p := samplesOf(function, 100, 200)
			all = append(all, p.Copy())
			if err := trial.Add(p, Facts{Kind: "cpu"}); err != nil {
				t.Fatal(err)
			}
		}
		sum, err := profile.Merge(all)
		if err != nil {
			t.Fatal(err)
		}
		results, err := trial.Close(sum, Facts{Kind: "cpu"})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range results {
			if got := strings.Count(r.Reason, saysSo); got > 1 || (got == 1) != want {
				t.Errorf("with %s: %s: %q, said %d times where the work is, want that: %t", function, r.Budget, r.Reason, got, want)
			}
			if want && r.Verdict != Pass {
				t.Errorf("with %s: %s: %s, want a pass as before", function, r.Budget, r.Verdict)
			}
		}
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
