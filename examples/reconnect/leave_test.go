package main

import (
	"context"
	"strings"
	"testing"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/examples/internal/failure"
	"github.com/profguard/profguard/guard"
)

// TestLeftBehind holds the budgets on goroutines against a node that connects to
// a peer twice and leaves it, as a unit test of it would.
func TestLeftBehind(t *testing.T) {
	for _, sentence := range []string{"goroutines steady", "no goroutine leaked"} {
		t.Run(sentence, func(t *testing.T) {
			set := budget.Must(sentence)
			guard.Check(t, set, reconnecting(t, bugs{}))
			forgetful := reconnecting(t, bugs{forgets: true})
			said := failure.Of(func(tb guard.TB) { guard.Check(tb, set, forgetful) })
			if !strings.Contains(said, sentence) {
				t.Errorf("want a failure of %q with the bug, got %q", sentence, said)
			}
		})
	}
}

// reconnecting is the work of a node of a mesh with these bugs.
func reconnecting(t *testing.T, b bugs) func(context.Context) {
	t.Helper()
	m, err := openStill(2, b)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.close)
	here, there := m.nodes[0], m.nodes[1]
	return func(context.Context) {
		p := &peer{addr: there.socket.LocalAddr()}
		for range 2 {
			if err := here.connect(p); err != nil {
				t.Error(err)
			}
		}
		here.leave(p)
	}
}
