package main

import (
	"context"
	"runtime"
	"time"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/judge"
)

const (
	// halfHour is what a step of the soak stands for: "steady" looks at the lowest
	// count of each.
	halfHour = 30 * time.Minute
	// learning is how long "steady" looks on before it judges.
	learning = 48 * time.Hour
	// idlePeers are connections that stay, so that there is something to grow from.
	idlePeers = 10
)

// soak plays days in seconds. For two days a node keeps its peers; from then on
// one of them roams, and is connected anew every half hour. The connections and
// the goroutines are real, the time is not: the guard's [judge.Watch], which is internal
// to profguard, is told what it is.
//
// It returns what the watch says in the end, and when, which is as soon as it says
// that the goroutines grow.
func soak(b bugs, most time.Duration) (budget.Result, time.Duration, error) {
	var r budget.Result
	set := budget.Must("goroutines steady")
	rules, err := set.Rules()
	if err != nil {
		return r, 0, err
	}
	watch := judge.NewWatch(rules, halfHour)
	m, err := openStill(2, b)
	if err != nil {
		return r, 0, err
	}
	defer m.close()
	here, there := m.nodes[0], m.nodes[1]
	var roamer *peer
	for range idlePeers {
		roamer = &peer{addr: there.socket.LocalAddr()}
		if err := here.join(roamer); err != nil {
			return r, 0, err
		}
	}
	settled(200) // what the joins have started, and what was closed before
	for at := time.Duration(0); at < most; at += halfHour {
		if at >= learning {
			if err := here.connect(roamer); err != nil {
				return r, at, err
			}
		}
		f, err := look(watch, at)
		if r = set[0].Result(f); err != nil || r.Verdict == budget.Fail {
			return r, at, err
		}
	}
	return r, most, nil
}

// look tells the watch how many goroutines there are, and when that is.
func look(w *judge.Watch, at time.Duration) (judge.Finding, error) {
	none := &decode.Table{Symbols: new(decode.Symbols)}
	findings, err := w.Table(context.Background(), none, at, judge.Facts{Figures: map[string]float64{"goroutines": float64(settled(10))}})
	if err != nil {
		return judge.Finding{Reason: judge.Failed{Err: err}}, err
	}
	return findings[0], nil
}

// settled counts the goroutines when those that are ending have ended: when so many
// looks in a row, a millisecond apart, find no fewer.
func settled(looks int) int {
	least := runtime.NumGoroutine()
	for same := 0; same < looks; same++ {
		time.Sleep(time.Millisecond)
		if n := runtime.NumGoroutine(); n < least {
			least, same = n, 0
		}
	}
	return least
}
