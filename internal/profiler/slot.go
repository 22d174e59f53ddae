package profiler

import (
	"runtime"
	"strings"
)

// slot is the state of the process's profiler after a profile of ours has ended
// without our doing.
type slot int

const (
	slotMoving slot = iota // somebody is about to end or to start a profile: ask again
	slotGone               // no longer ours: free, or somebody else's profile is running
	slotJammed             // ended by runtime.SetCPUProfileRate(0): still booked to us, dead
	slotSilent             // nobody profiles: free, or jammed; too many goroutines to look which
	slotUnseen             // too many goroutines to look, and no other way
)

// maxLook is the number of goroutines up to which readSlot looks for the one it
// needs. A goroutine profile costs about 1 us of a stopped world and 264 bytes
// for each, so this bounds it by 20 ms and 5 MB, in a case that is rare.
const maxLook = 20_000

// readSlot tells a thief from a jam. Both look alike from the writer's side, but
// call for opposite deeds: after pprof.StopCPUProfile by a thief, a stop of ours
// may hit the thief's next profile; after runtime.SetCPUProfileRate(0),
// runtime/pprof counts the dead profile as running until somebody stops it, and
// without our stop nobody in the process could ever profile again.
//
// What differs is the goroutine that runtime/pprof starts for each profile,
// profileWriter. A stop takes it away; in a jam it stands parked, sending to a
// stop that nobody has called. One look cannot tell that from a goroutine that a
// stop has just released and that has not run since: a jam is what lasts.
func readSlot() slot {
	n := runtime.NumGoroutine()
	var records []runtime.StackRecord
	for {
		if n > maxLook {
			return unseen()
		}
		records = make([]runtime.StackRecord, n+16) // 16: goroutines started meanwhile
		var ok bool
		if n, ok = runtime.GoroutineProfile(records); ok {
			records = records[:n]
			break
		}
	}

	state := slotGone
	for i := range records {
		switch profilingRole(records[i].Stack()) {
		case roleStopping:
			return slotMoving
		case roleSampling:
			return slotGone
		case roleBuilding:
			state = slotMoving
		case roleParked:
			if state == slotGone {
				state = slotJammed
			}
		}
	}
	return state
}

// unseen is what can be told without looking at the goroutines.
func unseen() slot {
	switch yes, known := ticking(); {
	case !known:
		return slotUnseen
	case yes:
		return slotGone // and somebody else's profile is running
	}
	return slotSilent
}

// role is the part that a goroutine plays in CPU profiling.
type role int

const (
	roleNone     role = iota
	roleStopping      // inside pprof.StopCPUProfile
	roleSampling      // a profileWriter that waits for samples: the profile is running
	roleBuilding      // a profileWriter that writes its profile
	roleParked        // a profileWriter that has written, and waits for the stop
)

func profilingRole(stack []uintptr) role {
	var writer, sending, reading bool
	frames := runtime.CallersFrames(stack)
	for more := len(stack) > 0; more; {
		var f runtime.Frame
		f, more = frames.Next()
		switch {
		case f.Function == "runtime/pprof.StopCPUProfile":
			return roleStopping
		case f.Function == "runtime/pprof.profileWriter":
			writer = true
		case strings.HasPrefix(f.Function, "runtime.chansend"):
			sending = true
		case strings.HasSuffix(f.Function, "readProfile"):
			reading = true
		}
	}
	switch {
	case !writer:
		return roleNone
	case reading:
		return roleSampling
	case sending:
		return roleParked
	default:
		return roleBuilding
	}
}
