package guard

import (
	"strings"
	"testing"
	"time"

	"github.com/profguard/profguard/budget"
)

// While an exception holds, its function is no offender. A day before it ends an event says so, once;
// after the end the guard counts it again, without a new start. The fake clock begins with the year
// 2000. The twin accepts it for longer.
func TestExceptUntilInGuard(t *testing.T) {
	for _, last := range []string{"2000-01-02", "2000-01-05"} {
		bubble(t, func(t *testing.T, w *world) {
			w.take, w.linked = always("cpu 10s\nmain.main;main.serve;main.encode 400\nmain.main;main.serve;main.list 600\n"), []string{"main.list", "main.encode"}
			g := w.start(t, Config{Every: 10 * minute, Budgets: budget.Must("x: no function above 20% cumulative except main.list, main.encode until " + last)})
			begin, ends := time.Now(), time.Date(2000, 1, 3, 0, 0, 0, 0, time.UTC)
			pass(2*time.Hour - time.Since(begin))
			if list := w.named(EventExpiring, EventFiring); len(list) > 0 {
				t.Errorf("at first: %v", list)
			}
			pass(time.Until(ends) - 2*second)
			first := w.named(EventExpiring, EventFiring)
			pass(2 * time.Hour)
			g.Stop()
			all := w.named(EventExpiring, EventFiring)
			if last != "2000-01-02" {
				if len(all) > 0 {
					t.Errorf("with time left: %v", all)
				}
				return
			}
			if len(first) != 1 || first[0].Name != EventExpiring || !strings.Contains(first[0].Message, "main.encode until 2000-01-02") ||
				!first[0].Time.Before(ends.Add(-23*time.Hour)) {
				t.Errorf("before the end: %v", first)
			}
			if len(all) != 2 || all[1].Name != EventFiring || all[1].Result.Offenders[0].Function != "main.encode" ||
				!strings.Contains(all[1].Result.Reason, "was accepted until 2000-01-02, which is over") {
				t.Errorf("after the end: %v", all)
			}
		})
	}
}

func (w *world) named(names ...EventName) (list []Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, e := range w.events {
		for _, name := range names {
			if e.Name == name {
				list = append(list, e)
			}
		}
	}
	return list
}
