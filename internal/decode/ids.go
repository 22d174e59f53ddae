package decode

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
func (x *ids) define(id uint64, place int, room *room) error {
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
	return room.take(sparseBytes)
}

// find returns the place of the object with this id, below 0 if it is not defined.
func (x *ids) find(id uint64) int32 {
	if id < uint64(len(x.dense)) {
		return x.dense[id] - 1
	}
	return x.sparse[id] - 1
}
