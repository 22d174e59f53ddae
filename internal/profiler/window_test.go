package profiler

import (
	"context"
	"errors"
	"testing"
)

func TestOutcomeString(t *testing.T) {
	seen := map[string]bool{}
	for o := OK; o <= Refused; o++ {
		s := o.String()
		if s == "" || seen[s] {
			t.Errorf("outcome %d has no name of its own: %q", int(o), s)
		}
		seen[s] = true
	}
	for o, want := range map[Outcome]string{-1: "Outcome(-1)", Refused + 1: "Outcome(14)", TooLarge: "too large"} {
		if got := o.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
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
	var lost *LostError
	if !errors.As(w.Err(), &lost) || lost.Outcome != Busy {
		t.Errorf("got %#v", w.Err())
	}
	w = Window{Outcome: Canceled, cause: context.Canceled}
	if !errors.Is(w.Err(), context.Canceled) {
		t.Errorf("%v does not unwrap to the context's error", w.Err())
	}
}

func TestProcessIsOne(t *testing.T) {
	if first, second := Process(), Process(); first == nil || first != second {
		t.Error("two hubs would fight for one profiler")
	}
}
