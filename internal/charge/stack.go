package charge

import (
	"slices"

	"github.com/profguard/profguard/internal/decode"
)

// A Stack is one sample's stack.
type Stack struct {
	frames []decode.ID // with inlined ones, leaf first
	sample int
	*shape
	// Set by Counter.reaches for a query. It may charge frames[from:reach], but no function
	// that has one of the parts in without, and the function skip only at from. unknown says
	// that frames which were cut off could change the result.
	from, reach int
	without     part
	skip        decode.ID
	unknown     bool
	inside      bool // it has the function that the query is "in"
}

// A shape says which frames of a stack are the way in. Frames are counted from the
// leaf.
type shape struct {
	// working is the frame in whose body the sample was taken: the first that is not of
	// the floor. busy is the first frame that is not of a function in which goroutines wait.
	// Both are the number of frames if there is no such frame.
	working, busy int32
	// entry is the frame of the entry point: its callers are the way in.
	entry int32
	// root is the bottom frame that is not one of the runtime's or testing's roots, or -1.
	root int32
	// resumed is the frame that was interrupted, or the leaf.
	resumed int32
	handed  bool // there is a hand-over
	network bool // it reads from a connection or writes to one
	cut     bool // the runtime may have dropped frames at the root's end
	server  bool // a server's own work
	matched bool // at least one of its functions matches a pattern
	hidden  bool // any function may be in it: see isHidden
	foreign bool // all of its functions are foreign
}

// stacks are the stacks of one profile, with the way in of each.
type stacks struct {
	order  order
	frames []decode.ID // of all samples
	starts []int       // by sample, the index of its first frame; and the end
	shapes []shape     // by sample
	lacks  bool        // a shape is hidden or foreign

	roots []root // by name
}

// A root is what is known about a function at the roots of stacks: the value of the stacks with a
// hand-over, and of all.
type root struct{ handed, all int64 }

// The most frames of a stack that the runtime keeps, with inlined ones: in CPU profiles, and in
// others, of which Go up to 1.22 keeps less. A stack as deep as that may have been cut off.
const (
	CPUDepth   = 64
	otherDepth = 128
	oldDepth   = 32
)

// hidden is how many frames a stack of another kind may have lost at the leaf: profiles of memory
// lack the runtime's own, which were up to twelve in real programs.
const hidden = 16

// cutFrom is the number of frames from which a stack of a profile may have been cut off.
func (k *stacks) cutFrom(t *decode.Table) int {
	switch {
	case slices.ContainsFunc(t.Types, isCPU): // whatever the period is: other tools write another one
		return CPUDepth
	case k.areOld(t):
		return oldDepth - hidden
	}
	return otherDepth - hidden
}

// areOld reports whether the runtime kept oldDepth frames of the stacks. A profile does not say so: then no stack is
// deeper, but for the callers that its last frame was inlined into, and one that is as deep ends in a function that
// others call, as a goroutine's first function hardly ever is.
func (k *stacks) areOld(t *decode.Table) bool {
	ends := map[decode.ID]bool{}
	for i, s := range t.Samples {
		frames := k.of(i)
		if len(frames) < oldDepth {
			continue
		}
		last := t.Locations[t.Stacks[s.StackHi-1]]
		if len(frames)-int(last.LineHi-last.LineLo) >= oldDepth {
			return false
		}
		ends[frames[len(frames)-1]] = true
	}
	if len(ends) == 0 {
		return false
	}
	for i := range t.Samples {
		if frames := k.of(i); len(frames) > 0 && slices.ContainsFunc(frames[:len(frames)-1], func(f decode.ID) bool { return ends[f] }) {
			return true
		}
	}
	return false
}

// of is the stack of a sample, leaf first.
func (k *stacks) of(sample int) []decode.ID { return k.frames[k.starts[sample]:k.starts[sample+1]] }

// read finds the way in of all stacks of a profile. own tells which packages are of the
// program's own module.
func (k *stacks) read(t *decode.Table, names *Names, own []bool) {
	k.flatten(t, names.parts)
	k.order.read(t, names, k.frames)
	cutFrom := k.cutFrom(t)
	for i := range k.shapes {
		sh, frames := &k.shapes[i], k.of(i)
		sh.measure(frames, names.parts)
		if sh.root >= 0 {
			d := descent{order: &k.order, names: names, own: own, frames: frames, shape: sh}
			d.descend()
		}
		sh.cut = len(frames) >= cutFrom && names.parts[frames[len(frames)-1]]&firsts == 0
	}
	k.findServers(t, names, own)
}

// flatten lists the frames of all stacks, and what their functions have in common.
func (k *stacks) flatten(t *decode.Table, parts []part) {
	// A profile may have very many frames, so memory is allocated once and not grown.
	k.frames, k.shapes = slices.Grow(k.frames[:0], int(t.Frames))[:t.Frames], slices.Grow(k.shapes[:0], len(t.Samples))
	k.starts = append(slices.Grow(k.starts[:0], len(t.Samples)+1), 0)
	k.lacks = false
	frames, n := k.frames, 0
	for i := range t.Samples {
		all, any := unmatched|foreign, part(0)
		for _, l := range t.Stacks[t.Samples[i].StackLo:t.Samples[i].StackHi] {
			at := &t.Locations[l]
			for j := at.LineLo; j < at.LineHi; j++ {
				name := t.Lines[j].Name
				frames[n] = name
				n++
				all &= parts[name]
				any |= parts[name]
			}
		}
		sh := shape{matched: all&unmatched == 0, foreign: all&foreign != 0}
		if begin := k.starts[i]; any&nameless != 0 || n == begin {
			sh.hidden = isHidden(frames[begin:n], parts)
		}
		k.lacks = k.lacks || sh.hidden || sh.foreign
		k.starts, k.shapes = append(k.starts, n), append(k.shapes, sh)
	}
}

// findServers finds servers' own work. A root function outside the own module with hand-overs in
// some stacks is a server, and its other stacks reach no handler. If at least half of the samples
// reach one, all the others are the server's own work. Otherwise only the reads and writes of
// connections are, and for servers of the standard library also the stacks that end in the
// floor, which users can't change.
func (k *stacks) findServers(t *decode.Table, names *Names, own []bool) {
	k.roots = slices.Grow(k.roots[:0], len(names.parts))[:len(names.parts)]
	clear(k.roots)
	for i := range k.shapes {
		if sh := &k.shapes[i]; sh.root >= 0 && !sh.cut && len(t.Types) > 0 {
			root, v := &k.roots[k.of(i)[sh.root]], max(t.Values[i*len(t.Types)], 0)
			root.all = decode.AddSaturating(root.all, v)
			if sh.handed {
				root.handed = decode.AddSaturating(root.handed, v)
			}
		}
	}
	for i := range k.shapes {
		sh := &k.shapes[i]
		if sh.root < 0 || sh.cut || sh.handed {
			continue
		}
		name := k.of(i)[sh.root]
		if root := &k.roots[name]; root.handed > 0 && !own[names.by[Package].of[name]] {
			sh.server = root.handed >= root.all/2 || sh.network || names.parts[name]&standard != 0 && sh.working > sh.resumed
		}
	}
}

// measure finds all but the entry point.
func (sh *shape) measure(frames []decode.ID, parts []part) {
	n := int32(len(frames))
	sh.working, sh.busy, sh.root, sh.entry = n, n, n-1, -1
	for i, f := range frames {
		p := parts[f]
		sh.network = sh.network || p&network != 0
		if sh.working == n && p&floor == 0 {
			sh.working = int32(i)
		}
		if p&waiting == 0 {
			sh.busy = int32(i)
			break
		}
	}
	for sh.resumed < n-1 && parts[frames[sh.resumed]]&interrupts != 0 {
		sh.resumed++
	}
	for sh.root >= 0 && parts[frames[sh.root]]&roots != 0 {
		sh.root--
	}
}

// A descent goes from the root of a stack to its leaf, call by call, and finds the entry point.
type descent struct {
	*order
	*shape
	names  *Names
	own    []bool // by number of a package
	frames []decode.ID

	bottom int32 // where the goroutine's work begins
	at     int32 // the caller
	// byOwn says that there was own code. After the first frame of it, a call from other code
	// to other code is no hand-over (database/sql calls a driver), and only a call back to own
	// code is one (fmt calls String).
	byOwn bool
	// control says that the caller is own code, or what own code has called of the standard
	// library, but for what begins something: see handles.
	control bool
}

func (d *descent) descend() {
	d.bottom, d.at = d.root, d.root
	d.byOwn = d.isOwn(d.root)
	d.control = d.byOwn
	for i := d.root - 1; i >= 0; i-- {
		if d.part(i)&runtimes == 0 {
			d.call(i)
		}
	}
	if d.entry < 0 {
		d.entry = d.bottom
	}
}

// call is a call of the frame by the caller, of which there are four sorts; any other leaves the entry
// point where it is.
func (d *descent) call(i int32) {
	if d.isPassedDown(i) {
		d.byOwn = false
	}
	switch {
	case d.isLoopBody(i):
		d.entry = i
	case d.isCallback(i): // the caller keeps the control
	case d.isHandOver(i):
		d.enter(i)
	case d.isFirst(i):
		d.entry = i
	}
	d.control = d.isOwn(i) || d.control && d.part(i)&standard != 0 && !d.names.handles(d.frames[i])
	d.at, d.byOwn = i, d.byOwn || d.isOwn(i)
}

// isPassedDown reports whether own code calls a function that a framework has passed to it, as gRPC's to
// decode a request.
func (d *descent) isPassedDown(i int32) bool {
	return !d.isOwn(i) && d.part(i)&literal != 0 && d.isOwn(d.at)
}

// isLoopBody reports whether a frame is the body of a loop of the entry point, or of the way in.
func (d *descent) isLoopBody(i int32) bool {
	return d.isOwn(i) && d.part(i)&literal != 0 && d.names.continues(d.frames, i, d.entry)
}

// isCallback reports whether the standard library calls back to own code, for own code that has called
// it: who called sort.Sort, filepath.Walk or fmt.Sprint still has the control.
func (d *descent) isCallback(i int32) bool {
	return d.isOwn(i) && d.part(d.at)&standard != 0 &&
		(d.control || d.byOwn && d.part(i)&serving != 0 && !d.names.handles(d.frames[d.at]))
}

// isHandOver reports whether the caller does not know what it calls. Below own code that is only a call
// back to own code.
func (d *descent) isHandOver(i int32) bool {
	return (d.isOwn(i) || !d.byOwn) && d.handsOver(d.names, d.frames, d.at, i)
}

// enter makes the frame the entry point. A goroutine's first function only starts what it hands over to, as
// a go statement would: that of errgroup, a timer, or a test.
func (d *descent) enter(i int32) {
	d.handed, d.entry = true, i
	if d.at == d.bottom {
		d.bottom, d.entry = i, -1
	}
}

// isFirst reports whether the frame is the entry point for lack of a hand-over: what the goroutine's first
// function calls, unless that is own code and calls a door.
func (d *descent) isFirst(i int32) bool {
	return d.entry < 0 && d.at == d.bottom && (d.isOwn(i) || !d.isOwn(d.bottom))
}

func (d *descent) part(i int32) part  { return d.names.parts[d.frames[i]] }
func (d *descent) isOwn(i int32) bool { return d.own[d.names.by[Package].of[d.frames[i]]] }

// isHidden reports whether any function may be in a stack with a frame without a name, or
// without frames. Names are missing in profiles of programs without symbols, of perf, eBPF and
// other languages. Nothing is hidden where each frame without a name is called by a function of
// Go and calls none: those are of C, the kernel or the vdso, which programs of Go end in.
func isHidden(frames []decode.ID, parts []part) bool {
	inner := 0 // the first frame, from the leaf, that is of Go
	for inner < len(frames) && parts[frames[inner]]&foreign != 0 {
		inner++
	}
	if inner == len(frames) {
		return true
	}
	for _, f := range frames[inner:] {
		if parts[f]&nameless != 0 {
			return true
		}
	}
	return false
}
