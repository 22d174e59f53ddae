package process

import (
	"runtime"
	"testing"
	"time"
)

// Waiting for a core counts.
func TestWaited(t *testing.T) {
	before := goroutinesWaited()
	done := make(chan bool)
	n := 8 * runtime.GOMAXPROCS(0)
	for range n { // more than there are cores for
		go func() {
			for range 20 {
				for end := time.Now().Add(time.Millisecond); time.Now().Before(end); {
					continue
				}
				runtime.Gosched()
			}
			done <- true
		}()
	}
	for range n {
		<-done
	}
	if waited := goroutinesWaited() - before; waited < 10*time.Millisecond {
		t.Errorf("%d goroutines waited %v for %d cores", n, waited, runtime.GOMAXPROCS(0))
	}
	if runtime.GOOS == "linux" && threadsWaited() == 0 {
		t.Error("the kernel tells nothing of how long threads waited")
	}
}
