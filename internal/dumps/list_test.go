package dumps

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Whatever somebody writes into sidecars, a list reads no more of them than a store
// writes, and of no more dumps than are asked for.
func TestFault_67_HostileSidecars(t *testing.T) {
	long := `{"budget": "b", "sentence": "` + strings.Repeat("x", 60<<10) + `"}`
	for name, tt := range map[string]struct {
		text string
		ok   bool
	}{
		"clean twin":        {`{"budget": "b", "sentence": "x"}`, true},
		"one long text":     {long, true},
		"too large":         {strings.Repeat(" ", 256<<10) + long, false},
		"too large to read": {long + strings.Repeat(" ", 4<<10), false},
		"deep":              {strings.Repeat("[", 60<<10), false},
		"of another type":   {`{"offenders": 7}`, false},
		"empty":             {"", false},
	} {
		t.Run(name, func(t *testing.T) {
			dir := newDir(t)
			folder := filepath.Join(dir, folderName("00000001"))
			if err := os.MkdirAll(folder, 0o700); err != nil {
				t.Fatal(err)
			}
			for n := range 100 {
				id := numbered(n).id()
				for suffix, text := range map[string]string{"json": tt.text, "cpu.pb.gz": "x"} {
					if err := os.WriteFile(filepath.Join(folder, fileName(id, suffix)), []byte(text), 0o600); err != nil {
						t.Fatal(err)
					}
				}
			}
			var d1 *faulty
			s, _ := openTest(t, dir, Keep{Files: 1000, Free: 1e-12}, func(d disk) disk { d1 = &faulty{disk: d}; return d1 })
			if d1.bytes > 0 {
				t.Errorf("Open reads %d bytes", d1.bytes)
			}
			list, total, err := s.List(10)
			if err != nil || len(list) != 10 || total != 100 {
				t.Fatalf("%d of %d dumps are listed, %v", len(list), total, err)
			}
			for _, info := range list {
				if (info.Err == nil) != tt.ok || info.Budget != "b" || len(info.Sidecar.Sentence) > 2000 {
					t.Errorf("%s: budget %q, a sentence of %d bytes, %v", info.ID, info.Budget, len(info.Sidecar.Sentence), info.Err)
				}
			}
			if d1.bytes > 10*(64<<10+1) {
				t.Errorf("for 10 dumps %d bytes are read", d1.bytes)
			}
		})
	}
}

func numbered(n int) name {
	return name{time: start, slug: "b", instance: "00000001", random: fmt.Sprintf("%08x", n)}
}

// What the store writes it reads, however large the texts are.
func TestLargestSidecar(t *testing.T) {
	d := testDump("b")
	for range 100 {
		o := Offender{Name: strings.Repeat("<", 5000), File: strings.Repeat("f", 5000), CalledFrom: strings.Repeat("c", 5000)}
		d.Sidecar.Offenders = append(d.Sidecar.Offenders, o)
	}
	s, _ := openTest(t, newDir(t), testKeep, nil)
	side, err := s.Sidecar(mustSave(t, s, d))
	if err != nil || len(side.Offenders) == 0 || !strings.HasPrefix(side.Offenders[0].Name, "<<<") {
		t.Errorf("%d offenders, %v", len(side.Offenders), err)
	}
}
