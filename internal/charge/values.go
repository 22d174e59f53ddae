package charge

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/pattern"
)

// MostValues is the most values of a label that are told apart. With more, they are rather the IDs of
// requests or users.
const MostValues = 1000

// longestValue is how many bytes of a value reports show: a client may choose it.
const longestValue = 100

// What a sample is charged to that no value of a label is.
const (
	noValue  int32 = -1 - iota // it has none
	accepted                   // its value is accepted
	beyond                     // its value is not among those with the most
)

// values are those that a label has in the open profile. Keys are not those of other profiles.
type values struct {
	read    bool
	of      []int32 // by sample: a key, or one of the constants
	names   []string
	ids     map[string]int32
	crowded bool
}

// valuesOf are those of a label, by its number.
func (c *Counter) valuesOf(label int32) *values {
	v := &c.values[label]
	if !v.read {
		v.learn(c.table, &c.Labels[label])
	}
	return v
}

// learn numbers the values, those with the most first, so that they are bounded whatever a client
// sends.
func (v *values) learn(t *decode.Table, label *LabelValues) {
	if v.ids == nil {
		v.ids = map[string]int32{}
	}
	clear(v.ids)
	v.read, v.crowded, v.names, v.of = true, false, v.names[:0], slices.Grow(v.of[:0], len(t.Samples))[:len(t.Samples)]
	sums := map[int32]int64{} // by number of a string
	for i := range t.Samples {
		if v.of[i] = valueOf(t, &t.Samples[i], label.Label); v.of[i] > 0 {
			sums[v.of[i]] = decode.AddSaturating(sums[v.of[i]], max(t.Values[i*len(t.Types)], 0))
		}
	}
	keys := map[int32]int32{0: noValue}
	for _, text := range ranked(t, sums) {
		if keys[text] = v.key(string(t.String(text)), label); keys[text] == beyond && len(label.Except) == 0 {
			break // so are all that follow
		}
	}
	for i, text := range v.of {
		key, known := keys[text]
		if !known {
			key = beyond
		}
		v.of[i] = key
	}
}

// key is the key of a value, which is the next one if the value is new.
func (v *values) key(raw string, label *LabelValues) int32 {
	name := Shown(raw)
	if slices.Contains(label.Except, raw) || slices.Contains(label.Except, name) {
		return accepted
	}
	key, known := v.ids[name]
	switch {
	case known:
		return key
	case len(v.names) == MostValues:
		v.crowded = true
		return beyond
	}
	key = int32(len(v.names))
	v.ids[name], v.names = key, append(v.names, name)
	return key
}

// ranked are the strings with the largest sums first, and equal ones by their text.
func ranked(t *decode.Table, sums map[int32]int64) []int32 {
	list := make([]int32, 0, len(sums))
	for text := range sums {
		list = append(list, text)
	}
	slices.SortFunc(list, func(a, b int32) int {
		return cmp.Or(cmp.Compare(sums[b], sums[a]), slices.Compare(t.String(a), t.String(b)))
	})
	return list
}

// valueOf is the number of the string that a sample has as a label, 0 for none.
func valueOf(t *decode.Table, s *decode.Sample, label string) int32 {
	for _, l := range t.Labels[s.LabelLo:s.LabelHi] {
		if string(t.String(l.Key)) == label {
			return l.Str
		}
	}
	return 0
}

// Shown is a value as reports have it: in one line, and of a long one the beginning, with a hash, so
// that two values never look the same.
func Shown(value string) string {
	text := pattern.Clipped(value, longestValue)
	if text == value {
		return value
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(value))
	return fmt.Sprintf("%s#%08x", text, h.Sum32())
}

// IsPart reports whether a value is what [Shown] has made of another one.
func IsPart(shown string) bool {
	at := strings.LastIndexByte(shown, '#')
	return at >= 0 && len(shown)-at == len("#00000000") && (at >= longestValue || strings.ContainsRune(shown[:at], unicode.ReplacementChar))
}

// Largest are amounts by value as reports show it, of those values that have the most.
func Largest(amounts map[string]float64) map[string]float64 {
	values := slices.SortedFunc(maps.Keys(amounts), func(a, b string) int {
		return cmp.Or(cmp.Compare(amounts[b], amounts[a]), cmp.Compare(a, b))
	})
	shown := map[string]float64{}
	for _, value := range values[:min(len(values), MostValues)] {
		shown[Shown(strings.Clone(value))] += amounts[value]
	}
	return shown
}

// valueKey is the value that the loaded stack is charged to. Where it is not known whether the stack is
// within "in", it is charged to none.
func (c *Counter) valueKey(q *Query) []int32 {
	key := c.valuesOf(q.Of).of[c.stack.sample]
	if key < 0 || !c.stack.inside {
		return nil
	}
	c.list = append(c.list[:0], key)
	return c.list
}

// addValue notes what a sample is of the label.
func (s *Sums) addValue(v *values, sample int, value int64) {
	if s.Crowded = v.crowded; v.of[sample] == noValue {
		s.Without = decode.AddSaturating(s.Without, value)
	}
}

// Within calls f with the number of a query about what another query counts of one value of its label.
func (c *Counter) Within(query int, of int32, key int32, f func(query int)) {
	q := c.queries[query]
	q.Of, q.Only = of, key+1
	c.queries, c.answers = append(c.queries, q), append(c.answers, Sums{})
	f(len(c.queries) - 1)
	c.queries, c.answers = c.queries[:len(c.queries)-1], c.answers[:len(c.answers)-1]
}
