package decode

import (
	"bytes"
	"errors"
	"os"
	"regexp"
	"testing"

	"github.com/google/pprof/profile"
)

// TestLimitsDoc holds the table in the documentation of package budget, which is
// where users look, against the limits.
func TestLimitsDoc(t *testing.T) {
	doc, err := os.ReadFile("../../budget/doc.go")
	if err != nil {
		t.Fatal(err)
	}
	l := Limits{}.complete()
	const KiB, MiB = 1 << 10, 1 << 20
	for _, row := range []struct {
		what        string
		limit, unit int
		name        string
	}{
		{"bytes as read, gzipped or not", l.Input, MiB, " MiB"},
		{"bytes after decompression", l.Raw, MiB, " MiB"},
		{"bytes of both and of what they become", l.Memory, MiB, " MiB"},
		{"samples \\(distinct stacks\\)", l.Samples, 1, ""},
		{"frames in a stack, inlined ones too", l.Depth, 1, ""},
		{"frames in all stacks", l.Frames, 1, ""},
		{"bytes in a name", l.NameBytes, KiB, " KiB"},
	} {
		want := grouped(int64(row.limit/row.unit)) + row.name
		if !regexp.MustCompile(`(?m)^//\t` + row.what + ` +` + want + `$`).Match(doc) {
			t.Errorf("the documentation does not say %s for %q", want, row.what)
		}
	}
}

// TestAdviceOfLimits follows what a LimitError advises: a profile that is
// refused as bytes is taken as a profile.Profile.
func TestAdviceOfLimits(t *testing.T) {
	data := message(minimal(), 2, number(message(nil, 1, bytes.Repeat([]byte{1}, 5000)), 2, 1))
	if _, err := new(Decoder).Bytes(data); !errors.As(err, new(*LimitError)) {
		t.Fatalf("error %v, want one about a limit", err)
	}
	p, err := profile.ParseData(data)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := FromProfile(p, new(Symbols)); err != nil {
		t.Errorf("refused once more: %v", err)
	}
}

// The frames of all stacks together are bounded, however short each stack is.
func TestFramesOfAllStacks(t *testing.T) {
	data := message(minimal(), 2, numbers(1, 7)) // two stacks of one frame
	if _, err := (&Decoder{Limits: Limits{Frames: 2}}).Bytes(data); err != nil {
		t.Errorf("two frames of two: %v", err)
	}
	var refused *LimitError
	if _, err := (&Decoder{Limits: Limits{Frames: 1}}).Bytes(data); !errors.As(err, &refused) || refused.What != "frames" {
		t.Errorf("two frames of one: %v, want a LimitError of Frames", err)
	}
}
