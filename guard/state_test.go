package guard

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/alert"
	"github.com/profguard/profguard/internal/profiler"
)

// What marshals unmarshals again, and an unknown state is no panic.
func TestStateText(t *testing.T) {
	for s := StateNoData; s <= StateFiring; s++ {
		data, err := json.Marshal(s)
		var back State = -1
		if err == nil {
			err = json.Unmarshal(data, &back)
		}
		if err != nil || back != s || s.String() != alert.State(s).String() {
			t.Errorf("%s is read back as %s: %v", data, back, err)
		}
	}
	if got := State(7).String(); got != "State(7)" {
		t.Errorf("state 7 is %s", got)
	}
	s := StateOK
	if err := json.Unmarshal([]byte(`"of a later version"`), &s); err != nil || s != StateNoData {
		t.Errorf("a state that is not known is read as %s, %v", s, err)
	}
}

// A small service has 20 samples a window, of hundreds of functions, so that new ones show all the
// time and the worst of a window is mostly above the limit by chance. It is ok when enough windows
// have come, and stays so. Its twins, of which one function has more than the limit, never are; and
// one that turns bad is ok no more.
func TestKeptWithFewSamples(t *testing.T) {
	for _, tt := range []struct {
		name  string
		share float64 // of one function
		from  time.Duration
	}{
		{"kept", 0, 0},
		{"26%, and the limit is 20%", 0.26, 0},
		{"40%, after three hours", 0.4, 3 * time.Hour},
	} {
		bubble(t, func(t *testing.T, w *world) {
			random := rand.New(rand.NewPCG(41, 12))
			w.take = func(int) profiler.Window {
				text := "cpu 10s\n"
				for range 20 {
					i := int(500 * random.Float64() * random.Float64() * random.Float64()) // the first has some 7%
					if random.Float64() < tt.share && w.since() >= tt.from {
						i = 501
					}
					text += fmt.Sprintf("main.main;main.serve;main.f%d 1\n", i)
				}
				return cpuWindow(text)
			}
			g := w.start(t, Config{Budgets: budget.Must("no function above 20%")})
			defer g.Stop()
			for range 7 * 12 {
				pass(5 * minute)
				s := g.Status().Budgets[0].State
				good := tt.share == 0 || w.since() < tt.from
				settled := !good && tt.from == 0 || w.since() > time.Hour && (good || w.since() > tt.from+30*minute)
				if settled && (s == StateOK) != good {
					t.Fatalf("%s: after %v it is %s", tt.name, w.since(), s)
				}
			}
		})
	}
}
