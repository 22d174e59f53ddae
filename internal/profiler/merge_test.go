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
		data, lost := merge(all[:n])
		if lost != nil {
			t.Fatal(lost)
		}
		p := parse(t, data)
		if samples, _ := sampled(p); samples != int64(10*n) || p.DurationNanos != int64(n)*10e9 || p.Period != period {
			t.Errorf("%d slices: %d samples, %v, period %d", n, samples, time.Duration(p.DurationNanos), p.Period)
		}
	}

	empty := encode(fabricate(nil, nil))
	if data, lost := merge([][]byte{empty, empty}); lost != nil || len(parse(t, data).Sample) != 0 {
		t.Errorf("two empty slices: %v", lost)
	}
	if _, lost := merge([][]byte{all[0], []byte("garbage")}); lost == nil || lost.Outcome != Broken {
		t.Errorf("garbage: %v", lost)
	}
	foreign := encode(fabricate(nil, func(p *profile.Profile) { p.Period = 1 }))
	if _, lost := merge([][]byte{all[0], foreign}); lost == nil || lost.Outcome != Rate {
		t.Errorf("a foreign rate: %v", lost)
	}
	odd := encode(fabricate(nil, func(p *profile.Profile) { p.SampleType = p.SampleType[:1] }))
	if _, lost := merge([][]byte{all[0], odd}); lost == nil || lost.Outcome != Broken {
		t.Errorf("other sample types: %v", lost)
	}
}
