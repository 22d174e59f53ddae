package decode

import (
	"encoding/binary"
	"hash/crc32"
)

// An inflater decompresses profiles as runtime/pprof writes them, and google/pprof nearly all:
// a gzip file of one member without optional fields in its header, of blocks that have codes
// of their own, and a last block that is empty. It writes directly into the buffer of the
// result. compress/gzip takes twice as long (BenchmarkParts), and judging a window with it is
// not 8 times as fast as profile.Parse and sums (BenchmarkJudge).
//
// It checks the same sums as compress/gzip, and leaves all other files to that.
type inflater struct {
	literals, distances, lengths huffman
}

// gunzip inflates the file b into buf and returns the number of bytes. It returns false if
// b is damaged or unusual, or if buf is too small.
func (f *inflater) gunzip(buf, b []byte) (n int, ok bool) {
	const header, trailer = 10, 8
	if len(b) < header+trailer || b[2] != 8 || b[3] != 0 { // another method, or optional fields
		return 0, false
	}
	end := b[len(b)-trailer:]
	in := bitReader{b: b[header : len(b)-trailer]}
	if n, ok = f.blocks(buf, &in); !ok || in.left() >= 8 { // there may be another member
		return 0, false
	}
	sum, size := binary.LittleEndian.Uint32(end), binary.LittleEndian.Uint32(end[4:])
	return n, size == uint32(n) && sum == crc32.ChecksumIEEE(buf[:n])
}

// blocks inflates all blocks of a member.
func (f *inflater) blocks(buf []byte, in *bitReader) (n int, ok bool) {
	for last := false; !last; {
		last = in.get(1) == 1
		switch in.get(2) {
		case 0: // not compressed
			in.get(in.have & 7) // up to the next byte
			size, inverted := in.get(16), in.get(16)
			ok = size == 0 && inverted == 0xffff
		case 2:
			if ok = f.codes(in); ok {
				n, ok = f.block(buf, n, in)
			}
		default:
			ok = false
		}
		if !ok {
			return 0, false
		}
	}
	return n, true
}

// Symbols of a block: the bytes, its end, and then the lengths of repetitions, each followed
// by a distance, which has a code of its own.
const (
	endOfBlock   = 256
	maxLiterals  = 286
	maxDistances = 30
)

// codes reads the codes of a block.
func (f *inflater) codes(in *bitReader) bool {
	order := [...]uint8{16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15}
	literals, distances, lengths := in.get(5)+257, in.get(5)+1, in.get(4)+4
	if literals > maxLiterals || distances > maxDistances {
		return false
	}
	var sizes [maxLiterals + maxDistances]uint8
	for _, symbol := range order[:lengths] {
		sizes[symbol] = uint8(in.get(3))
	}
	if !f.lengths.build(sizes[:len(order)]) {
		return false
	}
	clear(sizes[:len(order)])
	all := literals + distances
	for i := 0; i < all; {
		next := in.fill(in.bitBuffer)
		c := f.lengths.code(next.bits)
		if c == 0 {
			return false
		}
		in.bitBuffer = next.drop(c.size())
		symbol := c.symbol()
		size, times := uint8(symbol), 1
		switch {
		case symbol == 16 && i == 0:
			return false
		case symbol == 16: // repeat the last size
			size, times = sizes[i-1], 3+in.get(2)
		case symbol == 17:
			size, times = 0, 3+in.get(3)
		case symbol == 18:
			size, times = 0, 11+in.get(7)
		}
		if times > all-i {
			return false
		}
		for range times {
			sizes[i] = size
			i++
		}
	}
	return in.have >= 0 && f.literals.build(sizes[:literals]) && f.distances.build(sizes[literals:all])
}

// The values of symbols for lengths and distances: a base, to which the next bits are added.
var (
	lengthBase = [...]uint16{3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19, 23, 27, 31, 35, 43,
		51, 59, 67, 83, 99, 115, 131, 163, 195, 227, 258}
	lengthBits = [...]uint8{0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3,
		3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0}

	distanceBase = [...]uint16{1, 2, 3, 4, 5, 7, 9, 13, 17, 25, 33, 49, 65, 97, 129, 193, 257, 385,
		513, 769, 1025, 1537, 2049, 3073, 4097, 6145, 8193, 12289, 16385, 24577}
	distanceBits = [...]uint8{0, 0, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7,
		8, 8, 9, 9, 10, 10, 11, 11, 12, 12, 13, 13}
)

// block inflates a compressed block to buf[n:].
func (f *inflater) block(buf []byte, n int, r *bitReader) (int, bool) {
	in := r.bitBuffer
	for {
		in = r.fill(in)
		// Bytes are by far the most frequent symbols. A few of them are decoded together, if
		// their codes are short and there is room for all.
		const few = 5
		if len(buf)-n >= few && in.have >= few*shortBits {
			for range few {
				c := f.literals.short[in.bits%(1<<shortBits)]
				if !c.isByte() {
					break
				}
				in = in.drop(c.size())
				buf[n] = byte(c.symbol())
				n++
			}
			in = r.fill(in)
		}
		c := f.literals.code(in.bits)
		in = in.drop(c.size())
		if c == 0 || in.have < 0 {
			return 0, false
		}
		symbol := c.symbol()
		if symbol < endOfBlock {
			if n == len(buf) {
				return 0, false
			}
			buf[n] = byte(symbol)
			n++
			continue
		}
		if symbol == endOfBlock {
			r.bitBuffer = in
			return n, true
		}
		i := symbol - endOfBlock - 1
		length := int(lengthBase[i]) + in.low(lengthBits[i])
		in = in.drop(lengthBits[i])
		c = f.distances.code(in.bits)
		in = in.drop(c.size())
		symbol = c.symbol()
		distance := int(distanceBase[symbol]) + in.low(distanceBits[symbol])
		in = in.drop(distanceBits[symbol])
		if c == 0 || in.have < 0 || distance > n || length > len(buf)-n {
			return 0, false
		}
		end := n + length
		if distance >= 8 && len(buf)-end >= 8 { // up to seven bytes too many, which are overwritten or not used
			for ; n < end; n += 8 {
				binary.LittleEndian.PutUint64(buf[n:], binary.LittleEndian.Uint64(buf[n-distance:]))
			}
			n = end
			continue
		}
		for ; n < end; n++ { // the copy may overlap its source
			buf[n] = buf[n-distance]
		}
	}
}
