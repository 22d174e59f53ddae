package decode

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protowire"
)

// TestField is about the numbers that field reads without a call, up to where
// they end, and about the first that it does not: they must all read the same.
func TestField(t *testing.T) {
	numbers := map[string][]byte{ // 1 may be written longer than it must
		"padded by 1": {profileTime, 0x81, 0},
		"padded by 2": {profileTime, 0x81, 0x80, 0},
		"padded by 3": {profileTime, 0x81, 0x80, 0x80, 0},
		"padded by 4": {profileTime, 0x81, 0x80, 0x80, 0x80, 0},
	}
	for bits := range 64 {
		for _, v := range []uint64{1<<bits - 1, 1 << bits, 1<<bits + 1} {
			b := protowire.AppendVarint([]byte{profileTime}, v)
			numbers[fmt.Sprint(v)] = b
		}
	}
	for name, b := range numbers {
		want, n := protowire.ConsumeVarint(b[1:])
		for _, rest := range []int{0, 1, 2, 3} {
			message := append(b[:len(b):len(b)], make([]byte, rest)...)
			tag, v, next := field(message, 0)
			if tag != profileTime || v != want || next != 1+n {
				t.Errorf("field(%x) of %q is %d, %d, %d, want %d, %d, %d", message, name, tag, v, next, profileTime, want, 1+n)
			}
			if _, _, next = field(message[:n], 0); next != badVarint {
				t.Errorf("field(%x), cut off, ends at %d, want %d", message[:n], next, badVarint)
			}
		}
	}
	for _, size := range []int{0, 1, 127, 128, 1<<14 - 1, 1 << 14, 1<<21 - 1, 1 << 21} {
		b := protowire.AppendBytes([]byte{profileSample}, make([]byte, size))
		if tag, v, next := field(b, 0); tag != profileSample || v != uint64(size) || next != len(b) {
			t.Errorf("field of %d bytes is %d, %d, %d, want %d, %d, %d", size, tag, v, next, profileSample, size, len(b))
		}
		if _, _, next := field(b[:len(b)-1], 0); size > 0 && next != badLength {
			t.Errorf("field of %d bytes, cut off, ends at %d, want %d", size, next, badLength)
		}
	}
}

// TestStack is about ids of every length.
func TestStack(t *testing.T) {
	want := []int32{1, 1<<7 - 1, 1 << 7, 1<<14 - 1, 1 << 14, 1<<21 - 1, 1 << 21, 1<<22 - 1}
	var b []byte
	for _, id := range want {
		b = protowire.AppendVarint(b, uint64(id))
	}
	var x builder
	x.locationIDs.reset(1 << 22)
	for _, id := range want {
		x.locationIDs.dense[id] = id + 1
	}
	if err := x.stack(b); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, x.t.Stacks); diff != "" {
		t.Errorf("ids (-written +read):\n%s", diff)
	}
	for _, cut := range [][]byte{{0x80}, {0x80, 0x80}, {0x80, 0x80, 0x80}} {
		if err := x.stack(cut); err == nil {
			t.Errorf("stack(%x) has no end and is no error", cut)
		}
	}
}
