package guard

import (
	"cmp"
	"errors"
	"fmt"
	"time"
)

// errHangs is the error of foreign code that does not return in time.
var errHangs = errors.New("has not returned")

// foreign runs code that calls the host or a disk, on a goroutine of its own. Its panic is
// returned as an error, and so is the end of its goroutine. If it takes longer than bound,
// foreign does not wait for it, and what it does from then on must not be read.
func foreign(bound time.Duration, do func() error) error {
	select {
	case err := <-foreignResult(do):
		return err
	case <-time.After(bound):
		return fmt.Errorf("%w within %v", errHangs, bound)
	}
}

// foreignResult is the error of foreign, when do has ended.
func foreignResult(do func() error) <-chan error {
	result := make(chan error, 1)
	go func() {
		err := errors.New("ended its goroutine")
		defer func() { result <- err }()
		var failed error
		panicked := call(func() { failed = do() })
		err = cmp.Or(panicked, failed)
	}()
	return result
}

// call runs code of the host and returns its panic as an error. Package charge finds the host's
// code in profiles by the name of this function.
func call(f func()) error { return recovered(f) }

// recovered runs code of the guard and returns its panic as an error.
func recovered(f func()) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	f()
	return nil
}
