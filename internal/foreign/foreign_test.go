package foreign

import (
	"errors"
	"io"
	"runtime"
	"testing"
	"testing/synctest"
	"time"
)

// What panics, ends its goroutine or hangs is an error; what returns in time has its own.
func TestForeign(t *testing.T) {
	for name, tt := range map[string]struct {
		do   func() error
		is   error
		text string
	}{
		"returns":            {func() error { return nil }, nil, ""},
		"fails":              {func() error { return io.EOF }, io.EOF, "EOF"},
		"panics":             {func() error { panic("a bug") }, nil, "panic: a bug"},
		"panics by an error": {func() error { panic(io.EOF) }, io.EOF, "panic: EOF"},
		"ends":               {func() error { runtime.Goexit(); return nil }, nil, "ended its goroutine"},
		"is slow":            {func() error { time.Sleep(time.Minute); return nil }, ErrHangs, "has not returned within 1s"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				err := Within(time.Second, tt.do)
				time.Sleep(time.Hour) // what is slow ends
				if (err == nil) != (tt.text == "") || err != nil && err.Error() != tt.text || tt.is != nil && !errors.Is(err, tt.is) {
					t.Errorf("%v, want %q", err, tt.text)
				}
			})
		})
	}
}
