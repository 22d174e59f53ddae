package decode

import (
	"encoding/binary"
	"math/bits"
)

// This file reads the protobuf wire format. It does so by hand for speed, and to accept
// exactly what google/pprof accepts: any field numbers, and ten-byte varints, whose bits
// beyond the 64th are dropped.

// Wire types: the low three bits of a tag.
const (
	wireVarint  = 0
	wireFixed64 = 1
	wireBytes   = 2
	wireFixed32 = 5
)

// Positions that stand for errors; see wireError.
const (
	badVarint = -1 - iota
	badLength
	badType
)

func wireError(pos int) string {
	switch pos {
	case badVarint:
		return "a varint is cut off or longer than 10 bytes"
	case badLength:
		return "a field is longer than what is left of its message"
	}
	return "a field has an unknown wire type"
}

// uvarint reads the varint at b[i:] and returns the position after it, or a
// negative one.
func uvarint(b []byte, i int) (uint64, int) {
	if i < len(b) && b[i] < 0x80 {
		return uint64(b[i]), i + 1
	}
	return longUvarint(b, i)
}

func longUvarint(b []byte, i int) (uint64, int) {
	var v uint64
	for shift := 0; shift < 70 && i < len(b); shift += 7 {
		c := b[i]
		i++
		v |= uint64(c&0x7f) << shift
		if c < 0x80 {
			return v, i
		}
	}
	return 0, badVarint
}

// field reads the field at b[i:]: its tag (number and wire type), and its value
// if it is a varint, or its length if it is bytes, which then end at next.
// A negative next stands for an error.
//
// Nearly all fields have a tag of one byte and a value or length of one to four,
// which is addresses of programs up to 256 MiB; those are read without a call.
func field(b []byte, i int) (tag, v uint64, next int) {
	if i+1 < len(b) && b[i] < 0x80 {
		tag, v, next = uint64(b[i]), uint64(b[i+1]), i+2
		if v >= 0x80 && i+4 < len(b) {
			v, next = v&0x7f|uint64(b[i+2])<<7, i+3
			if v >= 1<<14 {
				v, next = v&(1<<14-1)|uint64(b[i+3])<<14, i+4
				if v >= 1<<21 {
					v, next = v&(1<<21-1)|uint64(b[i+4])<<21, i+5
				}
			}
		}
		if b[next-1] < 0x80 {
			switch tag & 7 {
			case wireVarint:
				return tag, v, next
			case wireBytes:
				if next += int(v); next <= len(b) {
					return tag, v, next
				}
			}
		}
	}
	return anyField(b, i)
}

func anyField(b []byte, i int) (tag, v uint64, next int) {
	tag, i = uvarint(b, i)
	if i < 0 {
		return 0, 0, i
	}
	switch tag & 7 {
	case wireVarint:
		v, i = uvarint(b, i)
		return tag, v, i
	case wireBytes:
		v, i = uvarint(b, i)
		if i < 0 {
			return 0, 0, i
		}
		if v > uint64(len(b)-i) {
			return 0, 0, badLength
		}
		return tag, v, i + int(v)
	case wireFixed64:
		if len(b)-i < 8 {
			return 0, 0, badLength
		}
		return tag, 0, i + 8
	case wireFixed32:
		if len(b)-i < 4 {
			return 0, 0, badLength
		}
		return tag, 0, i + 4
	}
	return 0, 0, badType
}

// varints counts the varints in a packed field by their last bytes, which are
// the ones without the high bit.
func varints(b []byte) int {
	n := 0
	for ; len(b) >= 8; b = b[8:] {
		n += bits.OnesCount64(^binary.LittleEndian.Uint64(b) & 0x8080808080808080)
	}
	for _, c := range b {
		if c < 0x80 {
			n++
		}
	}
	return n
}
