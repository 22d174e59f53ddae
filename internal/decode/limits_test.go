package decode

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/pprof/profile"
)

// TestLimitsDoc holds the documentation of Set.JudgeReader, which is where users look,
// against the limits.
func TestLimitsDoc(t *testing.T) {
	doc, err := os.ReadFile("../../budget/judge.go")
	if err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf("%d MiB of input, %d million frames", maxInput>>20, maxFrames/1_000_000)
	if !strings.Contains(strings.ReplaceAll(string(doc), "\n// ", " "), want) {
		t.Errorf("the documentation does not say %q", want)
	}
}

// A name may be as long as the limit, and no longer, also one that is made up of a file's.
func TestNameLimit(t *testing.T) {
	named := func(name string) []byte {
		data := message(minimal(), 6, []byte(name)) // string 4
		data = message(data, 5, numbers(2, 4))
		return message(data, 4, message(numbers(2), 4, numbers(2, 10)))
	}
	ofFile := func(file string) []byte {
		data := message(minimal(), 6, []byte(file))
		data = message(data, 3, numbers(1, 0, 0, 0, 4))
		return message(data, 4, numbers(2, 1)) // without lines, "[file]"
	}
	for _, tt := range []struct {
		name string
		data []byte
		long int64 // the length that is refused, 0 if none
	}{
		{"at the limit", named(strings.Repeat("f", maxNameBytes)), 0},
		{"above it", named(strings.Repeat("f", maxNameBytes+1)), maxNameBytes + 1},
		{"made up, at the limit", ofFile(strings.Repeat("f", maxNameBytes-2)), 0},
		{"made up, above it", ofFile(strings.Repeat("f", maxNameBytes-1)), maxNameBytes + 1},
	} {
		_, err := new(Decoder).Bytes(tt.data)
		var refused *LimitError
		if errors.As(err, &refused) != (tt.long > 0) || refused != nil && (refused.Got != tt.long || refused.What != "bytes in a name") {
			t.Errorf("%s: %v", tt.name, err)
		}
		if err != nil && refused == nil {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}

// A profile that is in memory already has the limits of a file.
func TestProfileLimits(t *testing.T) {
	data := message(minimal(), 2, number(message(nil, 1, bytes.Repeat([]byte{1}, 5000)), 2, 1))
	p, err := profile.ParseData(data)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := new(Decoder).Profile(p); !errors.As(err, new(*LimitError)) {
		t.Errorf("error %v, want one about a limit", err)
	}
}

// The frames of all stacks together are bounded, however short each stack is.
func TestFramesOfAllStacks(t *testing.T) {
	stack := message(nil, 2, number(message(nil, 1, bytes.Repeat([]byte{1}, 1000)), 2, 7))
	data := append(minimal(), bytes.Repeat(stack, maxFrames/1000)...) // and one frame of the first
	var refused *LimitError
	if _, err := new(Decoder).Bytes(data); !errors.As(err, &refused) || refused.What != "frames" {
		t.Errorf("one frame too many: %v, want a LimitError of frames", err)
	}
	if _, err := new(Decoder).Bytes(data[:len(data)-len(stack)]); err != nil {
		t.Errorf("below the limit: %v", err)
	}
}
