package dumps

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// Whatever somebody writes into sidecars, a list reads no more of them than a store
// writes, and of no more dumps than are asked for.
func TestFault_67_HostileSidecars(t *testing.T) {
	long := `{"budget": {"name": "b", "reason": "` + strings.Repeat("x", 250<<10) + `"}}`
	for name, tt := range map[string]struct {
		text string
		ok   bool
	}{
		"clean twin":        {`{"budget": {"name": "b"}}`, true},
		"one long text":     {long, true},
		"too large":         {strings.Repeat(" ", 1<<20) + long, false},
		"too large to read": {long + strings.Repeat(" ", 10<<10), false},
		"deep":              {strings.Repeat("[", 60<<10), false},
		"of another type":   {`{"files": 7}`, true},
		"another's id":      {`{"id": "../../etc", "budget": "b", "end": "1970-01-01T00:00:00Z"}`, true},
		"empty":             {"", false},
	} {
		t.Run(name, func(t *testing.T) {
			dir := newDir(t)
			folder := filepath.Join(inside(dir), folderName("00000001"))
			if err := os.MkdirAll(folder, 0o700); err != nil {
				t.Fatal(err)
			}
			for n := range 100 {
				id := numbered(n).id
				for suffix, text := range map[string]string{"json": tt.text, "cpu.pb.gz": "x"} {
					if err := os.WriteFile(filepath.Join(folder, fileName(id, suffix)), []byte(text), 0o600); err != nil {
						t.Fatal(err)
					}
				}
			}
			var d1 *faulty
			s, _ := openTest(t, dir, Keep{Dumps: 1000, Free: 1e-12}, func(d disk) disk { d1 = &faulty{disk: d}; return d1 })
			if d1.bytes > 0 {
				t.Errorf("Open reads %d bytes", d1.bytes)
			}
			list, total, err := s.List(10)
			if err != nil || len(list) != 10 || total != 100 {
				t.Fatalf("%d of %d dumps are listed, %v", len(list), total, err)
			}
			for _, info := range list {
				if (info.Broken == "") != tt.ok || !strings.HasPrefix(string(info.ID), "profguard-") || !info.End.Equal(start) || len(info.Sidecar) > maxSidecar {
					t.Errorf("%s of %v: a sidecar of %d bytes, %q", info.ID, info.End, len(info.Sidecar), info.Broken)
				}
			}
			if d1.bytes > 10*(maxSidecar+1) {
				t.Errorf("for 10 dumps %d bytes are read", d1.bytes)
			}
		})
	}
}

// A folder that cannot be read, as another user's, hides no dump of the others.
func TestListBesideAnUnreadableFolder(t *testing.T) {
	dir := newDir(t)
	other := folderName("00000001")
	s, _ := openTest(t, dir, testKeep, func(d disk) disk { return unreadable{d, other} })
	id := mustSave(t, s, testDump("b"))
	if err := os.Mkdir(filepath.Join(inside(dir), other), 0o700); err != nil {
		t.Fatal(err)
	}
	list, total, err := s.List(10)
	if !errors.Is(err, syscall.EACCES) || total != 1 || len(list) != 1 || list[0].ID != id {
		t.Errorf("%v, %d dumps in all, %v; want the dump %s and an error", list, total, err, id)
	}
}

// unreadable is a disk with a folder that cannot be read.
type unreadable struct {
	disk
	folder string
}

func (d unreadable) list(n string) ([]string, error) {
	if n == d.folder {
		return nil, syscall.EACCES
	}
	return d.disk.list(n)
}

func numbered(n int) name {
	return newName(start, "b", "00000001", fmt.Sprintf("%08x", n), "")
}
