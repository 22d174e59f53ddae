package main

import (
	"crypto/sha256"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime/debug"
	"time"
)

// spinDefault is a loop that should have waited.
func spinDefault() (string, error) {
	work := make(chan int)
	go func() {
		n := 0
		for {
			select {
			case i := <-work:
				n += i
			//lint:ignore SA5004 that it spins is the point
			default: //nolint:staticcheck // as above
			}
		}
	}()
	return "", nil
}

// spinClosed is a loop that missed that a channel was closed.
func spinClosed() (string, error) {
	work, tick := make(chan int), time.NewTicker(time.Second)
	close(work)
	go func() {
		n := 0
		for {
			select {
			case i := <-work:
				n += i
			case <-tick.C:
				n = 0
			}
		}
	}()
	return "", nil
}

// thrashLimit has a memory limit that leaves no room over what is live.
func thrashLimit() (string, error) {
	live := liveHeap(64 << 20)
	debug.SetMemoryLimit(64 << 20)
	go churn(live)
	return "", nil
}

// thrashGOGC has a collector that was told to spare memory at any price.
func thrashGOGC() (string, error) {
	live := liveHeap(32 << 20)
	debug.SetGCPercent(5)
	go churn(live)
	return "", nil
}

// node has a pointer, so that the collector has something to follow.
type node struct {
	next *node
	data [48]byte
}

func liveHeap(bytes int) []*node {
	live := make([]*node, bytes/64)
	for i := range live {
		live[i] = new(node)
		if i > 0 {
			live[i].next = live[i*7919%i]
		}
	}
	return live
}

// churn replaces what is live, with some work in between, and waits as long as that takes:
// the collector's share is that of a service that never waits.
func churn(live []*node) {
	start := time.Now()
	for i := 0; ; i++ {
		if i%1024 == 0 {
			time.Sleep(time.Since(start))
			start = time.Now()
		}
		n := new(node)
		sum := sha256.Sum256(live[i%len(live)].data[:])
		copy(n.data[:], sum[:])
		n.next = live[(i*31)%len(live)]
		n.next.next = nil // or all that ever was stays reachable
		live[(i*7919)%len(live)] = n
	}
}

// leak starts goroutines that wait for what nobody sends, and forgets the
// channel. The runtime can tell, where it has its leak profile.
func leak() (string, error) {
	go func() {
		for range time.Tick(10 * time.Millisecond) {
			answer := make(chan int)
			go func() { answer <- 1 }()
		}
	}()
	return "", nil
}

// flood starts goroutines that wait for an answer that does not come: 60,000 within a
// second, and then one at a time. The channel is not forgotten, so no leak can be proven,
// and their number alone tells.
func flood() (string, error) {
	answers := make(chan int)
	wait := func() { <-answers }
	go func() {
		for range 60 {
			for range 1000 {
				go wait()
			}
			time.Sleep(10 * time.Millisecond)
		}
		for range time.Tick(10 * time.Millisecond) {
			go wait()
		}
	}()
	return "", nil
}

// debugPrint works a third of the time, and tells about it the other two.
func debugPrint() (string, error) {
	go func() {
		data := make([]byte, 8<<10)
		for i := 0; ; i++ {
			start := time.Now()
			sum := sha256.Sum256(data)
			worked := time.Since(start)
			for start := time.Now(); time.Since(start) < 2*worked; {
				fmt.Println("DEBUG: sum of", i, "is", sum)
			}
		}
	}()
	return "", nil
}

// debugDump uses a twentieth of a core, and most of that writes down what it works on: the
// runtime takes a part, too.
func debugDump() (string, error) {
	go func() {
		data := make([]byte, 8<<10)
		o := order{ID: "o-1", Lines: make([]line, 20), Tags: map[string]string{"region": "eu"}}
		for {
			start := time.Now()
			for range 20 {
				sha256.Sum256(data)
			}
			worked := time.Since(start)
			for start := time.Now(); time.Since(start) < 8*worked; {
				fmt.Fprintf(io.Discard, "DEBUG: %+v\n", o)
			}
			// Not in step with the profiler's clock.
			time.Sleep(time.Duration(30+rand.IntN(40)) * worked)
		}
	}()
	return "", nil
}
