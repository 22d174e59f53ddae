package profiles

import (
	"runtime"
	"sync"
	"testing"
)

// The planted work of the tests. Each function is an entry point's callee, so that
// it is charged in full.

// serve stands for a handler: what it calls is the program's own work.
//
//go:noinline
func serve(work func()) { work() }

//go:noinline
func allocate(n, size int) {
	for range n {
		sink = make([]byte, size)
	}
	sink = nil
}

//go:noinline
func hold(n, size int) [][]byte {
	held := make([][]byte, n)
	for i := range held {
		held[i] = make([]byte, size)
	}
	return held
}

// sink keeps allocations on the heap.
var sink []byte

// contend makes goroutines wait for a lock, at least n times. Whether they meet there
// is the scheduler's doing, so that it goes on until the runtime has counted them.
func contend(n int) {
	var mu sync.Mutex
	for end := contentions() + int64(n); contentions() < end; {
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() { serve(func() { quarrel(&mu, 100) }) })
		}
		wg.Wait()
	}
}

// contentions is how often a goroutine has waited for a lock, as the runtime counts
// it with a mutex profile fraction of 1.
func contentions() (n int64) {
	records := make([]runtime.BlockProfileRecord, 10_000)
	have, _ := runtime.MutexProfile(records)
	for _, r := range records[:have] {
		n += r.Count
	}
	return n
}

//go:noinline
func quarrel(mu *sync.Mutex, rounds int) {
	for range rounds {
		mu.Lock()
		runtime.Gosched()
		mu.Unlock()
	}
}

// pingpong makes goroutines wait for each other.
func pingpong(rounds int) {
	a, b := make(chan int), make(chan int)
	var first, second sync.WaitGroup
	first.Go(func() { serve(func() { play(a, b, rounds) }) })
	second.Go(func() { serve(func() { play(b, a, rounds) }) })
	a <- 0
	first.Wait()
	<-a // the last ball
	second.Wait()
}

//go:noinline
func play(in <-chan int, out chan<- int, rounds int) {
	for range rounds {
		out <- <-in
	}
}

// park starts n goroutines that wait until the test is over. They have started
// when it returns.
func park(t testing.TB, n int, work func(wait <-chan struct{})) {
	t.Helper()
	done := make(chan struct{})
	var started, wg sync.WaitGroup
	started.Add(n)
	for range n {
		wg.Go(func() {
			started.Done()
			work(done)
		})
	}
	started.Wait()
	t.Cleanup(func() {
		close(done)
		wg.Wait()
	})
}

//go:noinline
func wait(c <-chan struct{}) { <-c }

// deep calls work at the end of n frames.
//
//go:noinline
func deep(n int, work func()) int {
	if n == 0 {
		work()
		return 0
	}
	return deep(n-1, work) + 1
}

// sites allocates at about n stacks that differ.
func sites(n int) {
	for i := range n {
		fork(uint(i), 17)
	}
}

//go:noinline
func fork(way uint, depth int) int {
	if depth == 0 {
		sink = make([]byte, 64<<10) // well above any sampling rate here
		return 0
	}
	if way&1 == 0 {
		return fork(way>>1, depth-1) + 1
	}
	return fork(way>>1, depth-1) + 2 // another program counter
}

// publish makes the memory profile show all that has been allocated.
func publish() {
	runtime.GC()
	runtime.GC()
}
