package profiles

import "github.com/profguard/profguard/internal/kinds"

// rates keeps the process-wide sampling rates that we have set apart from those
// of others.
type rates struct {
	mutex      int  // the fraction that we have set; 0: none
	mutexAsked bool // we have set it once; if it is 0 again, somebody wants that
	block      bool // we have set the block rate
}

// mutexFraction returns the fraction in force, after setting want if there is none.
func (r *rates) mutexFraction(src source, want int) (int, *SkipError) {
	if now := src.setMutexFraction(-1); now > 0 {
		return now, nil
	}
	switch {
	case want < 0:
		return 0, skip(kinds.Mutex, RateZero, "mutex profiling is off; call runtime.SetMutexProfileFraction(%d), or let the guard do so", defaultMutexFraction)
	case r.mutexAsked:
		return 0, skip(kinds.Mutex, RateZero, "somebody has set the mutex fraction back to 0 since it was set to %d; remove that call, or the budgets on mutex", want)
	}
	if theirs := src.setMutexFraction(want); theirs > 0 { // set since we looked
		src.setMutexFraction(theirs)
		return theirs, nil
	}
	r.mutex, r.mutexAsked = want, true
	return want, nil
}

// blockRate sees to it that there is one, as far as one can know.
func (r *rates) blockRate(src source, want int) *SkipError {
	if want > 0 && !r.block {
		src.setBlockRate(want)
		r.block = true
	}
	if r.block || src.count(kinds.Block) > 0 {
		return nil
	}
	return skip(kinds.Block, RateZero, "no goroutine has been recorded as blocked, so block profiling is off; "+
		"call runtime.SetBlockProfileRate(n) with n nanoseconds, knowing that it costs every channel operation that blocks")
}

// restore takes back what is still ours. Of the block rate nobody can tell: who
// asked for one has said that it is ours.
func (r *rates) restore(src source) {
	if r.mutex > 0 && src.setMutexFraction(-1) == r.mutex {
		if theirs := src.setMutexFraction(0); theirs != r.mutex { // set since we looked
			src.setMutexFraction(theirs)
		}
	}
	if r.block {
		src.setBlockRate(0)
	}
	*r = rates{}
}
