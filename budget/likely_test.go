package budget_test

import (
	"strings"
	"testing"

	. "github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/folded"
)

// TestLikely: the deepest offender is named although few samples leave a doubt about it,
// because its caller proves that the limit is exceeded. The reason says which is which.
func TestLikely(t *testing.T) {
	p := folded.Must("cpu 10s\nmain.main;main.run;main.outer;main.inner 42\nmain.main;main.run;main.outer;main.other 18\nmain.main;main.run;main.outer 15\nmain.main;main.run;main.rest 50\n")
	r := judged(t, Must("no function above 20% except main.run, main.rest"), p)[0]
	if r.Verdict != Fail || len(r.Offenders) == 0 || r.Offenders[0].Function != "main.inner" {
		t.Fatalf("expected a Fail that names main.inner, found\n%s", r)
	}
	if !strings.Contains(r.Reason, "main.inner at 33.60%, likely above ") || !strings.Contains(r.Reason, "; main.outer is surely above ") {
		t.Errorf("expected main.inner to be likely above, and main.outer surely: %s", r.Reason)
	}
	if alone := judged(t, Must("main.inner below 20%"), p)[0]; alone.Verdict == Fail {
		t.Errorf("expected too few samples to prove it of main.inner alone:\n%s", alone)
	}
}
