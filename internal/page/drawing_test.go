package page

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// hostile are names that somebody chose to break a page.
var hostile = []string{
	`</script><script>alert(1)</script>`,
	`</title></svg><img src=x onerror=alert(1)>`,
	`" onmouseover="alert(1)`, `' onfocus='alert(1)`, "`", `javascript:alert(1)`,
	`]]><x>`, `<!--`, `-->`, `&lt;b&gt;`, `&#60;b&#62;`, `{{.}}`, `</style><b>`,
	"a\u2028b\u2029c", "a\x00b", "\x1b[31m", "a\nb\r\tc", "\u202egnp.exe", "\ufeff", "\xff\xfe\xc0\xaf", "\ud7ff\uffff",
	"main.(*T[go.shape.struct { A int; B map[string]interface {} }]).Meth",
	strings.Repeat("x", 5000), strings.Repeat("é", 400), "",
}

// inert reports what is wrong with an SVG drawing: what is no XML, any element or
// attribute but those that drawings are made of, links out of the page.
func inert(svg string) error {
	elements := " svg a title rect text line path circle "
	attributes := " class x y width height rx href xmlns role aria-label x1 x2 y1 y2 d cx cy r "
	d := xml.NewDecoder(strings.NewReader(svg))
	depth := 0
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		switch token := token.(type) {
		case xml.StartElement:
			if depth == 0 && token.Name.Local != "svg" {
				return fmt.Errorf("<%s> outside of the drawing", token.Name.Local)
			}
			depth++
			if !strings.Contains(elements, " "+token.Name.Local+" ") {
				return fmt.Errorf("element %q", token.Name.Local)
			}
			for _, a := range token.Attr {
				if !strings.Contains(attributes, " "+a.Name.Local+" ") {
					return fmt.Errorf("attribute %q", a.Name.Local)
				}
				if a.Name.Local == "href" && !strings.HasPrefix(a.Value, "?at=") {
					return fmt.Errorf("link to %q", a.Value)
				}
			}
		case xml.EndElement:
			depth--
		case xml.CharData:
			for _, r := range string(token) {
				if r != '\n' && !unicode.IsPrint(r) {
					return fmt.Errorf("character %U", r)
				}
			}
		default:
			return fmt.Errorf("%T in the drawing", token)
		}
	}
}

func TestInertFindsOffenders(t *testing.T) {
	for _, svg := range []string{
		`<svg><script>1</script></svg>`, `<svg onload="x"/>`, `<svg><a href="javascript:x"/></svg>`, `<svg><!-- x --></svg>`,
		`<svg><title></svg>`, "<svg><title>\u2028</title></svg>", `<svg/><b/>`, `<svg><![CDATA[` + "\u202e" + `]]></svg>`,
	} {
		if inert(svg) == nil {
			t.Errorf("%s: found nothing wrong", svg)
		}
	}
}

func TestFlameIsInert(t *testing.T) {
	for _, links := range []bool{false, true} {
		if err := inert(string(NewFlame(tableOf(t, chainOf(hostile...)), "", nil).SVG(links))); err != nil {
			t.Error(err)
		}
	}
}

func FuzzFlame(f *testing.F) {
	for _, name := range hostile {
		f.Add(name, "main.main", "0.0")
	}
	f.Fuzz(func(t *testing.T, a, b, at string) {
		path, err := ParsePath(at)
		if err != nil {
			path = nil
		}
		flame := NewFlame(tableOf(t, chainOf(a, b, a, b+a)), b, path)
		if err := inert(string(flame.SVG(true))); err != nil {
			t.Errorf("names %q and %q: %v", a, b, err)
		}
	})
}

func TestClean(t *testing.T) {
	tests := []struct{ name, want string }{
		{"net/http.(*conn).serve", "net/http.(*conn).serve"},
		{"main.größe[go.shape.struct { A int }]", "main.größe[go.shape.struct { A int }]"},
		{"a\u2028b\x00\n", `a\u2028b\u0000\u000a`},
		{"\u202egnp", `\u202egnp`},
		{"a\xffb", "a\uFFFDb"},
		{"", ""},
	}
	for _, test := range tests {
		if got := Clean(test.name); got != test.want {
			t.Errorf("Clean(%q) = %q, want %q", test.name, got, test.want)
		}
	}
	for _, name := range hostile {
		got := Clean(name)
		// An escape takes six characters.
		if !utf8.ValidString(got) || utf8.RuneCountInString(got) > 6*maxName+1 {
			t.Errorf("Clean(%.20q) has %d bytes, or is no UTF-8", name, len(got))
		}
	}
}

func TestShort(t *testing.T) {
	for name, want := range map[string]string{
		"net/http.(*conn).serve": "http.(*conn).serve", "main.main": "main.main", "": "",
		"example.com/a/b.Map[example.com/c/d.T]": "b.Map[example.com/c/d.T]",
	} {
		if got := Short(name); got != want {
			t.Errorf("Short(%q) = %q, want %q", name, got, want)
		}
	}
}

func TestBar(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	tests := []struct {
		name                    string
		value, low, high, limit float64
		class                   string // "": nothing is drawn
	}{
		{"kept", 0.1, 0.08, 0.12, 0.2, "bar ok"},
		{"broken", 0.7, 0.65, 0.72, 0.2, "bar over"},
		{"far beyond", 1e300, 0, inf, 1e-300, "bar over"},
		{"bounds unknown", 0.1, nan, nan, 0.2, "bar ok"},
		{"no limit", 0.1, 0, 1, 0, ""},
		{"no number", nan, 0, 1, 0.2, ""},
		{"infinite", inf, 0, 1, 0.2, ""},
		{"negative", -1, -1, -1, 0.2, ""},
	}
	for _, test := range tests {
		got := string(Bar(test.value, test.low, test.high, test.limit, "ratio"))
		if !strings.Contains(got, test.class) || (got == "") != (test.class == "") {
			t.Errorf("%s: %s", test.name, got)
		}
		if err := inert(got); err != nil || strings.Contains(got, "NaN") || strings.Contains(got, "Inf") {
			t.Errorf("%s: %v in %s", test.name, err, got)
		}
	}
}

func TestSparkline(t *testing.T) {
	nan := math.NaN()
	tests := []struct {
		name   string
		values []float64
		path   string
	}{
		{"rise", []float64{0, 1}, `d="M2.0 22.0L118.0 2.0"`},
		{"gap", []float64{0, 1, nan, 1, 1}, `d="M2.0 22.0L31.0 2.0M89.0 2.0L118.0 2.0"`},
		{"zeros", []float64{0, 0}, `d="M2.0 22.0L118.0 22.0"`},
		{"negative", []float64{-1, 1}, `d="M2.0 22.0L118.0 2.0"`},
		{"one", []float64{1}, ""},
		{"none", nil, ""},
		{"gaps", []float64{nan, nan, math.Inf(1)}, ""},
	}
	for _, test := range tests {
		got := string(Sparkline(test.values, 0, "ratio"))
		if !strings.Contains(got, test.path) || (got == "") != (test.path == "") {
			t.Errorf("%s: found %s, want %s", test.name, got, test.path)
		}
		if err := inert(got); err != nil {
			t.Errorf("%s: %v", test.name, err)
		}
	}
	if got := string(Sparkline([]float64{0, 1}, 2, "ratio")); !strings.Contains(got, `class="limit"`) {
		t.Errorf("no limit in %s", got)
	}
}

func TestAmount(t *testing.T) {
	tests := []struct {
		v    float64
		unit string
		want string
	}{
		{0.7123, "ratio", "71.2%"}, {0, "ratio", "0%"}, {0.0005, "ratio", "0.05%"}, {1, "ratio", "100.0%"},
		{1.5, "cores", "1.5 cores"}, {0.00004, "seconds", "40µs"}, {12.345, "seconds", "12.35s"}, {1e300, "seconds", "1e+300s"},
		{64 << 20, "bytes", "64.0 MiB"}, {12, "bytes", "12 B"}, {4999, "count", "4999"}, {0.5, "", "0.50"},
		{math.NaN(), "ratio", "–"}, {math.Inf(1), "bytes", "–"},
	}
	for _, test := range tests {
		if got := Amount(test.v, test.unit); got != test.want {
			t.Errorf("Amount(%v, %q) = %q, want %q", test.v, test.unit, got, test.want)
		}
	}
}
