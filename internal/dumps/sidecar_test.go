package dumps

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// What the store writes it reads, and nobody's text ends a script of a page.
func TestSidecarRoundTrip(t *testing.T) {
	in := Sidecar{
		ID: "x", Start: start, End: start.Add(time.Second), Budget: json.RawMessage(`{"name":"</script>\u2028"}`),
		Mark: First, Build: "shop v1 go1.26 linux/amd64", Host: "h", PID: 7, Files: []string{"x.cpu.pb.gz", "x.trace.out"},
	}
	data, err := json.MarshalIndent(in, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(data, []byte("<")) || bytes.Contains(data, []byte("\u2028")) {
		t.Errorf("the sidecar is not inert in HTML: %s", data)
	}
	read, err := readSidecar(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	out := sidecarOf(t, Info{Sidecar: read})
	if !strings.Contains(string(out.Budget), "script") {
		t.Errorf("the budget has become %s", out.Budget)
	}
	in.Budget, out.Budget = nil, nil
	if diff := cmp.Diff(in, out); diff != "" {
		t.Error(diff)
	}
}

// sidecarOf is the sidecar of a dump in a list.
func sidecarOf(t *testing.T, info Info) (s Sidecar) {
	t.Helper()
	if err := json.Unmarshal(info.Sidecar, &s); err != nil {
		t.Fatalf("%v: %+v", err, info)
	}
	return s
}
