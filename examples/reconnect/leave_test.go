package main

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/guard"
)

// TestLeftBehind holds the budgets on goroutines against a node that connects to
// a peer twice and leaves it, as a unit test of it would.
func TestLeftBehind(t *testing.T) {
	for _, sentence := range []string{"goroutines steady", "no goroutine leaked"} {
		t.Run(sentence, func(t *testing.T) {
			reconnecting(t, t, sentence, bugs{})
			failure := recorder{T: t}
			reconnecting(t, &failure, sentence, bugs{forgets: true})
			if !strings.Contains(failure.text, sentence) {
				t.Errorf("want a failure of %q with the bug, got %q", sentence, failure.text)
			}
		})
	}
}

// A recorder is a test that is expected to fail.
type recorder struct {
	*testing.T
	text string
}

func (r *recorder) Errorf(format string, args ...any) { r.text += fmt.Sprintf(format, args...) }
func (r *recorder) Failed() bool                      { return r.text != "" }
func (r *recorder) FailNow()                          {}

func reconnecting(t *testing.T, tb guard.TB, sentence string, b bugs) {
	t.Helper()
	m, err := openStill(2, b)
	if err != nil {
		t.Fatal(err)
	}
	defer m.close()
	here, there := m.nodes[0], m.nodes[1]
	guard.Check(tb, budget.Must(sentence), func(context.Context) {
		p := &peer{addr: there.socket.LocalAddr()}
		for range 2 {
			if err := here.connect(p); err != nil {
				t.Error(err)
			}
		}
		here.leave(p)
	})
}
