package main

import (
	"bytes"
	"fmt"
	"runtime"
	"runtime/pprof"
	"time"

	"github.com/profguard/profguard/budget"
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
// the goroutines are real, the time is not: a [budget.Watch] is told what it is.
//
// It returns what the watch says in the end, and when, which is as soon as it says
// that the goroutines grow.
func soak(b bugs, most time.Duration) (budget.Result, time.Duration, error) {
	var r budget.Result
	watch, err := budget.NewWatch(budget.Must("goroutines steady"), halfHour)
	if err != nil {
		return r, 0, err
	}
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
		if r, err = look(watch, at); err != nil || r.Verdict == budget.Fail {
			return r, at, err
		}
	}
	return r, most, nil
}

// look shows the watch the goroutines as they are, and tells it when that is.
func look(w *budget.Watch, at time.Duration) (budget.Result, error) {
	facts := budget.Facts{Figures: map[string]float64{"goroutines": float64(settled(10))}}
	var goroutines bytes.Buffer
	if err := pprof.Lookup("goroutine").WriteTo(&goroutines, 0); err != nil {
		return budget.Result{}, fmt.Errorf("take a goroutine profile: %w", err)
	}
	results, err := w.Reader(&goroutines, at, facts)
	if err != nil {
		return budget.Result{}, err
	}
	return results[0], nil
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
