package profiler

import (
	"bytes"
	"testing"
	"time"

	"github.com/google/pprof/profile"
)

func TestMerge(t *testing.T) {
	encode := func(p *profile.Profile) []byte {
		var b bytes.Buffer
		if err := p.Write(&b); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	var all [][]byte
	for range 49 {
		all = append(all, encode(fabricate(map[string]int64{"main.work": 10}, nil)))
	}
	for _, n := range []int{2, 15, len(all)} {
		w := merged(all[:n]...)
		if w.Outcome != OK {
			t.Fatal(w.Reason)
		}
		p := parse(t, w.Bytes())
		if samples, _ := sampled(p); samples != int64(10*n) || p.DurationNanos != int64(n)*10e9 || p.Period != period {
			t.Errorf("%d slices: %d samples, %v, period %d", n, samples, time.Duration(p.DurationNanos), p.Period)
		}
	}

	empty := encode(fabricate(nil, nil))
	if w := merged(empty, empty); w.Outcome != OK || len(parse(t, w.Bytes()).Sample) != 0 {
		t.Errorf("two empty slices: %s", w.Reason)
	}
	if w := merged(all[0], []byte("garbage")); w.Outcome != Broken || !w.IsEmpty() {
		t.Errorf("garbage: %v", w.Outcome)
	}
	foreign := encode(fabricate(nil, func(p *profile.Profile) { p.Period = 1 }))
	if w := merged(all[0], foreign); w.Outcome != Rate || !w.IsEmpty() {
		t.Errorf("a foreign rate: %v", w.Outcome)
	}
	odd := encode(fabricate(nil, func(p *profile.Profile) { p.SampleType = p.SampleType[:1] }))
	if w := merged(all[0], odd); w.Outcome != Broken || !w.IsEmpty() {
		t.Errorf("other sample types: %v", w.Outcome)
	}
}

func merged(slices ...[]byte) (w Window) {
	w.merge(slices)
	return w
}
