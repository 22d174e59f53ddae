package profiler

import (
	"io"
	"sync"
	"testing"
	"time"

	"github.com/google/pprof/profile"
	"go.uber.org/goleak"

	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/process"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// spy is the real profiler, watched.
type spy struct {
	realSystem
	started chan struct{} // one token for each start that succeeded

	mu            sync.Mutex
	starts, stops int
}

func (s *spy) start(w io.Writer) error {
	s.mu.Lock()
	s.starts++
	s.mu.Unlock()
	err := s.realSystem.start(w)
	if err == nil {
		s.started <- struct{}{}
	}
	return err
}

func (s *spy) stop() {
	s.mu.Lock()
	s.stops++
	s.mu.Unlock()
	s.realSystem.stop()
}

func (s *spy) count() (starts, stops int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.starts, s.stops
}

// realHub is a hub on the process's profiler. Tests that use it must not run in
// parallel, which is why none here does.
func realHub(t *testing.T) (*Hub, *spy) {
	t.Helper()
	if HeldByTest() {
		t.Skip("needs the profiler, which go test -cpuprofile holds")
	}
	s := &spy{started: make(chan struct{}, 1000)}
	return newHub(s, false), s
}

// spin keeps n goroutines busy until the test is over.
func spin(t *testing.T, n int) {
	t.Helper()
	done := make(chan struct{})
	var wg sync.WaitGroup
	for range n {
		wg.Go(func() {
			for x := 1; ; x = x*31 + 1 {
				select {
				case <-done:
					return
				default:
				}
			}
		})
	}
	t.Cleanup(func() {
		close(done)
		wg.Wait()
	})
}

// burn spends d of CPU time: how long that takes is the machine's business.
func burn(d time.Duration) {
	x := 1
	for end := process.ProcessCPU() + d; process.ProcessCPU() < end; {
		for range 100_000 {
			x = x*31 + 1
		}
	}
	if x == 0 {
		panic("an odd number times an odd number plus one, and so on, hit zero")
	}
}

// checked applies Check to a window that has data.
func checked(t *testing.T, w Window) Window {
	t.Helper()
	if w.Outcome != OK {
		return w
	}
	var d decode.Decoder
	table, err := w.Source.Table(&d)
	if err != nil {
		t.Fatalf("decode window: %v", err)
	}
	Check(&w, table)
	return w
}

// parse reads a profile with the reference parser.
func parse(t *testing.T, data []byte) *profile.Profile {
	t.Helper()
	p, err := profile.ParseData(data)
	if err != nil {
		t.Fatalf("parse profile of %d bytes: %v", len(data), err)
	}
	return p
}

// sampled is the number of samples in p and the CPU time that they stand for.
func sampled(p *profile.Profile) (samples int64, cpu time.Duration) {
	for _, s := range p.Sample {
		samples += s.Value[0]
		cpu += time.Duration(s.Value[1])
	}
	return samples, cpu
}
