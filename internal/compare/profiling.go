package compare

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/reference"
	"github.com/profguard/profguard/internal/release"
)

const (
	// longestProfile is the wall time of one profile, for benchmarks that wait, and busy machines.
	longestProfile = 20 * time.Second

	// likeCalls is the ratio of costs up to which both sides make the same number of calls.
	likeCalls = 2

	// profiledPart is the part of the time that is left for profiles, if any benchmark fails.
	profiledPart = 4

	// timeIsUp is what is said of a benchmark without a profile, and noTimeForCPU of one with a profile of allocations.
	noTimeForCPU = "the time was up before its CPU time was profiled: a longer -time, or -bench with this one, names the functions"
	timeIsUp     = "the time was up before it was profiled: a longer -time, or -bench with this one, names the functions"
)

// profiledCPU is the CPU time of a side's profiles: a growth of 10% takes more samples to find than one
// of 50%.
func (m *comparison) profiledCPU(t *trial) time.Duration {
	if m.slice > 0 {
		return windows * 10 * m.slice
	}
	growth := max(t.cpu.all.Value(), 0.01)
	return min(max(time.Duration(0.03/growth/growth*float64(time.Second)), leastProfiled), mostProfiled)
}

// reserve is the time that profiles of the benchmarks that fail so far may take: a busy machine takes
// twice the CPU time of both sides.
func (m *comparison) reserve(list []*trial, limit time.Duration) (sum time.Duration) {
	n := 0
	for _, t := range list {
		if n < explained && t.failure == nil && t.pairs > 0 && t.breaks() {
			n, sum = n+1, sum+2*2*m.profiledCPU(t)
		}
	}
	return min(sum, limit/profiledPart)
}

// profileCalls are the calls of each side in a profile of so many seconds of CPU. If the sides cost
// about the same, both make as many, so that what a process does beside the calls is the same, too. Or
// else each side makes what fits into the time: the calls of the cheaper one would take hours on the
// other, and those of the dearer one would show nothing.
func (t *trial) profileCalls(seconds float64) (calls [2]int) {
	var cost, wall [2]float64
	for i := range cost {
		cost[i] = max(median(t.cpu.each[i]), 1e-10)
		wall[i] = median(t.walls[i]) / float64(t.n)
	}
	if max(cost[base], cost[head]) < likeCalls*min(cost[base], cost[head]) {
		cost[base] = max(cost[base], cost[head])
		wall[base] = max(wall[base], wall[head])
		cost[head], wall[head] = cost[base], wall[base]
	}
	for i := range calls {
		calls[i] = int(max(1, min(mostCalls, seconds/cost[i], longestProfile.Seconds()/max(wall[i], 1e-10))))
	}
	return calls
}

// A detail is how much a profile of allocations has of them.
type detail struct {
	depth int // frames of a stack, from the innermost one
	rate  int // bytes for each allocation that it has; 1 for all
}

// details are tried one after the other, until a profile is within the limits of package decode. A
// benchmark that allocates in recursion has another stack for each depth and way: the innermost frames
// tell the line as well, and all allocations are still counted. A part of them comes last.
var details = []detail{{128, 1}, {16, 1}, {16, 512}, {16, 16 << 10}, {16, 512 << 10}}

// inDetail takes the first profiles that are small enough.
func inDetail(take func(detail) error) (err error) {
	for _, d := range details {
		var limit *decode.LimitError
		if err = take(d); !errors.As(err, &limit) {
			break
		}
	}
	return err
}

// note says what a profile of allocations does not have.
func (d detail) note() string {
	if d.rate == 1 {
		return ""
	}
	return fmt.Sprintf("a profile of all allocations is too large: this one samples one per %d bytes, so the numbers are estimates", d.rate)
}

// with is the package whose binaries cut stacks at the depth.
func (d detail) with(p *pkg) *pkg {
	q := *p
	for i := range q.bins {
		setting := fmt.Sprintf("GODEBUG=%s,profstackdepth=%d", os.Getenv("GODEBUG"), d.depth)
		q.bins[i].Env = append(slices.Clone(q.bins[i].Env), strings.Replace(setting, "=,", "=", 1))
	}
	return &q
}

// file is the profile as it is kept. It says of which test binary it is, and how many calls it has, so that profguard diff
// and check compare both sides: their binaries have other names.
func (p *profiled) file(pkg, build string, at time.Time) []byte {
	s := &release.Side{Build: release.Build{Program: pkg + ".test", Version: build}}
	s.Pieces.Add(release.Piece{Samples: float64(p.table.Count()), CPU: p.clock.Seconds(), Work: map[string]float64{"call": float64(p.calls)}})
	return reference.EncodeWhole(s, p.table, at)
}
