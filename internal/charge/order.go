package charge

import (
	"math"

	"github.com/profguard/profguard/internal/decode"
)

// An order is the order of a program's packages in memory. The linker places each package
// after all packages that it imports. So a package that is placed before another does not
// import it, and can call it only through an interface or a function value.
type order struct {
	places []place // by number of a package
	known  bool
	// several says that there is more than one package outside the standard library.
	several bool
}

// A place is where a package stands: the lowest known address of its functions, and of those that
// are no literals, or none. Since Go 1.27 a literal in a function that was inlined into another
// package is named after its own package, but stands with the other one, which imports it. So
// its address only shows that its own package does not stand behind it.
type place struct{ before, at uint64 }

const none = math.MaxUint64

// read finds the places of the packages outside the standard library, in a profile whose
// samples have these frames.
func (o *order) read(t *decode.Table, names *Names, frames []decode.ID) {
	o.places = o.places[:0]
	for range names.by[Package].names {
		o.places = append(o.places, place{none, none})
	}
	o.several = false
	other := int32(-1)
	for _, name := range frames {
		if names.parts[name]&(standard|roots) == 0 {
			if o.several = other >= 0 && names.by[Package].of[name] != other; o.several {
				break
			}
			other = names.by[Package].of[name]
		}
	}
	first, least := uint64(none), uint64(none) // of package runtime, and of those outside the standard library
	for i := range t.Locations {
		l := &t.Locations[i]
		if l.Address == 0 || l.LineLo == l.LineHi {
			continue
		}
		// The last line is the function that is there; the others are inlined into it.
		name := t.Lines[l.LineHi-1].Name
		switch p := names.parts[name]; {
		case p&generic != 0:
		case p&standard != 0:
			if p&roots != 0 && p&runtimes != 0 && p&literal == 0 {
				first = min(first, l.Address)
			}
		default:
			place := &o.places[names.by[Package].of[name]]
			if place.before = min(place.before, l.Address); p&literal == 0 {
				place.at = min(place.at, l.Address)
			}
			least = min(least, l.Address)
		}
	}
	// Everything imports the runtime. If a package is placed before it, the addresses are
	// not those of the Go linker.
	o.known = least != none && (first == none || first <= least)
}

// handsOver reports whether the caller can have called the callee only through an interface
// or a function value.
func (o *order) handsOver(names *Names, frames []decode.ID, caller, callee int32) bool {
	from, to := frames[caller], frames[callee]
	if names.parts[to]&standard != 0 {
		return false
	}
	if names.handles(from) {
		return true
	}
	// A function literal is made by the function around it. While that one is on the stack, it
	// has the control: it has called sort.Slice, filepath.Walk or a transaction with the literal.
	// If not, it has passed the literal on to other code.
	if names.parts[to]&literal != 0 {
		for _, f := range frames[callee+1 : min(len(frames), int(callee)+1+otherDepth)] { // the runtime keeps no more
			if f == to || names.isAround(f, to) {
				return false
			}
		}
		return true
	}
	if names.parts[from]&standard != 0 {
		return true
	}
	a, b := names.by[Package].of[from], names.by[Package].of[to]
	at := o.places[b].at
	return o.known && a != b && at != none && o.before(names, frames[caller:]) < at
}

// before is an address that the first frame's package does not stand behind. A package without
// an address was inlined into its callers, so that of the nearest caller is used for it.
func (o *order) before(names *Names, frames []decode.ID) uint64 {
	for _, f := range frames {
		if at := o.places[names.by[Package].of[f]].before; at != none || names.parts[f]&(standard|generic) != 0 {
			return at
		}
	}
	return none
}
