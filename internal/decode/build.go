package decode

// A builder makes a Table of the raw bytes of a profile.
type builder struct {
	t      Table
	memory memory

	parts    [profileFunction>>3 + 1][]span // by field: where the objects of that kind are
	mappings []uint64                       // their files, in the string table

	locationIDs, functionIDs, mappingIDs ids

	symbolOf    []ID    // by string: 1 + its id, 0 for not looked up yet
	unsymbolled []int32 // by string, a mapping's file: 1 + the place of its made-up function
	made        []byte  // the last made-up name
	refused     error   // the first name that was
}

// bytes is what the tables of a profile take; names come on top. The numbers
// are the sizes of the elements of the slices that reset makes.
func (c counts) bytes() int64 {
	samples := int64(c.samples) * (16 + 8 + 8*int64(c.types))
	locations := int64(c.locations) * (16 + 8 + 4)
	functions := int64(c.functions)*(8+4) + int64(c.functions+c.mappings+1)*12
	mappings := int64(c.mappings) * (8 + 8 + 4)
	return samples + locations + functions + mappings + int64(c.types)*(32+8) +
		int64(c.frames)*4 + int64(c.labels)*16 + int64(c.lines)*12 + int64(c.strings)*(8+4+4)
}

// reset makes room for what was counted and forgets the profile before.
func (b *builder) reset(c counts) {
	t := &b.t
	t.Types = sized(t.Types, c.types)[:0]
	t.DefaultType = -1
	t.Frames, t.program, t.build, t.base = 0, 0, 0, 0
	t.Samples = sized(t.Samples, c.samples)[:0]
	t.Values = sized(t.Values, c.samples*c.types)[:0]
	t.Stacks = sized(t.Stacks, c.frames)[:0]
	t.Locations = sized(t.Locations, c.locations)[:0]
	t.Lines = sized(t.Lines, c.lines)[:0]
	t.Funcs = sized(t.Funcs, c.functions+c.mappings+1)[:0]
	t.Labels = sized(t.Labels, c.labels)[:0]
	t.strings = sized(t.strings, c.strings)[:0]
	t.comments = t.comments[:0]

	for field, n := range [...]int{profileType >> 3: c.types, profileSample >> 3: c.samples, profileMapping >> 3: c.mappings, profileLocation >> 3: c.locations, profileFunction >> 3: c.functions} {
		b.parts[field] = sized(b.parts[field], n)[:0]
	}
	b.refused = nil
	b.mappings = sized(b.mappings, c.mappings)[:0]
	b.locationIDs.reset(c.locations)
	b.functionIDs.reset(c.functions)
	b.mappingIDs.reset(c.mappings)
	b.symbolOf = sized(b.symbolOf, c.strings)
	clear(b.symbolOf)
	b.unsymbolled = sized(b.unsymbolled, c.strings)
	clear(b.unsymbolled)
}

const (
	// slack is by how many elements a buffer is made larger than asked for, at
	// most a quarter of its size, because the next profile of the same program
	// will be of almost the same size.
	slack = 16 << 10
	// A buffer of more than kept elements that is more than eight times too large is given
	// back: one huge profile must not cost memory for ever.
	kept = 128 << 10
)

// sized returns a slice of length n, of unspecified content, in s's memory if
// that fits.
func sized[T any](s []T, n int) []T {
	if n <= cap(s) && cap(s) <= max(kept, 8*n) {
		return s[:n]
	}
	return make([]T, n, n+min(n/4, slack))
}

// checkString refuses a place outside the string table.
func (b *builder) checkString(i uint64) error {
	if i >= uint64(len(b.symbolOf)) {
		return malformed("string %d of %d", int64(i), len(b.symbolOf))
	}
	return nil
}

// ids maps the ids of one kind of object, which may be any uint64, to the places of the
// objects in a table. Writers number their objects from 1, so ids up to the number of
// objects are looked up in a slice, and others in a map.
type ids struct {
	dense  []int32 // by id: 1 + the object's place, 0 while undefined
	sparse map[uint64]int32
}

// sparseBytes is the memory of an entry in the sparse map, with its growth: 17 bytes in a
// table that is at least 7/16 full.
const sparseBytes = 40

func (x *ids) reset(n int) {
	x.dense = sized(x.dense, n+1)
	clear(x.dense)
	if len(x.sparse) > kept {
		x.sparse = nil
	}
	clear(x.sparse)
}

// define sets the place of the object with this id.
func (x *ids) define(id uint64, place int, left *memory) error {
	if id == 0 {
		return malformed("id 0 is reserved")
	}
	if x.find(id) >= 0 {
		return malformed("id %d is defined twice", id)
	}
	if id < uint64(len(x.dense)) {
		x.dense[id] = int32(place) + 1
		return nil
	}
	if x.sparse == nil {
		x.sparse = make(map[uint64]int32)
	}
	x.sparse[id] = int32(place) + 1
	return left.reserve(sparseBytes)
}

// find returns the place of the object with this id, below 0 if it is not defined.
func (x *ids) find(id uint64) int32 {
	if id < uint64(len(x.dense)) {
		return x.dense[id] - 1
	}
	return x.sparse[id] - 1
}
