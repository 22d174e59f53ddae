package binary

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestHeaped(t *testing.T) {
	got := heaped(`# example.com/shop/heap
heap/heap.go:9:6: can inline run
heap/heap.go:14:6: moved to heap: block
./heap/heap.go:15:12: &item{} escapes to heap
heap/heap.go:15:12: &item{} escapes to heap
heap/heap.go:16:7: make([]byte, n) does not escape
heap/heap.go:20:11: leaking param: to
/src/other.go:3:2: "a: b" escapes to heap
`)
	want := map[string]map[int][]string{
		"heap.go":  {14: {"moved to heap: block"}, 15: {"&item{} escapes to heap"}},
		"other.go": {3: {`"a: b" escapes to heap`}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
