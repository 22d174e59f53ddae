package profiles

import (
	"bytes"
	"compress/gzip"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/pprof/profile"

	"github.com/profguard/profguard/internal/kinds"
)

// flatten is the samples of a profile by function and size.
func flatten(p *profile.Profile) map[string][]int64 {
	m := map[string][]int64{}
	for _, s := range p.Sample {
		key := s.Location[0].Line[0].Function.Name
		if len(s.NumLabel["bytes"]) > 0 {
			key += " of " + time.Duration(s.NumLabel["bytes"][0]).String()
		}
		m[key] = append(m[key], s.Value...)
	}
	return m
}

func TestGrowth(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name          string
		kind          string
		before, after *profile.Profile
		want          map[string][]int64
		functions     int // that are left in the profile
	}{
		{
			name: "allocs grow, stay, appear", kind: kinds.Allocs,
			before:    memoryProfile(record{"grows", 8, []int64{10, 80, 1, 8}}, record{"stays", 8, []int64{5, 40, 5, 40}}),
			after:     memoryProfile(record{"stays", 8, []int64{5, 40, 0, 0}}, record{"new", 16, []int64{1, 16, 1, 16}}, record{"grows", 8, []int64{15, 120, 9, 72}}),
			want:      map[string][]int64{"grows of 8ns": {5, 40}, "new of 16ns": {1, 16}},
			functions: 2,
		},
		{
			name: "sizes at one place are apart", kind: kinds.Allocs,
			before:    memoryProfile(record{"f", 8, []int64{1, 8, 0, 0}}, record{"f", 16, []int64{1, 16, 0, 0}}),
			after:     memoryProfile(record{"f", 16, []int64{3, 48, 0, 0}}, record{"f", 8, []int64{1, 8, 0, 0}}),
			want:      map[string][]int64{"f of 16ns": {2, 32}},
			functions: 1,
		},
		{
			name: "stacks that look alike are added up", kind: kinds.Mutex,
			before:    contentionProfile(record{"f", 0, []int64{1, 10}}, record{"f", 0, []int64{2, 20}}),
			after:     contentionProfile(record{"f", 0, []int64{2, 20}}, record{"f", 0, []int64{4, 40}}),
			want:      map[string][]int64{"f": {3, 30}},
			functions: 1,
		},
		{
			name: "what shrinks is 0", kind: kinds.Block,
			before:    contentionProfile(record{"less", 0, []int64{9, 90}}, record{"half", 0, []int64{9, 90}}, record{"gone", 0, []int64{1, 1}}),
			after:     contentionProfile(record{"less", 0, []int64{1, 10}}, record{"half", 0, []int64{1, 100}}),
			want:      map[string][]int64{"half": {0, 10}},
			functions: 1,
		},
		{
			name: "nothing", kind: kinds.Mutex,
			before: contentionProfile(record{"f", 0, []int64{1, 10}}),
			after:  contentionProfile(record{"f", 0, []int64{1, 10}}),
			want:   map[string][]int64{},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := newFake()
			f.stacks[kinds.Block] = 1
			taker := newTaker(t, f)
			f.profiles[tt.kind] = tt.before
			begin(t, taker, tt.kind)
			f.pass(10 * time.Second)
			f.profiles[tt.kind] = tt.after
			got := take(t, taker, tt.kind)

			p := parsed(t, got.Bytes())
			if diff := cmp.Diff(tt.want, flatten(p)); diff != "" {
				t.Errorf("growth (-want +got):\n%s", diff)
			}
			if len(p.Function) != tt.functions || len(p.Location) != tt.functions {
				t.Errorf("%d functions and %d locations are left, want %d", len(p.Function), len(p.Location), tt.functions)
			}
			if len(p.SampleType) != 2 || p.SampleType[0].Type != tt.after.SampleType[0].Type || p.PeriodType.Type != tt.after.PeriodType.Type || p.Period != tt.after.Period {
				t.Errorf("types are %v, period %v %d", p.SampleType, p.PeriodType, p.Period)
			}
			if m := p.Mapping[0]; m.File != "/bin/program" || m.BuildID != "build" {
				t.Errorf("mapping is %+v", m)
			}
			if want := 10*time.Second + f.cost; got.Elapsed != want || p.DurationNanos != int64(want) || p.TimeNanos != time.Unix(1000, 0).UnixNano() {
				t.Errorf("window is %v, in the profile %v from %d, want %v", got.Elapsed, time.Duration(p.DurationNanos), p.TimeNanos, want)
			}
		})
	}
}

// A window goes on from the one before.
func TestWindowsJoin(t *testing.T) {
	t.Parallel()
	f := newFake()
	taker := newTaker(t, f)
	f.profiles[kinds.Mutex] = contentionProfile(record{"f", 0, []int64{1, 10}})
	begin(t, taker, kinds.Mutex)
	f.profiles[kinds.Mutex] = contentionProfile(record{"f", 0, []int64{2, 20}})
	take(t, taker, kinds.Mutex)
	f.pass(time.Minute)
	f.profiles[kinds.Mutex] = contentionProfile(record{"f", 0, []int64{5, 50}})
	p := take(t, taker, kinds.Mutex)
	if diff := cmp.Diff(map[string][]int64{"f": {3, 30}}, flatten(parsed(t, p.Bytes()))); diff != "" {
		t.Errorf("growth since the last end (-want +got):\n%s", diff)
	}
	if p.Elapsed != time.Minute+f.cost {
		t.Errorf("elapsed %v, want %v", p.Elapsed, time.Minute+f.cost)
	}
	if p.Rate != 10 {
		t.Errorf("rate %d, want 10", p.Rate)
	}
}

// A window of allocs without a collection is not lost: the next has it.
func TestNoCollection(t *testing.T) {
	t.Parallel()
	f := newFake()
	taker := newTaker(t, f)
	begin(t, taker, kinds.Allocs)
	f.clock = f.clock.Add(10 * time.Second)
	_, err := taker.Take(kinds.Allocs)
	wantRefused(t, err, noCollection)
	if f.writes != 1 {
		t.Errorf("%d profiles written, want the first", f.writes)
	}
	f.pass(10 * time.Second)
	if p := take(t, taker, kinds.Allocs); p.Elapsed != 20*time.Second+f.cost {
		t.Errorf("the next window is %v, want 20s", p.Elapsed)
	}
}

func gzipped(raw []byte) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	w.Write(raw)
	w.Close()
	return b.Bytes()
}

func TestSkips(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		do   func(f *fakeSource, taker *Taker) error
		want string
	}{
		{"unknown kind", func(f *fakeSource, taker *Taker) error { _, err := taker.Take("nonesuch"); return err }, unavailable},
		{"no goroutineleak", func(f *fakeSource, taker *Taker) error {
			f.lacks = kinds.GoroutineLeak
			_, err := taker.Take(kinds.GoroutineLeak)
			return err
		}, unavailable},
		{"the first", func(f *fakeSource, taker *Taker) error { _, err := taker.Take(kinds.Mutex); return err }, isFirst},
		{"heap sampling off", func(f *fakeSource, taker *Taker) error {
			f.memRate = 0
			_, err := taker.Take(kinds.Heap)
			return err
		}, rateZero},
		{"allocation sampling off", func(f *fakeSource, taker *Taker) error {
			f.memRate = 0
			_, err := taker.Take(kinds.Allocs)
			return err
		}, rateZero},
		{"allocation sampling changed", func(f *fakeSource, taker *Taker) error {
			taker.Take(kinds.Allocs)
			f.pass(time.Second)
			f.profiles[kinds.Allocs] = memoryProfile()
			f.profiles[kinds.Allocs].Period = 1
			_, err := taker.Take(kinds.Allocs)
			return err
		}, rateChanged},
		{"block never seen", func(f *fakeSource, taker *Taker) error { _, err := taker.Take(kinds.Block); return err }, neverBlocked},
		{"mutex fraction changed", func(f *fakeSource, taker *Taker) error {
			taker.Take(kinds.Mutex)
			f.mutexRate = 5
			_, err := taker.Take(kinds.Mutex)
			return err
		}, rateChanged},
		{"too many mutex stacks", func(f *fakeSource, taker *Taker) error {
			f.buckets = 32<<20 + 1
			_, err := taker.Take(kinds.Mutex)
			return err
		}, tooManyStacks},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := newFake()
			err := tt.do(f, newTaker(t, f))
			wantRefused(t, err, tt.want)
			t.Log(err)
		})
	}
}

// What the runtime fails to write, or what cannot be decoded within limits, is an error.
func TestErrors(t *testing.T) {
	t.Parallel()
	for name, data := range map[string][]byte{"no profile": []byte("this is not the gzip file you are looking for"), "empty": {}, "large when inflated": gzipped(make([]byte, 48<<20))} {
		f := newFake()
		f.bytes = data
		if _, err := newTaker(t, f).Take(kinds.Mutex); err == nil || strings.Contains(err.Error(), isFirst) {
			t.Errorf("%s: no error", name)
		}
	}
	f := newFake()
	f.fails = errors.ErrUnsupported
	if _, err := newTaker(t, f).Take(kinds.Heap); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("got %v, want the runtime's error", err)
	}
}

// After a window that broke there is nothing to hold the next against.
func TestBrokenWindowIsForgotten(t *testing.T) {
	t.Parallel()
	f := newFake()
	taker := newTaker(t, f)
	begin(t, taker, kinds.Mutex)
	f.bytes = []byte("broken broken broken broken")
	if _, err := taker.Take(kinds.Mutex); err == nil {
		t.Fatal("no error")
	}
	f.bytes = nil
	_, err := taker.Take(kinds.Mutex)
	wantRefused(t, err, isFirst)
	take(t, taker, kinds.Mutex)
}

// After a change of the rate the next window is good again.
func TestRateChangeIsOver(t *testing.T) {
	t.Parallel()
	f := newFake()
	taker := newTaker(t, f)
	begin(t, taker, kinds.Mutex)
	f.mutexRate = 5
	_, err := taker.Take(kinds.Mutex)
	wantRefused(t, err, rateChanged)
	f.profiles[kinds.Mutex] = contentionProfile(record{"f", 0, []int64{5, 50}})
	if p := take(t, taker, kinds.Mutex); p.Rate != 5 {
		t.Errorf("rate %d, want 5", p.Rate)
	}
}

func TestClosedTakerWorksAgain(t *testing.T) {
	t.Parallel()
	var zero Taker
	zero.Close()
	zero.Close()
	take(t, &zero, kinds.Goroutine)
}
