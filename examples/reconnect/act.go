package main

import (
	"context"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/examples/internal/story"
	"github.com/profguard/profguard/guard"
)

// An act is the mesh of one build after the other, under one guard.
type act struct {
	tale  *story.Story
	guard *guard.Guard
	mesh  *mesh
	notes []note
}

// A note is what one window said.
type note struct {
	build      string
	cores      float64
	handshakes budget.Result
	goroutines int64
}

// begin replaces the mesh by one with these bugs.
func (a *act) begin(b bugs) (err error) {
	if a.mesh != nil {
		a.mesh.close()
	}
	a.mesh, err = openMesh(size, b)
	return err
}

// end stops the guard and closes the mesh. It may be called twice.
func (a *act) end() {
	a.guard.Stop()
	if a.mesh != nil {
		a.mesh.close()
		a.mesh = nil
	}
}

// await tells what a budget becomes, and notes what the window said in which it did.
func (a *act) await(ctx context.Context, event guard.EventName, name, build string) error {
	e, err := a.tale.Await(ctx, event, name)
	if err != nil {
		return err
	}
	// The status follows the event: what is of the window before ended long ago.
	s, err := story.Until(ctx, a.guard, func(s guard.Status) bool {
		return s.Window.Start.Add(s.Window.Elapsed + time.Second).After(e.Time)
	})
	if err != nil {
		return err
	}
	a.notes = append(a.notes, note{build, s.Window.Cores, story.Budget(s, "handshakes").Result, s.Window.Goroutines})
	return nil
}

// failing waits for a window in which the budget fails.
func (a *act) failing(ctx context.Context, name string) (budget.Result, error) {
	s, err := story.Until(ctx, a.guard, func(s guard.Status) bool { return story.Budget(s, name).Result.Verdict == budget.Fail })
	return story.Budget(s, name).Result, err
}

func (a *act) table() string {
	var text strings.Builder
	w := tabwriter.NewWriter(&text, 0, 0, 4, ' ', 0)
	fmt.Fprintln(w, "    \tcores\tcrypto/tls\tgoroutines")
	for _, n := range a.notes {
		h := n.handshakes
		fmt.Fprintf(w, "    %s\t%.2f\t%.1f%% (%.1f%% to %.1f%%)\t%d\n", n.build, n.cores, 100*h.Value, 100*h.Low, 100*h.High, n.goroutines)
	}
	_ = w.Flush() // into memory
	return strings.TrimRight(text.String(), "\n")
}
