package main

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/examples/internal/story"
	"github.com/profguard/profguard/guard"
)

const (
	firing   = guard.EventFiring
	resolved = guard.EventResolved
)

// A play is the story in acts.
type play struct {
	*story.Story
	out   io.Writer
	guard *guard.Guard
	fleet *fleet
	looks int    // of each node, in a row
	page  string // the guard's, as a URL
	dir   string // for profiles
}

func (p *play) acts(ctx context.Context) error {
	p.Say("A server runs %d Tailscale nodes, and serves a page now and then. The guard says:", len(p.fleet.nodes))
	for _, name := range []string{"ports", "hot"} {
		if _, err := p.Await(ctx, firing, name); err != nil {
			return err
		}
	}
	before, err := p.collect(ctx, "before")
	if err != nil {
		return err
	}
	if err := p.tooLate(ctx); err != nil {
		return err
	}
	if err := p.inTime(ctx); err != nil {
		return err
	}
	if err := p.whatIsNext(ctx); err != nil {
		return err
	}
	after, err := p.collect(ctx, "after")
	if err != nil {
		return err
	}
	least, measured, most := saved(before.cpu, after.cpu)
	p.Say("Saved: %.2f cores, at least %.2f and at most %.2f.", measured, least, most)
	return nil
}

// tooLate makes the setting while the nodes run.
func (p *play) tooLate(ctx context.Context) error {
	p.Say("First fix: TS_DEBUG_DISABLE_PORTLIST=true, set while the nodes run. The guard is not impressed:")
	turnOffPortlist(true)
	return p.next(ctx, "ports", "(*node).pollPorts")
}

// inTime makes the nodes see the setting.
func (p *play) inTime(ctx context.Context) error {
	p.Say("A poller reads it once, when it starts. Second fix: the nodes are started again:")
	p.restart(ctx, enumerate)
	if _, err := p.Await(ctx, resolved, "ports"); err != nil {
		return err
	}
	p.Say("No portlist any more. The other alert still fires, and names what is next:")
	return p.next(ctx, "hot", "enumerate")
}

// whatIsNext fixes that as well.
func (p *play) whatIsNext(ctx context.Context) error {
	p.Say("Third fix: one monitor is told by the kernel what changes, and all nodes ask it:")
	monitor, stop, err := startMonitor()
	if err != nil {
		return err
	}
	defer stop() // the nodes are left with what it knew last
	p.restart(ctx, remembered(monitor))
	_, err = p.Await(ctx, resolved, "hot")
	return err
}

// restart starts the nodes again.
func (p *play) restart(ctx context.Context, lookUp lookup) {
	p.fleet.close()
	p.fleet = startFleet(ctx, len(p.fleet.nodes), lookUp, p.looks)
}

// collect takes profiles of all kinds, and tells what is in them.
func (p *play) collect(ctx context.Context, when string) (evidence, error) {
	e, err := collect(ctx, p.page, filepath.Join(p.dir, when))
	if err == nil {
		e.tell(p.out, when)
	}
	return e, err
}

// next tells what a window that begins from now on says about a budget, the first
// that is sure of a function of this program. There is no event: the alert fires
// already. Which function below it is named depends on the machine: with one network
// interface it is the library's, with thirty the system call.
func (p *play) next(ctx context.Context, name, function string) error {
	since := time.Now()
	s, err := story.Until(ctx, p.guard, func(s guard.Status) bool {
		return s.Window.Start.After(since) && blames(story.Budget(s, name).Result, function)
	})
	if err != nil {
		return fmt.Errorf("next: %q is to blame %s: %w", name, function, err)
	}
	b := story.Budget(s, name)
	p.Say("    still %s  %s\n    %s", b.State, name, strings.ReplaceAll(b.Result.String(), "\n", "\n    "))
	return nil
}

// blames reports whether a result is a failure because of a function of this program.
func blames(r budget.Result, function string) bool {
	return r.Verdict == budget.Fail && slices.ContainsFunc(r.Offenders, func(o budget.Offender) bool {
		return strings.HasSuffix(o.Blame.Function, "."+function)
	})
}
