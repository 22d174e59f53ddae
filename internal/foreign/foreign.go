// Package foreign calls code that may panic, end its goroutine or hang: code of the program that
// is watched, and disks.
package foreign

import (
	"errors"
	"fmt"
	"time"
)

// ErrHangs is the error of foreign code that does not return in time.
var ErrHangs = errors.New("has not returned")

// Within runs code on a goroutine of its own. Its panic is returned as an error, and so is the end
// of its goroutine. If it takes longer than bound, Within does not wait for it, and what it does
// from then on must not be read.
func Within(bound time.Duration, do func() error) error {
	select {
	case err := <-Start(do):
		return err
	case <-time.After(bound):
		return fmt.Errorf("%w within %v", ErrHangs, bound)
	}
}

// Start runs code on a goroutine of its own, and sends its error when it has ended.
func Start(do func() error) <-chan error {
	result := make(chan error, 1)
	go func() {
		err := errors.New("ended its goroutine")
		defer func() { result <- err }()
		err = Call(do)
	}()
	return result
}

// Call runs code of the program and returns its panic as an error. Package charge finds the
// program's code in profiles by the name of this function.
func Call(do func() error) error { return Recovered(do) }

// Recovered runs code of profguard and returns its panic as an error, which wraps what panicked if
// that is one.
func Recovered(do func() error) (err error) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case error:
			err = fmt.Errorf("panic: %w", p)
		default:
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return do()
}
