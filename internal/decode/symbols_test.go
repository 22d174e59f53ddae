package decode

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSymbolsStartAnew(t *testing.T) {
	var d Decoder
	decode := func(data []byte) *Table {
		t.Helper()
		table, err := d.Bytes(data)
		if err != nil {
			t.Fatal(err)
		}
		return table
	}
	table := decode(minimal())
	s := table.Symbols
	f := s.Intern([]byte("main.f"))
	for i := range keptBytes / nameBytes {
		s.Intern(fmt.Appendf(nil, "f%d", i))
	}
	if s.Name(f) != "main.f" {
		t.Errorf("name %q, want main.f", s.Name(f))
	}
	table = decode(minimal())
	if table.Symbols == s || table.Symbols.Len() > 10 {
		t.Errorf("%d names, want new Symbols with a few", table.Symbols.Len())
	}
	s = table.Symbols
	if diff := cmp.Diff("main.f", s.Name(table.Lines[0].Name)); diff != "" {
		t.Error(diff)
	}
	if decode(minimal()).Symbols != s {
		t.Error("new Symbols for the same profile")
	}
	if new(Symbols).Name(0) != "" || new(Symbols).Len() != 1 || new(Symbols).Intern(nil) != 0 {
		t.Error("the zero Symbols do not know the empty string")
	}
}

// TestSymbolsBound gives profiles whose names all change, a large one again and again,
// and small ones after it.
func TestSymbolsBound(t *testing.T) {
	if testing.Short() {
		t.Skip("a million names")
	}
	var s *Symbols
	anew := 0
	give := func(first, count int) {
		t.Helper()
		if next := s.next(count, 30*count); next != s {
			s = next
			anew++
		}
		for i := range count {
			s.Intern(fmt.Appendf(nil, "example.com/app.F%d", first+i))
		}
	}
	most := 0
	for i := range 40 {
		give(5000*i, 5000)
		most = max(most, s.Len())
	}
	if kept := keptBytes / nameBytes; most > kept+5000 || anew == 1 {
		t.Errorf("%d names were remembered at most, and forgotten %d times; want at most %d and those of a profile", most, anew-1, kept)
	}
	before := anew
	for range 10 {
		give(0, keptBytes/100)
	}
	if anew > before+1 {
		t.Errorf("the same large profile ten times started anew %d times, want once", anew-before)
	}
	give(2_000_000, 1000)
	if s.Len() > 1001 {
		t.Errorf("%d names after a large profile and a small one, want those of the small one", s.Len())
	}
	for i := range 400 {
		s.Intern(bytes.Repeat([]byte{'a' + byte(i%26)}, 30<<10+i))
	}
	if give(0, 1); s.Len() > 2 {
		t.Errorf("%d names after 12 MiB of text, want those of a profile", s.Len())
	}
}
