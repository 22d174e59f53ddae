package check

import (
	"runtime"

	"github.com/profguard/profguard/internal/judge"
	"github.com/profguard/profguard/internal/process"
	"github.com/profguard/profguard/internal/unit"
	"github.com/profguard/profguard/internal/work"
)

// The quantities that are counted. A usage is the amount of each until now.
const (
	cpuSeconds = iota
	allocBytes
	allocCounts
)

type usage [3]float64

// A meter reads the counters.
type meter struct {
	mem     runtime.MemStats
	collect usage // what a collection takes
	look    usage // what a look at the goroutines takes
}

// usage reads the counters, without allocations of its own.
func (m *meter) usage() usage {
	runtime.ReadMemStats(&m.mem)
	return usage{process.ProcessCPU().Seconds(), float64(m.mem.TotalAlloc), float64(m.mem.Mallocs)}
}

// calibrate measures what a collection and a look at the goroutines take.
func (m *meter) calibrate(id string) {
	process.Force(1) // finalizers of what was there before are not work's
	before := m.usage()
	process.Force(1)
	collected := m.usage()
	work.AtWork(id)
	m.collect, m.look = collected.since(before), m.usage().since(collected)
}

func (u usage) since(earlier usage) usage {
	for q := range u {
		u[q] -= earlier[q]
	}
	return u
}

// beyond adds what was used beyond what the check itself uses at most.
func (u *usage) beyond(used, ours usage) {
	for q := range u {
		u[q] += max(0, used[q]-ours[q]-reading[q])
	}
}

// reading is the most that the check itself uses from one reading to the next. A collection or a
// look at the goroutines takes more.
var reading = usage{0.001, 64 << 10, 1000}

func quantityOf(r judge.Rule) int {
	switch r.Dimension {
	case unit.Bytes:
		return allocBytes
	case unit.Count:
		return allocCounts
	}
	return cpuSeconds
}

func isCPU(r judge.Rule) bool { return quantityOf(r) == cpuSeconds }

// liveHeap is the heap after two collections: some objects with finalizers or in pools are
// freed only by the second.
func liveHeap() float64 {
	process.Force(2)
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc)
}
