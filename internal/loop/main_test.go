package loop

import (
	"flag"
	"testing"

	"go.uber.org/goleak"
)

// long is for a test that takes minutes in full.
var long = flag.Bool("long", false, "run TestCounted for a month instead of a day")

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
