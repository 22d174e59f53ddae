package judge_test

import (
	"strings"
	"testing"
	"time"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/folded"
	"github.com/profguard/profguard/internal/judge"
)

// Few long waits may be in no sample of a mutex profile, which has one in so many. Where
// goroutines have waited for longer than the profile has, nothing passes that could have waited so.
func TestWaitsInNoSample(t *testing.T) {
	const some = "mutex 10s\nmain.main;main.noise;sync.(*Mutex).Unlock 140 2ms\n"
	const much = "mutex 10s\nmain.main;main.count;sync.(*Mutex).Unlock 400 20s\nmain.main;main.noise;sync.(*Mutex).Unlock 140 2ms\n"
	for _, tt := range []struct {
		name, profile, sentence string
		fraction                int
		waited                  time.Duration
		want                    budget.Verdict
		say                     string
	}{
		{"seen", some, "no function above 0.2 cores of mutex", 10, 3 * time.Millisecond, budget.Pass, "surely below"},
		{"unseen", some, "no function above 0.2 cores of mutex", 10, 24 * time.Second, budget.Inconclusive, "the runtime has counted waits for locks of 24.00s or more"},
		{"unseen of a function", some, "main.count below 0.2 cores of mutex", 10, 24 * time.Second, budget.Inconclusive, "main.count at 0 s waited per second by 14 samples, but"},
		{"unseen, and far below", some, "main.count below 20 cores of mutex", 10, 24 * time.Second, budget.Pass, "surely below"},
		{"all recorded", some, "main.count below 0.2 cores of mutex", 1, 24 * time.Second, budget.Pass, "surely below"},
		{"an offender", much, "no function above 0.2 cores of mutex", 10, 60 * time.Second, budget.Fail, "main.count at 2 s waited per second"},
		{"an innocent beside it", much, "main.noise below 0.2 cores of mutex", 10, 20 * time.Second, budget.Pass, "surely below"},
		{"few samples", some, "no function above 0.00022 cores of mutex", 10, 24 * time.Second, budget.Inconclusive, "would tell it"},
		{"no samples", "mutex 10s\n", "no function above 0.2 cores of mutex", 10, 0, budget.Inconclusive, "the profile has no samples"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			facts := judge.Facts{Kind: "mutex", MutexFraction: tt.fraction, Waited: tt.waited, Elapsed: 10 * time.Second}
			w := newWatch(t, budget.Must(tt.sentence), time.Minute)
			r := w.profile(t, folded.Must(tt.profile), time.Minute, facts)[0]
			if r.Verdict != tt.want || !strings.Contains(r.Reason, tt.say) {
				t.Errorf("%v: %s; want %v, %q", r.Verdict, r.Reason, tt.want, tt.say)
			}
		})
	}
}
