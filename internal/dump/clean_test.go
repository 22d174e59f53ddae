package dump

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// litter fills dir with n dumps of two empty files each, of dead processes.
func litter(tb testing.TB, dir string, n int, at time.Time) {
	tb.Helper()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		tb.Fatal(err)
	}
	for i := range n {
		id := name{at.Add(time.Duration(i) * time.Millisecond), "b", "00000001", fmt.Sprintf("%08x", i)}.id()
		for _, suffix := range []string{"cpu.pb.gz", "json"} {
			if err := os.WriteFile(filepath.Join(dir, fileName(id, suffix)), nil, 0o600); err != nil {
				tb.Fatal(err)
			}
		}
	}
}

func TestFault_19_StaleFiles(t *testing.T) {
	for name, tt := range map[string]struct {
		age         time.Duration
		dumps, want int
	}{
		"too old":  {8 * 24 * time.Hour, 25_000, 0},
		"too many": {24 * time.Hour, 5_000, defaultFiles},
	} {
		t.Run(name, func(t *testing.T) {
			if testing.Short() && tt.dumps > 10_000 {
				t.Skip("50,000 files")
			}
			dir := newDir(t)
			litter(t, dir, tt.dumps, start.Add(-tt.age))
			var d1 *faulty
			scans, removed := 0, 0
			began := time.Now()
			s, _ := openTest(t, dir, testKeep, func(d disk) disk {
				d1 = &faulty{disk: d, check: func(_ int, op string) error {
					switch op {
					case "list":
						scans++
					case "remove":
						removed++
					}
					return nil
				}}
				return d1
			})
			t.Logf("open with the first pass took %v", time.Since(began))
			total := removed
			for more := true; more; {
				began := time.Now()
				removed = 0
				c, err := s.Clean()
				if err != nil {
					t.Fatal(err)
				}
				if removed > sweepBatch+1 || removed != c.Files { // a dump is not cut in two
					t.Errorf("one pass removed %d files, says %d", removed, c.Files)
				}
				total, more = total+removed, c.More
				if testing.Verbose() {
					t.Logf("pass: %d files in %v", removed, time.Since(began))
				}
			}
			if u := s.Usage(); u.Files != tt.want || total != 2*(tt.dumps-tt.want) {
				t.Errorf("usage %+v, removed %d", u, total)
			}
			mustSave(t, s, testDump("b"))
			if scans != 1 {
				t.Errorf("the directory was read %d times, want once", scans)
			}
		})
	}
}

// BenchmarkScan is what a look at a directory with 50,000 of our files costs.
func BenchmarkScan(b *testing.B) {
	dir := filepath.Join(b.TempDir(), "dumps")
	litter(b, dir, 25_000, start)
	c := newClock()
	d, err := openDisk(dir)
	if err != nil {
		b.Fatal(err)
	}
	defer d.close()
	s := &Store{disk: d, now: c.now}
	for b.Loop() {
		if _, err := s.scan(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkSave is one dump of 200 kB with two companions, syncs included.
func BenchmarkSave(b *testing.B) {
	s, err := openWith(filepath.Join(b.TempDir(), "dumps"), testKeep, time.Now, randomHex, nil)
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	d := testDump("b")
	d.Profile = gz(200_000)
	for b.Loop() {
		if _, err := s.Save(d); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkCleanIdle is what the writer does every minute when all is well.
func BenchmarkCleanIdle(b *testing.B) {
	s, err := openWith(filepath.Join(b.TempDir(), "dumps"), testKeep, time.Now, randomHex, nil)
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	for range 20 {
		if _, err := s.Save(testDump("b")); err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		if _, err := s.Clean(); err != nil {
			b.Fatal(err)
		}
	}
}
