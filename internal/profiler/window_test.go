package profiler

import (
	"testing"
	"time"
)

func TestOutcomeString(t *testing.T) {
	seen := map[string]bool{}
	for o := OK; o <= Canceled; o++ {
		s := o.String()
		if s == "" || seen[s] {
			t.Errorf("outcome %d has no name of its own: %q", int(o), s)
		}
		seen[s] = true
	}
	if got, want := TooLarge.String(), "too_large"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := Outcome(99).String() + Outcome(-1).String(); got != "Outcome(99)Outcome(-1)" {
		t.Errorf("unknown ones: %s", got)
	}
}

func TestWindowErr(t *testing.T) {
	var w Window
	if err := w.Err(); err != nil {
		t.Errorf("an OK window: %v", err)
	}
	w.lose(Busy, "taken by %s", "somebody")
	if got, want := w.Err().Error(), "capture cpu profile: busy: taken by somebody"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestBackoff(t *testing.T) {
	steps := []struct {
		after Outcome
		took  time.Duration // for a window of a second
		want  time.Duration
	}{
		{OK, 1 * time.Second, 0},
		{Starved, 1 * time.Second, 0},
		{Overrun, 1999 * time.Millisecond, 0},
		{Busy, 0, 1 * time.Minute},
		{Stolen, 0, 2 * time.Minute},
		{Canceled, 0, 2 * time.Minute},
		{Hung, 0, 4 * time.Minute},
		{Overrun, 1250 * time.Millisecond, 4 * time.Minute},
		{Overrun, 2 * time.Second, 8 * time.Minute},
		{Busy, 0, 15 * time.Minute},
		{Busy, 0, 15 * time.Minute},
		{Rate, 1 * time.Second, 15 * time.Minute},
		{OK, 1 * time.Second, 0},
		{Busy, 0, 1 * time.Minute},
	}
	var wait time.Duration
	for i, s := range steps {
		w := Window{Outcome: s.after, Asked: time.Second, Elapsed: s.took}
		if wait = w.Backoff(wait); wait != s.want {
			t.Errorf("step %d, after %v: wait %v, want %v", i, s.after, wait, s.want)
		}
	}
}

func TestProcessIsOne(t *testing.T) {
	if first, second := Process(), Process(); first == nil || first != second {
		t.Error("two hubs would fight for one profiler")
	}
}
