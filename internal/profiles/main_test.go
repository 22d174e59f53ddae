package profiles

import (
	"bytes"
	"io"
	"math"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/pprof/profile"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	// Sampling often makes the numbers of the tests steady. It must be
	// set before anything is allocated that they count.
	runtime.MemProfileRate = 4096
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("github.com/profguard/profguard/internal/profiles.lost"))
}

// fakeSource is a process whose figures and profiles a test sets.
type fakeSource struct {
	waits    time.Duration
	mu       sync.Mutex
	clock    time.Time
	cost     time.Duration // of each write
	lacks    string
	profiles map[string]*profile.Profile
	bytes    []byte // written instead of a profile
	fails    error
	writes   int

	stacks    map[string]int
	buckets   int64
	gcs       uint64
	memRate   int
	mutexRate int
}

func newFake() *fakeSource {
	return &fakeSource{
		clock: time.Unix(1000, 0), cost: time.Millisecond, memRate: 512 << 10,
		profiles: map[string]*profile.Profile{}, stacks: map[string]int{},
	}
}

func (f *fakeSource) now() time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.clock
}

// pass lets time go by, with a collection in it.
func (f *fakeSource) pass(d time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.clock, f.gcs = f.clock.Add(d), f.gcs+1
}

func (f *fakeSource) has(k string) bool     { return k != f.lacks && k != "nonesuch" }
func (f *fakeSource) count(k string) int    { return f.stacks[k] }
func (f *fakeSource) bucketBytes() int64    { return f.buckets }
func (f *fakeSource) collections() uint64   { return f.gcs }
func (f *fakeSource) memProfileRate() int   { return f.memRate }
func (f *fakeSource) waited() time.Duration { return f.waits }

func (f *fakeSource) setMutexFraction(n int) int {
	old := f.mutexRate
	if n >= 0 {
		f.mutexRate = n
	}
	return old
}

func (f *fakeSource) write(k string, w io.Writer) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.writes++
	f.clock = f.clock.Add(f.cost)
	if f.fails != nil {
		return f.fails
	}
	if f.bytes != nil {
		_, err := w.Write(f.bytes)
		return err
	}
	p := f.profiles[k]
	if p == nil {
		p = memoryProfile()
	}
	return p.Write(w)
}

// record is one stack of a made-up profile.
type record struct {
	function string
	size     int64
	values   []int64
}

// memoryProfile makes a heap profile as the runtime writes them.
func memoryProfile(records ...record) *profile.Profile {
	return made([]*profile.ValueType{
		{Type: "alloc_objects", Unit: "count"}, {Type: "alloc_space", Unit: "bytes"},
		{Type: "inuse_objects", Unit: "count"}, {Type: "inuse_space", Unit: "bytes"},
	}, &profile.ValueType{Type: "space", Unit: "bytes"}, 512<<10, records)
}

// contentionProfile makes a mutex or block profile.
func contentionProfile(records ...record) *profile.Profile {
	return made([]*profile.ValueType{
		{Type: "contentions", Unit: "count"}, {Type: "delay", Unit: "nanoseconds"},
	}, &profile.ValueType{Type: "contentions", Unit: "count"}, 1, records)
}

func made(types []*profile.ValueType, periodType *profile.ValueType, period int64, records []record) *profile.Profile {
	p := &profile.Profile{SampleType: types, PeriodType: periodType, Period: period, TimeNanos: 1}
	m := &profile.Mapping{ID: 1, Start: 1, Limit: math.MaxInt32, File: "/bin/program", BuildID: "build", HasFunctions: true}
	p.Mapping = append(p.Mapping, m)
	where := map[string]*profile.Location{}
	for _, r := range records {
		l := where[r.function]
		if l == nil {
			id := uint64(len(p.Location) + 1)
			fn := &profile.Function{ID: id, Name: r.function, SystemName: r.function, Filename: r.function + ".go"}
			// The program counter belongs to the function, whatever its number is.
			pc := uint64(0)
			for _, c := range r.function {
				pc = pc<<7 | uint64(c)
			}
			l = &profile.Location{ID: id, Mapping: m, Address: pc % math.MaxInt32, Line: []profile.Line{{Function: fn, Line: 7}}}
			where[r.function] = l
			p.Function, p.Location = append(p.Function, fn), append(p.Location, l)
		}
		s := &profile.Sample{Location: []*profile.Location{l}, Value: r.values}
		if r.size != 0 {
			s.NumLabel = map[string][]int64{"bytes": {r.size}}
		}
		p.Sample = append(p.Sample, s)
	}
	return p
}

// runtimeProfile is what runtime/pprof writes at this moment.
func runtimeProfile(t testing.TB, k string) *profile.Profile {
	t.Helper()
	var b bytes.Buffer
	if err := (runtimeSource{}).write(k, &b); err != nil {
		t.Fatal(err)
	}
	return parsed(t, b.Bytes())
}

func parsed(t testing.TB, data []byte) *profile.Profile {
	t.Helper()
	p, err := profile.ParseData(data)
	if err != nil {
		t.Fatalf("parse profile of %d bytes: %v", len(data), err)
	}
	if err := p.CheckValid(); err != nil {
		t.Fatalf("check profile: %v", err)
	}
	return p
}

// newTaker is a taker that is closed when the test ends.
func newTaker(t testing.TB, src source) *Taker {
	t.Helper()
	taker := &Taker{src: src}
	t.Cleanup(taker.Close)
	return taker
}

// What the sentences of refusals say.
const (
	unavailable       = "the runtime was built without it"
	rateZero          = "0"
	neverBlocked      = "block profiling is off"
	rateChanged       = "set it once"
	tooManyGoroutines = "goroutines, and profiles are taken of up to"
	tooManyStacks     = "raise "
	isFirst           = "this is the first"
	noCollection      = "none has ended"
)

// wantRefused checks the reason of a refusal.
func wantRefused(t *testing.T, err error, want string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Fatalf("error is %v, want one that says %q", err, want)
	}
}

// begin takes the totals that are subtracted from the next. There may be some already.
func begin(t testing.TB, taker *Taker, k string) {
	t.Helper()
	if _, err := taker.Take(k); err != nil && !strings.Contains(err.Error(), isFirst) && !strings.Contains(err.Error(), noCollection) {
		t.Fatal(err)
	}
}

func take(t testing.TB, taker *Taker, k string) Profile {
	t.Helper()
	p, err := taker.Take(k)
	if err != nil {
		t.Fatal(err)
	}
	return p
}
