package decode

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/pprof/profile"
)

func fixtures(t testing.TB) map[string][]byte {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", "*.pb*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no fixtures in testdata: run `go run ./testdata/gen testdata` (%v)", err)
	}
	all := map[string][]byte{}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all[filepath.Base(file)] = data
	}
	return all
}

func TestDecodeFixtures(t *testing.T) {
	var d Decoder
	for name, data := range fixtures(t) {
		t.Run(name, func(t *testing.T) { sameAsOracle(t, &d, data) })
	}
}

func TestMadeUpNames(t *testing.T) {
	table, err := new(Decoder).Bytes(fixtures(t)["odd.pb.gz"])
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	s := table.Samples[1]
	for _, l := range table.Stacks[s.StackLo:s.StackHi] {
		line := table.Lines[table.Locations[l].LineLo]
		got = append(got, table.Symbols.Name(line.Name))
	}
	// As `go tool pprof -top testdata/odd.pb.gz` has them.
	want := []string{"[libc.so.6]", "[libc.so.6]", "<unknown>", "<unknown>", "_Cfunc_x"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	for file, want := range map[string]string{"": "<unknown>", "a": "[a]", "/a/b": "[b]", "a/b/": "[b]", `C:\a\b.dll`: "[b.dll]", "[vdso]": "[[vdso]]"} {
		if got := string(appendMadeUp(nil, []byte(file))); got != want {
			t.Errorf("made-up name for %q: %q, want %q", file, got, want)
		}
	}
}

// FuzzDecode holds the decoder against google/pprof, on the same bytes with and
// without gzip around them. Large ones are left out, because google/pprof has no limits.
func FuzzDecode(f *testing.F) {
	for _, data := range fixtures(f) {
		f.Add(data)
	}
	f.Add(minimal())
	f.Add(synthetic(5, 5, 5))
	f.Add(sparse(70))
	f.Add([]byte("heap profile: 1: 2 [3: 4] @ heap/1\n"))
	var d Decoder
	f.Fuzz(func(t *testing.T, data []byte) {
		compareOrSkip(t, &d, data)
		if !isGzip(data) && len(data) < 16<<10 {
			compareOrSkip(t, &d, gzipped(t, data))
		}
	})
}

func compareOrSkip(t *testing.T, d *Decoder, data []byte) {
	if len(data) > 64<<10 {
		return
	}
	table, err := d.Decode(bytes.NewReader(data))
	if _, ok := asLimit(err); ok || err == nil && (len(table.Types) > 1000 || len(table.Samples) > 5000) {
		return // google/pprof might explode, or what the two are compared by
	}
	raw := data
	var p *profile.Profile
	var oracleErr error
	if isGzip(data) {
		raw, oracleErr = stdGunzip(data)
	}
	if len(raw) > 256<<10 {
		return
	}
	if oracleErr == nil {
		p, oracleErr = profile.ParseUncompressed(raw)
	}
	if oracleErr == nil {
		oracleErr = p.CheckValid()
	}
	if (err == nil) != (oracleErr == nil) {
		t.Fatalf("Decode says %v, google/pprof says %v", err, oracleErr)
	}
	if err != nil {
		return
	}
	want := viewOfProfile(p)
	if diff := diffOf(want, viewOfTable(table)); diff != "" {
		t.Fatalf("-google/pprof +Decode:\n%s", diff)
	}
	table, err = new(Decoder).Profile(p)
	if err != nil {
		t.Fatal(err)
	}
	if diff := diffOf(want, viewOfTable(table)); diff != "" {
		t.Fatalf("-google/pprof +Profile:\n%s", diff)
	}
}
