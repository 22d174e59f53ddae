package dumps

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSidecarRoundTrip(t *testing.T) {
	in := Sidecar{
		ID: "x", Time: start, Budget: "b", Sentence: "s", Kind: "cpu", Verdict: "fail",
		Share: 0.5, Low: 0.4, High: 0.6, Limit: 0.2, Samples: 300, Reason: "r",
		Offenders: []Offender{{Name: "f", Share: 0.5, File: "a.go", Line: 3, CalledFrom: "main.go:7"}},
		Window:    Window{Start: start, Seconds: 10, Outcome: "good"},
		Violation: "v", Severity: 2, First: true, Worst: true,
		Build: Build{Path: "p", Version: "v1", Go: "go1.26"}, Host: "h", PID: 7,
		Profile: "x.cpu.pb.gz", Companions: []string{"x.trace.out"},
	}
	data, err := in.encode()
	if err != nil {
		t.Fatal(err)
	}
	out, err := decodeSidecar(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(in, out); diff != "" {
		t.Error(diff)
	}
}

func TestSidecarIsBounded(t *testing.T) {
	// Control characters take six bytes each in JSON, the most there is.
	evil := strings.Repeat("\x01", 1<<20)
	in := Sidecar{Budget: "</script>\u2028\xff", Share: math.NaN(), High: math.Inf(1), Low: math.Inf(-1)}
	for range 1000 {
		in.Offenders = append(in.Offenders, Offender{Name: evil, File: evil, CalledFrom: evil, Share: math.NaN()})
	}
	data, err := in.encode()
	if err != nil {
		t.Fatal(err)
	}
	if len(data) > maxSidecar {
		t.Errorf("%d bytes", len(data))
	}
	if bytes.Contains(data, []byte("</script>")) || bytes.Contains(data, []byte("\u2028")) {
		t.Error("the sidecar is not inert in HTML")
	}
	out, err := decodeSidecar(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	if out.Share != 0 || out.High != math.MaxFloat64 || out.Low != -math.MaxFloat64 || len(out.Offenders) == 0 {
		t.Errorf("got %v %v %v, %d offenders", out.Share, out.High, out.Low, len(out.Offenders))
	}
	if len(in.Offenders) != 1000 || len(in.Offenders[0].Name) != len(evil) {
		t.Error("encode changed the caller's value")
	}
	if _, err := decodeSidecar(strings.NewReader(strings.Repeat(" ", maxSidecar) + "{}")); err == nil {
		t.Error("an oversized sidecar was read")
	}
	// What somebody else has written is cut as well.
	in.Offenders, in.Sentence = nil, strings.Repeat("x", 60<<10)
	data, err = json.Marshal(in.bounded(0))
	if err != nil {
		t.Fatal(err)
	}
	data = bytes.Replace(data, []byte(in.bounded(0).Sentence), []byte(in.Sentence), 1)
	if out, err = decodeSidecar(bytes.NewReader(data)); err != nil || len(data) < 60<<10 || len(out.Sentence) > 2<<10 {
		t.Errorf("a sentence of %d bytes was read, %v", len(out.Sentence), err)
	}
	if got := cut(strings.Repeat("é", maxText)); !strings.HasSuffix(got, "é…") {
		t.Errorf("cut inside a rune: …%q", got[len(got)-8:])
	}
}
