package spelling

import "testing"

func TestDistance(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want int
	}{
		{"", "", 0},
		{"", "abc", 3},
		{"above", "above", 0},
		{"abov", "above", 1},
		{"abvoe", "above", 1},
		{"regex.compile", "regexp.compile", 1},
		{"Unmarshall", "Unmarshal", 1},
		{"checkuot", "checkout", 1},
		{"for", "foo", 1},
		{"cat", "dog", 3},
	} {
		if got, back := Distance(tt.a, tt.b), Distance(tt.b, tt.a); got != tt.want || back != tt.want {
			t.Errorf("Distance(%q, %q) = %d, and %d the other way round; want %d", tt.a, tt.b, got, back, tt.want)
		}
	}
}

func TestNearest(t *testing.T) {
	keywords := []string{"above", "below", "absent", "grows", "steady", "leaked", "cumulative", "for", "in"}
	for word, want := range map[string]string{
		"abov": "above", "aboev": "above", "belwo": "below", "absnet": "absent", "absent": "absent", "cumulatve": "cumulative",
		"foo": "for", "fxx": "", "xyz": "", "": "", "stedy": "steady", "cumulativecumulativecumulative": "",
	} {
		if got := Nearest(word, min(len(word)/3, 2), keywords); got != want {
			t.Errorf("the nearest of %q is %q, want %q", word, got, want)
		}
	}
}
