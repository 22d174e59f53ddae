package decode

// ids maps the ids of one kind of object, which may be any uint64, to the
// places of the objects in a table. An id can be used before it is defined:
// it is given a slot at once, and the slot gets its place later.
//
// Writers number their objects from 1, so an id up to the number of objects is
// its own slot. Others get the slots after those from a map.
type ids struct {
	n      int     // the number of objects
	place  []int32 // by slot: 1 + the object's place, 0 while undefined
	sparse map[uint64]int32
	room   *room
}

// sparseBytes is the memory of an entry in the sparse map, with its growth: 17 bytes in a
// table that is at least 7/16 full, and a slot.
const sparseBytes = 48

func (x *ids) reset(n int, room *room) {
	x.n, x.room = n, room
	x.place = sized(x.place, n+1)
	clear(x.place)
	if len(x.sparse) > kept {
		x.sparse = nil
	}
	clear(x.sparse)
}

// slot returns the slot of id. It fails if there are more different ids than
// objects, so that the slots are bounded.
func (x *ids) slot(id uint64) (int32, error) {
	if id <= uint64(x.n) {
		return int32(id), nil
	}
	if s, ok := x.sparse[id]; ok {
		return s, nil
	}
	if len(x.sparse) == x.n {
		return 0, malformed("id %d is not defined: more ids are used than there are objects", id)
	}
	if err := x.room.take(sparseBytes); err != nil {
		return 0, err
	}
	if x.sparse == nil {
		x.sparse = make(map[uint64]int32)
	}
	s := int32(len(x.place))
	x.place = append(x.place, 0)
	x.sparse[id] = s
	return s, nil
}

// define sets the place of the object with this id.
func (x *ids) define(id uint64, place int) error {
	if id == 0 {
		return malformed("id 0 is reserved")
	}
	s, err := x.slot(id)
	if err != nil {
		return err
	}
	if x.place[s] != 0 {
		return malformed("id %d is defined twice", id)
	}
	x.place[s] = int32(place) + 1
	return nil
}

// find returns the place of the object with this id, if it is defined.
func (x *ids) find(id uint64) (int, bool) {
	s := x.sparse[id] // slot 0, of id 0, is never defined
	if id <= uint64(x.n) {
		s = int32(id)
	}
	return int(x.place[s]) - 1, x.place[s] != 0
}
