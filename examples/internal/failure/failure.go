// Package failure is how a test of an example holds a check against what the check
// is to find: the check fails, the test does not, and reads why.
package failure

import (
	"fmt"
	"runtime"
	"strings"

	"github.com/profguard/profguard/guard"
)

// Of runs a check that may fail, and returns what it says then, or "".
func Of(check func(guard.TB)) string {
	var l listener
	done := make(chan struct{})
	go func() { // of its own, which FailNow ends
		defer close(done)
		check(&l)
	}()
	<-done
	return l.said.String()
}

// A listener is a test that notes why it failed. To be skipped is to fail: the
// check has found nothing out.
type listener struct{ said strings.Builder }

func (l *listener) Helper()                           {}
func (l *listener) Name() string                      { return "example" }
func (l *listener) Logf(format string, args ...any)   {}
func (l *listener) Errorf(format string, args ...any) { fmt.Fprintf(&l.said, format+"\n", args...) }
func (l *listener) FailNow()                          { l.Errorf("FailNow"); runtime.Goexit() }
func (l *listener) Failed() bool                      { return l.said.Len() > 0 }
func (l *listener) Skipped() bool                     { return false }
func (l *listener) Skipf(format string, args ...any) {
	l.Errorf("skipped: "+format, args...)
	runtime.Goexit()
}
