package profiler

import (
	"testing"
	"time"
)

func TestNextCut(t *testing.T) {
	type ds = []time.Duration
	tests := []struct {
		name        string
		ends, joins ds
		want        time.Duration
	}{
		{"one end", ds{1000 * ms}, nil, 1000 * ms},
		{"the earlier end", ds{1000 * ms, 500 * ms}, nil, 500 * ms},
		{"no slice below 50 ms", ds{1 * ms}, nil, 50 * ms},
		{"an end past due", ds{-5 * ms}, nil, 50 * ms},
		{"a joiner", ds{1000 * ms}, ds{300 * ms}, 300 * ms},
		{"an early joiner", ds{1000 * ms}, ds{10 * ms}, 50 * ms},
		{"a joiner from before the slice", ds{1000 * ms}, ds{-10 * ms}, 50 * ms},
		{"a joiner waits for an end", ds{1000 * ms}, ds{900 * ms}, 1000 * ms},
		{"a joiner does not wait longer", ds{1000 * ms}, ds{899 * ms}, 899 * ms},
		{"blocks fall into step", ds{100 * ms}, ds{1 * ms, 50 * ms}, 100 * ms},
		{"the impatient joiner decides", ds{1000 * ms}, ds{899 * ms, 950 * ms}, 899 * ms},
	}
	for _, test := range tests {
		start := time.Now()
		var subs []*subscriber
		for _, join := range test.joins {
			subs = append(subs, &subscriber{since: start.Add(join)})
		}
		if _, wanted := nextCut(subs, start); wanted {
			t.Errorf("%s: a slice without members is wanted", test.name)
		}
		for _, end := range test.ends {
			subs = append(subs, &subscriber{member: true, w: Window{Asked: end + time.Second, Elapsed: time.Second}})
		}
		if got, wanted := nextCut(subs, start); got != test.want || !wanted {
			t.Errorf("%s: ends %v, joins %v: cut at %v, want %v", test.name, test.ends, test.joins, got, test.want)
		}
	}
}
