package decode

import (
	"errors"
	"strings"
	"testing"
)

// TestForeign decodes what people give by mistake: the message says what it is.
func TestForeign(t *testing.T) {
	const text = "malformed profile: this is text and not a pprof profile, "
	tests := []struct {
		name, data, want string
	}{
		{"HTML", "<!DOCTYPE html>\n<title>404</title>", text + `"<!DOCTYPE html>": expected`},
		{"JSON", `{"budget": 5}`, text + `"{\"budget\": 5}"`},
		{"a server's refusal", "\nCould not enable CPU profiling: cpu profiling already in use\n", text + `"Could not enable CPU profiling: cpu profiling already in use"`},
		{"a sentence", "no function above 20% cumulative", text},
		{"one letter", "p", text + `"p"`},
		{"a long line", strings.Repeat("ü", 1000), text + `"` + strings.Repeat("ü", shown/2) + `"`},
		{"cut through a character", strings.Repeat("x", 511) + "ü and more", text},
		{"a trace", "go 1.26 trace\x00\x00\x00and then some", "this is an execution trace and not a pprof profile"},
	}
	for _, c := range tests {
		t.Run(c.name, func(t *testing.T) {
			for _, data := range [][]byte{[]byte(c.data), gzipped(t, []byte(c.data))} {
				_, err := new(Decoder).Bytes(data)
				if !errors.Is(err, ErrMalformed) || !strings.Contains(err.Error(), c.want) {
					t.Errorf("error %v, want one with %q", err, c.want)
				}
				if strings.Contains(err.Error(), "at byte") {
					t.Errorf("error %v, want nothing about bytes", err)
				}
			}
		})
	}
}

// TestForeignNot decodes what is binary, or a broken profile: where it breaks is
// what helps.
func TestForeignNot(t *testing.T) {
	broken := append(minimal(), 0xff)
	for _, data := range [][]byte{broken, []byte("\x7fELF\x02\x01\x01\x00"), []byte("text\x00and not"), nil} {
		_, err := new(Decoder).Bytes(data)
		if err == nil || strings.Contains(err.Error(), "not a pprof profile") {
			t.Errorf("%q: error %v, want one about its bytes", data, err)
		}
	}
}
