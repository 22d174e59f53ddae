package decode

import (
	"encoding/binary"
	"math/bits"
)

// A huffman is a canonical prefix code, as deflate writes it.
type huffman struct {
	short   [1 << shortBits]code // codes by the next bits; 0 if the code is longer
	count   [maxBits + 1]uint16  // of codes, by their size
	symbols [maxLiterals]uint16  // in the order of their codes
}

const (
	// shortBits is the size up to which a code is looked up. Larger ones are rare: each
	// stands for less than a thousandth of the symbols.
	shortBits = 10
	// maxBits is the size of the largest code.
	maxBits = 15
)

// A code is a symbol, the number of its bits, and whether the symbol is a byte.
type code uint16

func newCode(symbol uint16, size int) code {
	c := code(symbol<<4) | code(size)
	if symbol < endOfBlock {
		c |= 1 << 15
	}
	return c
}

func (c code) size() uint8  { return uint8(c & 15) }
func (c code) symbol() int  { return int(c >> 4 & 511) }
func (c code) isByte() bool { return int16(c) < 0 }

// build makes the code with these sizes by symbol, 0 for symbols without a code. It returns
// false if some sequence of bits would have two meanings or none. A code of no
// symbol, or of one with a size of 1, is accepted.
func (h *huffman) build(sizes []uint8) bool {
	clear(h.short[:])
	clear(h.count[:])
	for _, size := range sizes {
		h.count[size]++
	}
	h.count[0] = 0
	var next, place [maxBits + 1]uint16 // by size: the next code, and its place among the symbols
	codes, all := 0, 0
	for size := 1; size <= maxBits; size++ {
		codes <<= 1
		next[size], place[size] = uint16(codes), uint16(all)
		codes += int(h.count[size])
		all += int(h.count[size])
		if codes > 1<<size {
			return false
		}
	}
	if complete := codes == 1<<maxBits; !complete && (all > 1 || all > int(h.count[1])) {
		return false
	}
	for symbol, size := range sizes {
		if size == 0 {
			continue
		}
		h.symbols[place[size]] = uint16(symbol)
		place[size]++
		first := bits.Reverse16(next[size]) >> (16 - size)
		next[size]++
		if size <= shortBits {
			for i := int(first); i < len(h.short); i += 1 << size {
				h.short[i] = newCode(uint16(symbol), int(size))
			}
		}
	}
	return true
}

// code is the code at the start of the next bits, or 0 if there is none.
func (h *huffman) code(next uint64) code {
	c := h.short[next%(1<<shortBits)]
	if c == 0 {
		c = h.long(next)
	}
	return c
}

// long looks up a code that is longer than shortBits.
func (h *huffman) long(next uint64) code {
	reversed := int(bits.Reverse16(uint16(next)))
	first, place := 0, 0 // the first code of a size, and its place among the symbols
	for size := 1; size <= maxBits; size++ {
		first <<= 1
		count := int(h.count[size])
		if i := reversed>>(16-size) - first; i < count {
			return newCode(h.symbols[place+i], size)
		}
		first += count
		place += count
	}
	return 0
}

// A bitReader takes bits from b, the lowest of each byte first.
type bitReader struct {
	b  []byte
	at int // the first byte of b that is not completely in bitBuffer
	bitBuffer
}

// A bitBuffer has the next bits. It is a value, which stays in registers.
type bitBuffer struct {
	bits uint64
	have int // the number of valid bits; below zero after the end
}

// low is the value of the next n bits.
func (b bitBuffer) low(n uint8) int { return int(b.bits & (1<<(n&63) - 1)) }

// drop leaves out the next n bits.
func (b bitBuffer) drop(n uint8) bitBuffer { return bitBuffer{b.bits >> (n & 63), b.have - int(n)} }

// fill makes at least 56 bits valid, if the input has so many. It continues the buffer b.
func (r *bitReader) fill(b bitBuffer) bitBuffer {
	if r.at+8 <= len(r.b) {
		b.bits |= binary.LittleEndian.Uint64(r.b[r.at:]) << (b.have & 63)
		r.at += (63 - b.have) >> 3
		b.have |= 56
		return b
	}
	for b.have <= 56 && r.at < len(r.b) {
		b.bits |= uint64(r.b[r.at]) << (b.have & 63)
		r.at++
		b.have += 8
	}
	return b
}

// get returns the next n bits, 16 at most.
func (r *bitReader) get(n int) int {
	b := r.fill(r.bitBuffer)
	r.bitBuffer = b.drop(uint8(n))
	return b.low(uint8(n))
}

// left is the number of bits to come.
func (r *bitReader) left() int { return r.have + 8*(len(r.b)-r.at) }
