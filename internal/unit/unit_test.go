package unit_test

import (
	"math"
	"strings"
	"testing"

	. "github.com/profguard/profguard/internal/unit"
)

// TestUnits holds the table against itself: each unit is found by its name and by its
// spellings.
func TestUnits(t *testing.T) {
	for _, u := range Units {
		if got := (Amount{Unit: u.Name}).Dimension(); got != u.Dimension || got == Unknown {
			t.Errorf("%q has dimension %d", u.Name, got)
		}
		for _, word := range append([]string{u.Name}, u.Spellings()...) {
			if got, ok := Named(word); ok != (word != "") || got.Name != u.Name {
				t.Errorf("Named(%q) = %q, %v", word, got.Name, ok)
			}
		}
	}
}

func TestUnknownDimension(t *testing.T) {
	if got := Dimension(99).String() + Dimension(-1).String(); got != "Dimension(99)Dimension(-1)" {
		t.Errorf("unknown ones: %s", got)
	}
}

// TestBase: a limit is the number that was written, and not its neighbour.
func TestBase(t *testing.T) {
	for _, tt := range []struct {
		value float64
		name  string
		want  float64
	}{
		{35, "%", 0.35}, {29, "%", 0.29}, {7, "points", 0.07}, {40, "us", 40e-6}, {3, "ms", 0.003}, {7, "ns", 7e-9}, {2, "h", 7200},
		{64, "MiB", 64 << 20}, {1.5, "cores", 1.5}, {2, "kB", 2000}, {5000, "", 5000}, {5, "parsec", 0},
	} {
		if got := (Amount{tt.value, tt.name}).Base(); got != tt.want {
			t.Errorf("%v%s is %v, want %v", tt.value, tt.name, got, tt.want)
		}
	}
}

// A measured amount has the digits that its bounds carry, and two at least.
func TestRounded(t *testing.T) {
	for _, tt := range []struct {
		v, low, high float64
		d            Dimension
		want         string
	}{
		{0.00124034, 0.0009, 0.0016, Time, "1.2ms"}, {0.00124034, 0.00119, 0.0013, Time, "1.24ms"}, {0.00124034, 0, 1e15, Time, "1.2ms"},
		{0.00124034, 0.00124034, 0.00124034, Time, "1.24ms"}, // counted
		{0.0357, 0.02, 0.06, Time, "36ms"}, {1.2345, 1, 1.5, Time, "1.20s"}, {0, 0, 0.5, Time, "0s"}, {-0.0123456, -0.02, 0, Time, "-12ms"},
		{0.123456, 0.05, 0.2, Cores, "0.12 cores"}, {12345.6, 9000, 16000, Count, "12000"}, {0.123456, 0.05, 0.2, Share, "12.35%"},
		{4.56e-7, 3e-7, 6e-7, Time, "460ns"}, {1363148, 800000, 2e6, Bytes, "1.30MiB"},
		{math.NaN(), 0, 1, Time, "–"}, {math.Inf(1), 0, 1, Time, "–"}, {30.17, 0, 0, Waited, "30.2 s waited per second"},
	} {
		if got := Rounded(tt.v, tt.low, tt.high, tt.d); got != tt.want {
			t.Errorf("Rounded(%v, %v, %v, %v) = %q, want %q", tt.v, tt.low, tt.high, tt.d, got, tt.want)
		}
	}
}

// A bound is rounded away from the value, so that it stays one.
func TestBound(t *testing.T) {
	for _, tt := range []struct {
		v, value float64
		d        Dimension
		want     string
	}{
		{0.00155059, 0.001325, Time, "1.6ms"}, {0.00112, 0.001325, Time, "1.1ms"}, {0.00119, 0.001325, Time, "1.1ms"}, {0.0016, 0.001325, Time, "1.6ms"},
		{0.00133, 0.001325, Time, "1.33ms"}, {0.001325, 0.001325, Time, "1.325ms"}, {0, 0.5, Time, "0s"}, {0.123456, 0.1, Share, "12.35%"}, {31.41, 25, Waited, "32 s"},
	} {
		if got := Bound(tt.v, tt.value, tt.d); got != tt.want {
			t.Errorf("Bound(%v, %v, %v) = %q, want %q", tt.v, tt.value, tt.d, got, tt.want)
		}
	}
}

func TestFormat(t *testing.T) {
	for _, tt := range []struct {
		v    float64
		d    Dimension
		want string
	}{
		{0.125, Share, "12.50%"}, {0, Points, "0.00 points"}, {1, Cores, "1 core"}, {0.0758, Cores, "0.0758 cores"}, {12.345, Cores, "12.3 cores"}, {30.17, Waited, "30.2 s waited per second"},
		{0.00124034, Time, "1.24ms"}, {0.012345678, Time, "12.35ms"}, {0.0009, Time, "900µs"}, {1.5, Time, "1.50s"}, {1e-8, Time, "10ns"}, {3.4e-9, Time, "3.4ns"}, {2.4e-8, Time, "24ns"}, {9.999e-7, Time, "1µs"}, {0, Time, "0s"}, {-2, Time, "-2.00s"},
		{512, Bytes, "512B"}, {1.4, Bytes, "1.4B"}, {1023.9, Bytes, "1024B"}, {0, Bytes, "0B"}, {1536, Bytes, "1.50KiB"}, {64 << 20, Bytes, "64.00MiB"}, {-3 << 30, Bytes, "-3.00GiB"},
		{math.NaN(), Share, "–"}, {math.Inf(1), Time, "–"}, {2e9, Time, "2000000000.00s"},
		{0.5, Share, "50.00%"}, {2, Cores, "2 cores"}, {2048, Bytes, "2.00KiB"}, {3, Count, "3"},
		{12.345, Count, "12.35"}, {5000.4, Count, "5000"},
	} {
		if got := Format(tt.v, tt.d); got != tt.want {
			t.Errorf("Format(%v, %d) = %q, want %q", tt.v, tt.d, got, tt.want)
		}
	}
}

func TestRange(t *testing.T) {
	for _, tt := range []struct {
		low, high float64
		d         Dimension
		want      string
	}{
		{0.1, 0.28, Share, "10.00% to 28.00%"}, {0.2, 0.4, Cores, "0.2 to 0.4 cores"}, {1, 2, Cores, "1 core to 2 cores"},
		{25, 35.5, Waited, "25 to 35.5 s"}, {0.0009, 0.001, Time, "900µs to 1ms"}, {1, 2, Count, "1 to 2"},
	} {
		if got := Range(tt.low, tt.high, tt.d); got != tt.want {
			t.Errorf("Range(%v, %v, %d) = %q, want %q", tt.low, tt.high, tt.d, got, tt.want)
		}
	}
}

func TestPlural(t *testing.T) {
	for n, want := range map[int]string{0: "0 samples", 1: "1 sample", 2: "2 samples"} {
		if got := Plural(n, "sample"); got != want {
			t.Errorf("Plural(%d) = %q, want %q", n, got, want)
		}
	}
	for what, want := range map[string]string{"http_requests_total": "2 http_requests_total", `requests{code="200"}`: `2 requests{code="200"}`, "requests": "2 requests", "request": "2 requests"} {
		if got := Plural(2, what); got != want {
			t.Errorf("Plural(2, %q) = %q, want %q", what, got, want)
		}
	}
	if got := Plural(int64(2), "batch"); got != "2 batches" {
		t.Errorf("%q, want 2 batches", got)
	}
}

// TestMeant: a word that people write in the place of a unit is no unit, and means one.
func TestMeant(t *testing.T) {
	for _, u := range Units {
		for word := range strings.FieldsSeq(u.Mistaken()) {
			if of, is := Named(word); is && of.Name != "m" { // of 64m, minutes are not meant
				t.Errorf("%q is %s, and no mistake for %s", word, of.Name, u.Name)
			}
			if got := Meant(word); got != u.Name {
				t.Errorf("%q means %q, want %q", word, got, u.Name)
			}
		}
	}
	if got := Meant("parsec"); got != "" {
		t.Errorf("a parsec means %q", got)
	}
}
