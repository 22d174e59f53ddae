package kinds

// maxGzip is how much of one profile is kept, compressed. It is what the decoder
// accepts: a profile that nobody can judge is not worth its memory. 100,000
// stacks are about 4 MiB.
const maxGzip = 8 << 20

// maxRaw is how much of one profile is kept inflated; also the decoder's.
const maxRaw = 32 << 20

// keepBuffer is the largest buffer that is kept from window to window. It holds
// the profiles of most services, and a guard that has seen one huge profile gives
// the memory back.
const keepBuffer = 1 << 20

// A buffer is the io.Writer behind a profile. It never fails, and holds at most
// limit bytes: more than that is a profile that is of no use.
type buffer struct {
	data  []byte
	limit int
	over  bool
}

// Write keeps p as far as there is room. It always reports success, because
// runtime/pprof has no use for an error and would go on all the same.
func (b *buffer) Write(p []byte) (int, error) {
	if len(b.data)+len(p) > b.limit {
		b.over, b.data = true, b.data[:0]
	}
	if !b.over {
		b.data = append(b.data, p...)
	}
	return len(p), nil
}

// reset empties the buffer for at most limit bytes.
func (b *buffer) reset(limit int) { b.data, b.limit, b.over = b.data[:0], limit, false }

// shrink gives a large array back.
func shrink(b []byte) []byte {
	if cap(b) > keepBuffer {
		return nil
	}
	return b[:0]
}
