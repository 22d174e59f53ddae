package work_test

import (
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"

	"github.com/profguard/profguard/internal/decode"
	. "github.com/profguard/profguard/internal/work"
)

// Contention is recorded by one check at a time, and then as before.
func TestRecordContention(t *testing.T) {
	defer runtime.SetMutexProfileFraction(runtime.SetMutexProfileFraction(7))
	fraction := func(when string, want int) {
		t.Helper()
		if got := runtime.SetMutexProfileFraction(-1); got != want {
			t.Errorf("fraction %d %s, want %d", got, when, want)
		}
	}
	record := func(test string, mutex, block bool) func() {
		restore, err := RecordContention(test, mutex, block)
		if err != nil {
			t.Error(err)
		}
		return restore
	}
	record("TestA", false, true)()
	fraction("of a check of block", 7)
	first := record("TestA", true, false)
	fraction("while a check needs all events", 1)
	began := make(chan func())
	go func() { began <- record("TestAB", true, false) }()
	select {
	case <-began:
		t.Error("two checks record contention at a time")
	case <-time.After(10 * time.Millisecond):
	}
	first()
	(<-began)()
	fraction("afterwards", 7)
}

// A check within another one's work does not wait for its end, which waits for that work.
func TestRecordContentionWithin(t *testing.T) {
	restore, err := RecordContention("TestA", true, false)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []string{"TestA", "TestA/sub"} {
		if _, err := RecordContention(test, false, true); err == nil || !strings.Contains(err.Error(), "a check of TestA ") {
			t.Errorf("%s: %v", test, err)
		}
	}
	restore()
	if restore, err = RecordContention("TestA/sub", true, false); err != nil {
		t.Fatal(err)
	}
	restore()
}

// What a function has allocated counts also if it has less memory in use than before.
func TestGainedBesideFreedMemory(t *testing.T) {
	f := &profile.Function{ID: 1, Name: "shop.fill"}
	at := &profile.Location{ID: 1, Line: []profile.Line{{Function: f}}}
	taken := func(values ...int64) *profile.Profile {
		p := &profile.Profile{PeriodType: &profile.ValueType{Type: "space", Unit: "bytes"}, Function: []*profile.Function{f}, Location: []*profile.Location{at}, Sample: []*profile.Sample{{Location: []*profile.Location{at}, Value: values}}}
		for _, name := range []string{"alloc_objects", "alloc_space", "inuse_objects", "inuse_space"} {
			p.SampleType = append(p.SampleType, &profile.ValueType{Type: name, Unit: "count"})
		}
		return p
	}
	for _, tt := range []struct{ before, after, want []int64 }{
		{[]int64{10, 1000, 5, 500}, []int64{30, 3000, 1, 100}, []int64{20, 2000, 0, 0}},
		{[]int64{10, 1000, 5, 500}, []int64{10, 1000, 1, 100}, nil},
		{[]int64{10, 1000, 5, 500}, []int64{12, 1200, 6, 600}, []int64{2, 200, 1, 100}},
	} {
		p := Gained(Totals(tableOf(t, taken(tt.before...))), tableOf(t, taken(tt.after...)))
		var got []int64
		if len(p.Samples) > 0 {
			got = p.Values
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("from %v to %v: %v, want %v", tt.before, tt.after, got, tt.want)
		}
	}
}

func tableOf(t *testing.T, p *profile.Profile) *decode.Table {
	t.Helper()
	table, err := new(decode.Decoder).Profile(p)
	if err != nil {
		t.Fatal(err)
	}
	return table
}
