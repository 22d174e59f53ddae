package decode

import (
	"math"
	"slices"
)

// A Table is one decoded profile, laid out for counting: dense arrays and
// integer ids instead of a graph of pointers.
//
// One of a [Decoder] points into its buffers and is valid until the decoder's next call. One of a
// [Merger] is valid until its next Add. What is made of a Table ([Table.Filter],
// [Table.Sub]) shares its names and strings, and is valid as long.
type Table struct {
	// Types are the sample types in the profile's order, for a CPU profile
	// samples/count and cpu/nanoseconds.
	Types []ValueType
	// DefaultType is the index in Types that the profile itself names as its
	// default, or -1.
	DefaultType int

	PeriodType    ValueType
	Period        int64
	TimeNanos     int64 // wall clock at the start, as written in the profile; 0 when unknown
	DurationNanos int64

	// Symbols has the strings of the ids in Funcs. It is valid longer than the Table: a
	// decoder keeps its Symbols from profile to profile, so that each function name is
	// looked up once in a process's life.
	Symbols *Symbols

	// Samples hold, for each distinct stack, spans into Stacks and Labels.
	// Values holds len(Types) numbers for each sample, in order.
	Samples []Sample
	Values  []int64

	// Frames is the number of frames in all stacks, with inlined ones.
	Frames int64

	// Stacks holds indices into Locations, leaf first.
	Stacks []int32
	// Locations hold spans into Lines; within a location the innermost inlined
	// frame comes first, so a whole stack reads leaf first. A location without
	// symbols has one Line with a made-up name ("[libc.so.6]"), as pprof shows it.
	Locations []Location
	Lines     []Line
	// Funcs are the profile's functions, and after them one for each made-up name.
	Funcs  []Func
	Labels []Label

	text    []byte // the bytes that hold the profile's own string table, for labels
	strings []span // the strings in it

	comments       []int32 // in the string table
	program, build int32   // file and build id of the first mapping, which is the program's
	base           uint64  // where it starts
}

// Count adds up the first value of all samples, which in a CPU profile is the number of
// samples. It is 0 for a nil Table.
func (t *Table) Count() (n int64) {
	if t == nil {
		return 0
	}
	for i := range t.Samples {
		n = AddSaturating(n, t.Values[i*len(t.Types)])
	}
	return n
}

// values are those of the i-th sample.
func (t *Table) values(i int) []int64 { return t.Values[i*len(t.Types) : (i+1)*len(t.Types)] }

func isZero(values []int64) bool {
	return !slices.ContainsFunc(values, func(v int64) bool { return v != 0 })
}

// AddSaturating adds without overflow: a profile whose values add up to more
// than an int64 holds is hostile or broken, and no share of it matters.
func AddSaturating(a, b int64) int64 {
	sum := a + b
	if a > 0 && b > 0 && sum < 0 {
		return math.MaxInt64
	}
	if a < 0 && b < 0 && sum >= 0 {
		return math.MinInt64
	}
	return sum
}

// Program is the file of the program, "" if the profile does not say.
func (t *Table) Program() string { return string(t.String(t.program)) }

// Build is the build id of the program, "" if the profile does not say.
func (t *Table) Build() string { return string(t.String(t.build)) }

// span is text[lo:hi]. Positions take a third of the memory of slices.
type span struct{ lo, hi uint32 }

// ValueType is a sample type or period type, such as cpu/nanoseconds.
type ValueType struct{ Type, Unit string }

// Sample is one distinct stack.
type Sample struct {
	StackLo, StackHi int32 // Stacks[StackLo:StackHi]
	LabelLo, LabelHi int32 // Labels[LabelLo:LabelHi]
}

// Location is one program counter with the functions inlined there.
type Location struct {
	LineLo, LineHi int32  // Lines[LineLo:LineHi]
	Address        uint64 // the program counter; 0 when unknown
}

// Line is one frame.
type Line struct {
	Name ID    // the function's name; equal names have equal ids
	Func int32 // index into Funcs, for the file
	Line int32 // line number within the file; 0 when unknown
}

// Func is one function of the profile.
type Func struct {
	Name ID
	File ID
	Line int32 // where the function starts; 0 when unknown
}

// Label is a pprof label of a sample: a string or a number. Key and Str are
// indices into the profile's own string table; see [Table.String]. They are not
// interned, because there may be very many label values, such as request ids.
type Label struct {
	Key, Str int32
	Num      int64
}

// Comments are free text beside the samples.
func (t *Table) Comments() (texts []string) {
	for _, i := range t.comments {
		texts = append(texts, string(t.String(i)))
	}
	return texts
}

// String is the i-th string of the profile's string table. The bytes belong to the decoder:
// do not keep them. A Table that was not decoded has none.
func (t *Table) String(i int32) []byte {
	if int(i) >= len(t.strings) {
		return nil
	}
	return t.text[t.strings[i].lo:t.strings[i].hi]
}
