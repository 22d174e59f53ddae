package profiler

import (
	"strings"
	"testing"
)

func TestRecorder(t *testing.T) {
	write := func(r *recorder, s string) {
		t.Helper()
		if n, err := r.Write([]byte(s)); n != len(s) || err != nil {
			t.Errorf("Write(%.9q) = %d, %v; it must always succeed", s, n, err)
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

	t.Run("own stop", func(t *testing.T) {
		r := newRecorder()
		if !r.seal() {
			t.Error("nobody has written")
		}
		write(r, "1234")
		write(r, "5678")
		data, over := r.content()
		if string(data) != "12345678" || cap(data) > 64 || over || early(r) {
			t.Errorf("%q, over %t, early %t", data, over, early(r))
		}
	})
	t.Run("stolen", func(t *testing.T) {
		r := newRecorder()
		write(r, "12")
		write(r, "34")
		if !early(r) || r.seal() {
			t.Error("the early write went unnoticed")
		}
		write(r, "56")
	})
	t.Run("too large", func(t *testing.T) {
		r := newRecorder()
		r.seal()
		write(r, strings.Repeat("x", maxProfile))
		write(r, "1")
		if data, over := r.content(); data != nil || !over {
			t.Errorf("%d bytes, over %t", len(data), over)
		}
	})
}
