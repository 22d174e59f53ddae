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
		{"ends close to each other", ds{500 * ms, 525 * ms}, nil, 525 * ms},
		{"ends not that close", ds{500 * ms, 526 * ms}, nil, 500 * ms},
		{"no chain of close ends", ds{500 * ms, 520 * ms, 540 * ms}, nil, 520 * ms},
		{"no slice below 50 ms", ds{1 * ms}, nil, 50 * ms},
		{"an end past due", ds{-5 * ms}, nil, 50 * ms},
		{"close to the 50 ms", ds{1 * ms, 60 * ms}, nil, 60 * ms},
		{"a joiner", ds{1000 * ms}, ds{300 * ms}, 300 * ms},
		{"an early joiner", ds{1000 * ms}, ds{10 * ms}, 50 * ms},
		{"a joiner from before the slice", ds{1000 * ms}, ds{-10 * ms}, 50 * ms},
		{"a joiner waits for an end", ds{1000 * ms}, ds{900 * ms}, 1000 * ms},
		{"a joiner does not wait longer", ds{1000 * ms}, ds{899 * ms}, 899 * ms},
		{"blocks fall into step", ds{100 * ms}, ds{1 * ms, 50 * ms}, 100 * ms},
		{"the impatient joiner decides", ds{1000 * ms}, ds{899 * ms, 950 * ms}, 899 * ms},
	}
	for _, test := range tests {
		if got := nextCut(test.ends, test.joins); got != test.want {
			t.Errorf("%s: ends %v, joins %v: cut at %v, want %v", test.name, test.ends, test.joins, got, test.want)
		}
	}
}
