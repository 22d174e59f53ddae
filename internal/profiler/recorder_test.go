package profiler

import (
	"bytes"
	"testing"
)

func TestRecorder(t *testing.T) {
	write := func(r *recorder, s string) {
		t.Helper()
		if n, err := r.Write([]byte(s)); n != len(s) || err != nil {
			t.Errorf("Write(%q) = %d, %v; it must always succeed", s, n, err)
		}
	}
	early := func(r *recorder) bool {
		select {
		case <-r.early:
			return true
		default:
			return false
		}
	}

	t.Run("relief", func(t *testing.T) {
		for _, ours := range []bool{true, false} {
			relieved, want := 0, 0
			r := newRecorder(nil, 8)
			r.relieve = func() { relieved++ }
			if ours {
				r.seal()
				want = 1
			}
			write(r, "12")
			write(r, "34")
			if relieved != want {
				t.Errorf("ended by us, %t: relieved %d times, want %d", ours, relieved, want)
			}
		}
	})

	t.Run("own stop", func(t *testing.T) {
		r := newRecorder(nil, 8)
		if !r.seal() {
			t.Error("nobody has written")
		}
		write(r, "1234")
		write(r, "5678")
		data, scratch, over := r.take()
		if string(data) != "12345678" || over || early(r) {
			t.Errorf("%q, over %t, early %t", data, over, early(r))
		}
		// The next recorder has the same buffer; what was handed out stays.
		r = newRecorder(scratch, 8)
		r.seal()
		write(r, "abc")
		if next, _, _ := r.take(); string(data) != "12345678" || string(next) != "abc" {
			t.Errorf("%q, then %q", data, next)
		}
	})
	t.Run("stolen", func(t *testing.T) {
		r := newRecorder(nil, 8)
		write(r, "12")
		write(r, "34")
		if !early(r) || r.seal() {
			t.Error("the early write went unnoticed")
		}
		write(r, "56")
	})
	t.Run("too large", func(t *testing.T) {
		r := newRecorder(nil, 8)
		r.seal()
		write(r, "123456789")
		write(r, "1")
		if data, _, over := r.take(); data != nil || !over {
			t.Errorf("%q, over %t", data, over)
		}
	})
	t.Run("large buffers are not kept", func(t *testing.T) {
		r := newRecorder(nil, 2*keepBuffer)
		r.seal()
		r.Write(bytes.Repeat([]byte{1}, keepBuffer+1))
		if _, scratch, over := r.take(); scratch != nil || over {
			t.Errorf("kept %d bytes, over %t", cap(scratch), over)
		}
	})
}
