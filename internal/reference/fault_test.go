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
	const pieces = "\npieces 30 28500 291.3 300 27090000"
	for name, test := range map[string]struct{ comment, want string }{
		"no form":                 {prefix + "pieces 1 1 1 1 1", "damaged"},
		"another form of text":    {prefix + `{"form":1}`, "damaged"},
		"a line cut off":          {prefix + "2\npieces 30 28500 9.", `"pieces 30 28500 9."`},
		"a text cut off":          {prefix + "2\nversion \"v1", "damaged"},
		"a time cut off":          {prefix + "2\nsince 2026-01-3", "damaged"},
		"a number below zero":     {prefix + "2\npieces 30 -1 1 1 1", "pieces 30 -1"},
		"a huge number":           {prefix + "2\npieces 30 1 1e300 1 1", "pieces 30"},
		"no number":               {prefix + "2\npieces 30 1 NaN 1 1", "pieces 30"},
		"infinite":                {prefix + "2\npieces 30 +Inf 1 1 1", "pieces 30"},
		"a cost below zero":       {prefix + "2" + pieces + "\ncost \"request\" 30 291.3 -7 1 1 1 1 1 1", "request"},
		"a cost cut off":          {prefix + "2" + pieces + "\ncost \"request\" 30 291.3 126", "request"},
		"a cost without pieces":   {prefix + "2\ncost \"request\" 30 291.3 126000 1 1 1 1 1 1" + pieces, "behind the line of pieces"},
		"a machine below zero":    {prefix + "2" + pieces + "\nmachine 280.1 -0.31 4.5 0 20", "machine 280.1 -0.31"},
		"a machine cut off":       {prefix + "2" + pieces + "\nmachine 280.1", "machine 280.1"},
		"a function below zero":   {prefix + "2" + pieces + "\nfunction \"main.f\" -9 1 1", "main.f"},
		"a function cut off":      {prefix + "2" + pieces + "\nfunction \"main.f\" 9 1", "main.f"},
		"its name cut off":        {prefix + "2" + pieces + "\nfunction \"main.f", "main.f"},
		"its work without number": {prefix + "2" + pieces + "\nfunction \"main.f\" 9 1 1 \"request\"", "main.f"},
		"without pieces":          {prefix + "2\nfunction \"main.f\" 9 1 1" + pieces, "behind the line of pieces"},
		"too many facts":          {prefix + "2\nversion \"" + strings.Repeat("v", mostFacts) + "\"", "bytes"},
		"of the future":           {prefix + "7", "a newer profguard wrote it (form 7, expected at most 2): use that"},
		"of the future, and else": {prefix + "7\npieces none", "newer profguard"},
		"of the past":             {prefix + "1\nwindow 950 9.5 10 \"request\" 7", "an older profguard wrote it (form 1, expected 2): this build leaves a new one"},
	} {
		t.Run(name, func(t *testing.T) {
			p := folded.Must(small)
			p.Comments = []string{"other", test.comment + "\ntree\n"}
			var b bytes.Buffer
			if err := p.Write(&b); err != nil {
				t.Fatal(err)
			}
			if s, err := Decode(new(decode.Decoder), b.Bytes(), ""); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%+v, %v, want an error with %q", s, err, test.want)
			}
		})
	}
	// Cut off anywhere, it is no profile.
	side := &release.Side{}
	add(t, side, table(t, small), window(1, 1))
	b := Encode(side, time.Now())
	for n := range b {
		if _, err := Decode(new(decode.Decoder), b[:n], ""); err == nil {
			t.Fatalf("the first %d bytes of %d are a reference", n, len(b))
		}
	}
	// The clean twins: a build with odd texts, and what a later profguard adds.
	side.Build = release.Build{Version: strings.Repeat("é", 200)}
	if s := decoded(t, Encode(side, time.Now())); len(s.Build.Version) > longest || s.Build.String() == "" {
		t.Errorf("%+v", s.Build)
	}
	s, isTree, err := Facts([]string{"other", prefix + "2\nhost \"a\"" + pieces + " 77\ncost \"a b\" 30 291.3 7 1 1 1 1 1 1\ntree\n"})
	if err != nil || !isTree || s.Pieces.Count != 30 || s.Pieces.Work["a b"] != 7 {
		t.Errorf("%+v, %v, %v", s, isTree, err)
	}
}
