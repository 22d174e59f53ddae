package profiles

import "github.com/profguard/profguard/internal/kinds"

// mutexFraction returns the fraction of contentions that the runtime records, after
// setting ours if nobody has set one.
func (t *Taker) mutexFraction() (int, *SkipError) {
	if now := t.src.setMutexFraction(-1); now > 0 {
		return now, nil
	}
	if t.mutexSet {
		return 0, skip(kinds.Mutex, RateZero, "somebody has set the mutex fraction back to 0 since it was set to %d; remove that call, or the budgets on mutex", ourMutexFraction)
	}
	if theirs := t.src.setMutexFraction(ourMutexFraction); theirs > 0 { // set since we looked
		t.src.setMutexFraction(theirs)
		return theirs, nil
	}
	t.mutexSet = true
	return ourMutexFraction, nil
}

// restoreMutex takes our fraction back, if it is still in force.
func (t *Taker) restoreMutex() {
	if t.mutexSet && t.src.setMutexFraction(-1) == ourMutexFraction {
		if theirs := t.src.setMutexFraction(0); theirs != ourMutexFraction { // set since we looked
			t.src.setMutexFraction(theirs)
		}
	}
	t.mutexSet = false
}
