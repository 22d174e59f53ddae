package decode

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/profguard/profguard/internal/process"
)

// message appends a field that holds the given bytes.
func message(b []byte, field protowire.Number, content []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(b, field, protowire.BytesType), content)
}

func number(b []byte, field protowire.Number, v uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(b, field, protowire.VarintType), v)
}

// numbers is a message of varint fields 1, 2, ...
func numbers(vs ...uint64) []byte {
	var b []byte
	for i, v := range vs {
		b = number(b, protowire.Number(i+1), v)
	}
	return b
}

func packed(vs ...uint64) []byte {
	var b []byte
	for _, v := range vs {
		b = protowire.AppendVarint(b, v)
	}
	return b
}

// minimal is a valid profile: one type, one sample, one location, one function
// called "main.f".
func minimal() []byte {
	var b []byte
	for _, s := range []string{"", "samples", "count", "main.f"} {
		b = message(b, 6, []byte(s))
	}
	b = message(b, 1, numbers(1, 2))
	b = message(b, 2, numbers(1, 7))
	b = message(b, 4, message(numbers(1), 4, numbers(1, 10)))
	return message(b, 5, numbers(1, 3))
}

// bomb inflates to size bytes that are unit again and again, after start. It is
// made of many copies of one part of a deflate stream, which takes no time.
func bomb(t testing.TB, start, unit []byte, size int) []byte {
	t.Helper()
	chunk := bytes.Repeat(unit, (1<<20)/len(unit)+1)
	n := size/len(chunk) + 1
	part := func(content []byte) []byte {
		var b bytes.Buffer
		w, err := flate.NewWriter(&b, flate.BestSpeed)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(content); err != nil {
			t.Fatal(err)
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	sum := crc32.ChecksumIEEE(start)
	for range n {
		sum = crc32.Update(sum, crc32.IEEETable, chunk)
	}
	file := slices.Concat(gzipped(t, nil)[:10], part(start), bytes.Repeat(part(chunk), n), []byte{1, 0, 0, 0xff, 0xff})
	file = binary.LittleEndian.AppendUint32(file, sum)
	return binary.LittleEndian.AppendUint32(file, uint32(len(start)+n*len(chunk)))
}

// nested is a profile of 8 M items within one message of the given field.
func nested(field protowire.Number, head, item []byte) []byte {
	return message(minimal(), field, append(head, bytes.Repeat(item, (8<<20)/len(item))...))
}

// sparse is a profile with n locations whose ids are far apart, and samples
// that use them all.
func sparse(n int) []byte {
	b := minimal()
	var stack []byte
	for i := range n {
		id := uint64(i+2) << 40
		b = message(b, 4, message(numbers(id), 4, numbers(1, 10)))
		stack = protowire.AppendVarint(stack, id)
		if i%64 == 63 {
			b = message(b, 2, number(message(nil, 1, stack), 2, 1))
			stack = stack[:0]
		}
	}
	return b
}

// distinct is a profile with n functions that all have names and files of their own.
func distinct(n int) []byte {
	b := minimal()
	for i := range n {
		b = message(b, 6, fmt.Appendf(nil, "example.com/some/package/name.function%d", i))
		b = message(b, 6, fmt.Appendf(nil, "/src/example.com/some/package/name/file%d.go", i))
		b = message(b, 5, numbers(uint64(i+2), uint64(2*i+4), 0, uint64(2*i+5), 1))
	}
	return b
}

// members is a gzip file of n members of a small field each, and the given bytes.
func members(t testing.TB, n int, raw []byte) []byte {
	return append(bytes.Repeat(gzipped(t, message(nil, 31, nil)), n), gzipped(t, raw)...)
}

// unnamed is a profile with n locations without symbols, each in a mapping of its own, of
// all of which this is the file.
func unnamed(n int, file []byte) []byte {
	b := message(minimal(), 6, file)
	for i := range n {
		b = message(b, 3, number(numbers(uint64(i+1)), 5, 4))
		b = message(b, 4, numbers(uint64(i+2), uint64(i+1)))
	}
	return b
}

// wide is a profile with types sample types, and samples that have a value of each.
func wide(types, samples int) []byte {
	b := append(minimal()[:0:0], message(message(nil, 6, nil), 6, []byte("x"))...)
	b = append(b, bytes.Repeat(message(nil, 1, numbers(1, 1)), types)...)
	return append(b, bytes.Repeat(message(nil, 2, message(nil, 2, make([]byte, types))), samples)...)
}

// labelled is a profile with n samples that have the same labels, of a long text.
func labelled(n, labels int, text []byte) []byte {
	b := message(minimal(), 6, text)
	return append(b, bytes.Repeat(message(nil, 2, append(numbers(1, 7), bytes.Repeat(message(nil, 3, numbers(4, 4)), labels)...)), n)...)
}

// readOnce is the CPU time for reading 32 MiB as varints, the most that a profile may
// hold: some 70 ms. Limits in multiples of it hold on any machine, a busy one too. It is
// 0 where the system does not say.
func readOnce() time.Duration {
	data := make([]byte, 32<<20)
	start := process.ProcessCPU()
	for rest := data; len(rest) > 0; {
		_, n := binary.Uvarint(rest)
		rest = rest[n:]
	}
	return process.ProcessCPU() - start
}

// TestFault_35_36_Bombs: whatever comes in, a decoder that has seen nothing yet
// allocates at most 64 MiB, and takes no longer than reading 32 MiB fifteen times:
// about a second.
func TestFault_35_36_Bombs(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a minute of a busy machine under -race")
	}
	once := readOnce()
	liar := gzipped(t, minimal())
	binary.LittleEndian.PutUint32(liar[len(liar)-4:], 1<<31)
	for _, c := range []struct {
		name string
		much string // what there is too much of; "" for another error, "ok" for none
		data []byte
	}{
		{"gzip bomb", "bytes after decompression", bomb(t, nil, make([]byte, 1), 100<<20)},
		{"gzip bomb below the limit", "", bomb(t, nil, make([]byte, 1), 30<<20)},
		{"gzip bomb in two members", "", append(bomb(t, nil, []byte("x"), 30<<20), bomb(t, nil, []byte("x"), 30<<20)...)},
		{"gzip of many members", "", members(t, 8<<20/32, minimal())},
		{"gzip that lies about its size", "", liar},
		{"one huge unknown field", "ok", gzipped(t, message(minimal(), 31, make([]byte, 30<<20)))},
		{"empty types", "bytes of memory", bomb(t, minimal(), message(nil, 1, nil), 30<<20)},
		{"empty samples", "samples", bomb(t, minimal(), message(nil, 2, nil), 30<<20)},
		{"empty mappings", "bytes of memory", bomb(t, minimal(), message(nil, 3, nil), 30<<20)},
		{"empty locations", "bytes of memory", bomb(t, minimal(), message(nil, 4, nil), 30<<20)},
		{"empty functions", "bytes of memory", bomb(t, minimal(), message(nil, 5, nil), 30<<20)},
		{"empty strings", "bytes of memory", bomb(t, minimal(), message(nil, 6, nil), 30<<20)},
		{"empty period types", "ok", bomb(t, minimal(), message(nil, 11, nil), 30<<20)},
		{"comments", "bytes of memory", bomb(t, minimal(), number(nil, 13, 0), 30<<20)},
		{"empty labels in one sample", "bytes of memory", gzipped(t, nested(2, numbers(1, 7), message(nil, 3, nil)))},
		{"empty labels in many samples", "bytes of memory", bomb(t, minimal(), message(nil, 2, append(numbers(1, 7), bytes.Repeat(message(nil, 3, nil), 32)...)), 13<<20)},
		{"4M frames in one sample", "frames in one stack", gzipped(t, nested(2, number(nil, 2, 1), number(nil, 1, 1)))},
		{"6M packed frames in one sample", "frames in one stack", gzipped(t, message(minimal(), 2, number(message(nil, 1, bytes.Repeat([]byte{1}, 6<<20)), 2, 1)))},
		{"many packed frames in many samples", "bytes of memory", bomb(t, minimal(), message(nil, 2, number(message(nil, 1, bytes.Repeat([]byte{1}, 1000)), 2, 1)), 30<<20)},
		{"8M values in one sample", "", gzipped(t, message(minimal(), 2, message(nil, 2, bytes.Repeat([]byte{1}, 8<<20))))},
		{"8M lines in one location", "bytes of memory", gzipped(t, nested(4, numbers(2), message(nil, 4, nil)))},
		{"unknown sparse ids", "", gzipped(t, message(minimal(), 2, message(nil, 1, packed(1<<40, 1<<41, 1<<42))))},
		{"sparse ids", "ok", gzipped(t, sparse(300_000))},
		{"distinct names", "ok", gzipped(t, distinct(80_000))},
		{"more distinct names", "bytes of memory", gzipped(t, distinct(199_000))},
		{"a huge name", "bytes in a name", gzipped(t, message(message(minimal(), 6, make([]byte, 20<<20)), 5, numbers(2, 4)))},
		{"one huge file of many mappings", "bytes in a name", gzipped(t, unnamed(200_000, bytes.Repeat([]byte("x"), 16<<20)))},
		{"one huge file without a name of many mappings", "ok", gzipped(t, unnamed(200_000, bytes.Repeat([]byte("/"), 16<<20)))},
		{"many types and values", "bytes of memory", gzipped(t, wide(5000, 3000))},
		{"many types in a few samples", "values of a sample", gzipped(t, wide(100_000, 30))},
		{"a huge label of many samples", "ok", gzipped(t, labelled(100_000, 8, bytes.Repeat([]byte("x"), 10<<20)))},
		{"too much input", "bytes of input", make([]byte, 9<<20)},
	} {
		t.Run(c.name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			start := process.ProcessCPU()
			var d Decoder
			// A reader without a length is the dearer one.
			_, err := d.Decode(struct{ io.Reader }{bytes.NewReader(c.data)})
			took := process.ProcessCPU() - start
			runtime.ReadMemStats(&after)
			spent := after.TotalAlloc - before.TotalAlloc
			t.Logf("%d KiB of input: %.1f MiB allocated, %v: %v", len(c.data)>>10, float64(spent)/(1<<20), took.Round(time.Millisecond), err)
			if took > 15*once {
				t.Errorf("%v of CPU time, %.1f times that of reading 32 MiB; want at most 15", took, float64(took)/float64(once))
			}
			if spent > 64<<20 {
				t.Errorf("allocated %.1f MiB, want at most 64", float64(spent)/(1<<20))
			}
			var limit *LimitError
			switch {
			case c.much == "ok":
				if err != nil {
					t.Errorf("error %v, want none", err)
				}
			case err == nil:
				t.Error("no error")
			case c.much != "" && (!errors.As(err, &limit) || !strings.HasPrefix(limit.What, c.much)):
				t.Errorf("error %v, want too many %s", err, c.much)
			}
		})
	}
}
