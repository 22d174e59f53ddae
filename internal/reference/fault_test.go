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
		"no JSON":                 {prefix + `{"form":1,"windows":[`, "damaged"},
		"another type":            {prefix + `[1,2]`, "damaged"},
		"a number below zero":     {prefix + `{"form":1,"windows":[{"samples":-1}]}`, "window 1"},
		"a huge number":           {prefix + `{"form":1,"windows":[{"cpu":1e300}]}`, "window 1"},
		"work below zero":         {prefix + `{"form":1,"windows":[{"work":{"request":-7}}]}`, "request"},
		"a spread below zero":     {prefix + `{"form":1,"spread":{"main.f":-1}}`, "main.f"},
		"too many windows":        {prefix + `{"form":1,"windows":[` + strings.Repeat("{},", 100) + `{}]}`, "101 windows"},
		"too many facts":          {prefix + `{"form":1,"build":{"version":"` + strings.Repeat("v", mostFacts) + `"}}`, "bytes"},
		"of the future":           {prefix + `{"form":7}`, "newer profguard"},
		"of the future, and else": {prefix + `{"form":7,"windows":"none"}`, "newer profguard"},
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
	b, err := Encode(sum.Side(), time.Now())
	if err != nil {
		t.Fatal(err)
	}
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
	if b, err = Encode(odd, time.Now()); err != nil {
		t.Fatal(err)
	}
	if s, err := Decode(new(decode.Decoder), b); err != nil || len(s.Build.Version) > longest || s.Build.String() == "" {
		t.Errorf("%+v, %v", s, err)
	}
}
