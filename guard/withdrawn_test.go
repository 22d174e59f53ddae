package guard

import (
	"testing"
	"time"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/alert"
)

// Growth over a baseline of few samples can be shown, and not that it is over: the
// alert ends when nothing shows it any more. Any other alert needs a pass for that.
func TestWithdrawn(t *testing.T) {
	for _, tt := range []struct {
		sentence string
		want     alert.Event
	}{
		{"process grows below 10% per request", alert.Recovery},
		{"main.work below 10%", alert.None},
	} {
		b := budget.Must(tt.sentence)[0]
		e := &entry{name: "x", budget: b, verdicts: map[string]int64{}}
		now := time.Now()
		say := func(alarm budget.Verdict) alert.Event {
			now = now.Add(time.Minute)
			return e.take(budget.Result{Budget: b, Samples: 100, Alarm: alarm}, now, time.Minute)
		}
		if got := say(budget.Fail); got != alert.Fired {
			t.Fatalf("%s: %v, want it fired", b, got)
		}
		if got := say(budget.Fail); got != alert.None {
			t.Errorf("%s: %v while the alarm lasts", b, got)
		}
		if got := say(budget.Inconclusive); got != tt.want {
			t.Errorf("%s: %v when the alarm is withdrawn, want %v", b, got, tt.want)
		}
	}
}
