package folded

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestProfile(t *testing.T) {
	p := Must(`cpu 10s
# a comment
main.main;main.run@run.go:12;~main.inlined@in.go:40;main.Gen[go.shape.struct { A int }] 3 {endpoint=/a, tenant=b c}
main.main;main.run@run.go:13 2
`)
	var got []string
	for _, s := range p.Sample {
		var frames []string
		for _, l := range s.Location {
			for _, line := range l.Line {
				frames = append(frames, line.Function.Name)
			}
			frames = append(frames, "|")
		}
		got = append(got, strings.Join(frames, " "))
	}
	want := []string{
		"main.Gen[go.shape.struct { A int }] | main.inlined main.run | main.main |",
		"main.run | main.main |",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("stacks (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]int64{3, 30e6}, p.Sample[0].Value); diff != "" {
		t.Errorf("values (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string][]string{"endpoint": {"/a"}, "tenant": {"b c"}}, p.Sample[0].Label); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
	if l := p.Sample[1].Location[0].Line[0]; l.Line != 13 || l.Function.Filename != "run.go" {
		t.Errorf("main.run is at %s:%d, want run.go:13", l.Function.Filename, l.Line)
	}
	if p.DurationNanos != 10e9 {
		t.Errorf("it took %d, want 10s", p.DurationNanos)
	}
}

func TestKinds(t *testing.T) {
	for text, want := range map[string][]int64{
		"heap\na;b 2 4096":       {2, 4096, 2, 4096},
		"allocs rate=1\na 1 8":   {1, 8, 1, 8},
		"goroutine\na;b 7":       {7},
		"goroutineleak\na;b 7":   {7},
		"mutex 10s\na;b 3 30ms":  {3, 30e6},
		"block 10s\na;b 3 500ns": {3, 500},
	} {
		if diff := cmp.Diff(want, Must(text).Sample[0].Value); diff != "" {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}
	}
}

func TestMistakes(t *testing.T) {
	for text, want := range map[string]string{
		"gpu":                 "expected a kind",
		"cpu soon":            "expected a number or a duration",
		"cpu\nmain.main":      "expected a stack",
		"cpu\nmain.main many": "expected a number",
	} {
		func() {
			defer func() {
				if said := recover(); said == nil || !strings.Contains(said.(string), want) {
					t.Errorf("%q: %v, want a panic with %q", text, said, want)
				}
			}()
			Must(text)
		}()
	}
}
