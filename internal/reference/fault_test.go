package reference

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/profguard/profguard/internal/decode"
	"github.com/profguard/profguard/internal/folded"
	"github.com/profguard/profguard/internal/release"
)

// TestFault_130_DamagedReference: what is no reference of this form is an error that says so, and
// never a wrong number.
func TestFault_130_DamagedReference(t *testing.T) {
	for name, test := range map[string]struct{ comment, want string }{
		"no form":                 {prefix + "window 1 1 1", "damaged"},
		"another form of text":    {prefix + `{"form":1}`, "damaged"},
		"a line cut off":          {prefix + "1\nwindow 950 9.", `"window 950 9."`},
		"a text cut off":          {prefix + "1\nversion \"v1", "damaged"},
		"work without a number":   {prefix + "1\nwindow 1 1 1 \"request\"", "damaged"},
		"a number below zero":     {prefix + "1\nwindow -1 1 1", "window 1"},
		"a huge number":           {prefix + "1\nwindow 1 1e300 1", "window 1"},
		"no number":               {prefix + "1\nwindow 1 NaN 1", "window 1"},
		"work below zero":         {prefix + "1\nwindow 1 1 1 \"request\" -7", "request"},
		"a machine below zero":    {prefix + "1\nwindow 1 1 1\nmachine 0 -1 0 20", "the machine of window 1"},
		"a machine cut off":       {prefix + "1\nwindow 1 1 1\nmachine 0.3", "damaged"},
		"a spread below zero":     {prefix + "1\nspread \"main.f\" -1", "main.f"},
		"too many windows":        {prefix + "1" + strings.Repeat("\nwindow 1 1 1", 101), "101 windows"},
		"too many facts":          {prefix + "1\nversion \"" + strings.Repeat("v", mostFacts) + "\"", "bytes"},
		"of the future":           {prefix + "7", "newer profguard"},
		"of the future, and else": {prefix + "7\nwindow none", "newer profguard"},
	} {
		t.Run(name, func(t *testing.T) {
			p := folded.Must(small)
			p.Comments = []string{"other", test.comment}
			var b bytes.Buffer
			if err := p.Write(&b); err != nil {
				t.Fatal(err)
			}
			if s, err := Decode(new(decode.Decoder), b.Bytes()); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%+v, %v, want an error with %q", s, err, test.want)
			}
		})
	}
	// Cut off anywhere, it is no profile.
	sum := new(Sum)
	if err := sum.Add(t.Context(), table(t, small), window(1, 1)); err != nil {
		t.Fatal(err)
	}
	b := Encode(sum.Side(), time.Now())
	for n := range b {
		if _, err := Decode(new(decode.Decoder), b[:n]); err == nil {
			t.Fatalf("the first %d bytes of %d are a reference", n, len(b))
		}
	}
	// The clean twins: a profile without facts, and a build with odd texts.
	if s, err := Of(table(t, small), nil); err != nil || len(s.Windows) != 0 {
		t.Errorf("%+v, %v", s, err)
	}
	odd := sum.Side()
	odd.Build = release.Build{Version: strings.Repeat("é", 200)}
	if s, err := Decode(new(decode.Decoder), Encode(odd, time.Now())); err != nil || len(s.Build.Version) > longest || s.Build.String() == "" {
		t.Errorf("%+v, %v", s, err)
	}
	// What a later profguard adds is no error.
	if s, err := Of(table(t, small), []string{prefix + "1\nhost \"a\"\nwindow 950 9.5 10 \"a b\" 7"}); err != nil || len(s.Windows) != 1 || s.Windows[0].Work["a b"] != 7 {
		t.Errorf("%+v, %v", s, err)
	}
}
