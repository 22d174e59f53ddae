package dumps

import (
	"errors"
	"io"
	"io/fs"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSlug(t *testing.T) {
	for budget, want := range map[string]string{
		"checkout-tls":                     "checkout-tls",
		"no function above 20% cumulative": "no-function-above-20-cumulative",
		"../../etc/passwd":                 "etc-passwd",
		"":                                 "budget",
		"%%%":                              "budget",
		"a\x00b":                           "a-b",
		"CON":                              "CON",
		strings.Repeat("x", 300):           strings.Repeat("x", maxSlug),
		strings.Repeat("x", 47) + " y":     strings.Repeat("x", 47),
	} {
		if got := slug(budget); got != want {
			t.Errorf("slug(%q) = %q, want %q", budget, got, want)
		}
	}
}

func FuzzName(f *testing.F) {
	f.Add("checkout", "profguard-20261121T091500.123Z-x-00000001-00000002.json")
	f.Add("no function above 20%", "profguard-20261121T091500.123Z-first-00000001-00000002-first.cpu.pb.gz.tmp")
	f.Fuzz(func(t *testing.T, budget, file string) {
		for _, mark := range []string{"", First, Worst} {
			n := newName(start, budget, "00000001", "0badcafe", mark)
			if got, suffix, ok := parseFile(n.file("cpu.pb.gz")); !ok || got != n || suffix != "cpu.pb.gz" {
				t.Errorf("%+v comes back as %+v", n, got)
			}
		}
		if n, suffix, ok := parseFile(file); ok {
			if fileName(n.id, suffix) != file || strings.ContainsAny(file, "/\\\x00%") {
				t.Errorf("%q was taken for %+v", file, n)
			}
		}
	})
}

func TestFault_62_HostileIDs(t *testing.T) {
	s, _ := openTest(t, newDir(t), testKeep, nil)
	good := mustSave(t, s, testDump("b"))
	file := fileName(good, "cpu.pb.gz")
	f, err := s.Open(good, file)
	if err != nil {
		t.Fatal(err)
	}
	data, _ := io.ReadAll(f)
	f.Close()
	if diff := cmp.Diff(testDump("b").Files[0].Data, data); diff != "" {
		t.Error("the profile came back different")
	}

	for _, bad := range []struct{ id, file string }{
		{"", ""},
		{"../secret", "../secret"},
		{string(good), "../" + file},
		{string(good), "..%2f" + file},
		{string(good), "/etc/passwd"},
		{string(good), file + "\x00"},
		{string(good), strings.ToUpper(file)},
		{string(good), file + "/."},
		{string(good), folderName(s.instance)},
		{string(good), file + tempExt},
		{string(good), fileName(good, "svg")},
		{string(good) + "\x00", file},
		{"%2e%2e", file},
		{strings.Replace(string(good), "-b-", "-../b-", 1), strings.Replace(file, "-b-", "-../b-", 1)},
		{strings.Replace(string(good), "2026", "9999", 1), strings.Replace(file, "2026", "9999", 1)},
		{strings.Replace(string(good), "1121T", "1399T", 1), strings.Replace(file, "1121T", "1399T", 1)},
	} {
		if f, err := s.Open(ID(bad.id), bad.file); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("Open(%q, %q) = %v, %v; want fs.ErrNotExist", bad.id, bad.file, f, err)
		}
	}
}
