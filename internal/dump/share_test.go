//go:build linux || darwin

package dump

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const (
	sharers    = 8
	eachSaves  = 8 // more than twice a fair share of three
	shareFiles = 24
	shareBytes = 24 * 40_000
)

// patient tries until the lock is free, which on a machine that is overloaded, among
// eight that want it, may take longer than a save waits.
func patient[T any](do func() (T, error)) T {
	for {
		v, err := do()
		if Reason(err) != "busy" {
			return must(v, err)
		}
	}
}

// childShare saves into a directory that it shares, and watches over its own.
func childShare(dir string) {
	s := patient(func() (*Store, error) {
		return Open(dir, Keep{Files: shareFiles, Bytes: shareBytes, Interval: 1, Free: 1e-12})
	})
	d := testDump("b")
	d.Profile = gz(30_000)
	res := shareResult{Reasons: map[string]int{}}
	for i := 0; res.Saved < eachSaves && i < 1000; i++ {
		_, err := s.Save(d.of("v", float64(i%5)))
		if err != nil {
			res.Reasons[Reason(err)]++
			patient(s.Clean)
			time.Sleep(lockPoll)
			continue
		}
		res.Saved++
		// All that we have not deleted ourselves must still be there.
		s.saving.Lock()
		for id, e := range s.x.entries {
			if e.name.instance != s.instance {
				continue
			}
			for _, suffix := range e.suffixes {
				if _, err := os.Stat(filepath.Join(dir, fileName(id, suffix))); err != nil {
					res.Stolen = append(res.Stolen, err.Error())
				}
			}
		}
		s.saving.Unlock()
	}
	must(0, json.NewEncoder(os.Stdout).Encode(res))
	// Stay alive until all are done, and clean up now and then as a Writer does, but
	// leave the lock to those that are not through.
	w := newWriter(s, nil, 20*lockPoll)
	bufio.NewReader(os.Stdin).ReadByte()
	must(0, w.Close(context.Background()))
}

type shareResult struct {
	Saved   int
	Reasons map[string]int
	Stolen  []string
}

func TestFault_20_EightProcesses(t *testing.T) {
	dir := newDir(t)
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	results := make(chan shareResult, sharers)
	var stop []func() error
	for range sharers {
		cmd := child(t, "share", dir)
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		stop = append(stop, func() error { in.Close(); return cmd.Wait() })
		go func() {
			var r shareResult
			if err := json.NewDecoder(out).Decode(&r); err != nil {
				r.Stolen = []string{err.Error()}
			}
			results <- r
		}()
	}
	most := 0
	for done := 0; done < sharers; {
		select {
		case r := <-results:
			done++
			if r.Saved != eachSaves || len(r.Stolen) > 0 {
				t.Errorf("%+v", r)
			}
			t.Logf("refused: %v", r.Reasons)
		default:
			files, bytes := tally(t, dir)
			most = max(most, files)
			if files > shareFiles || bytes > shareBytes {
				t.Errorf("%d dumps of %d bytes, caps are %d and %d", files, bytes, shareFiles, shareBytes)
			}
		}
	}
	own := map[string]int{}
	c := assertClean(t, dir, sharers)
	for _, f := range c.sidecars {
		own[parseFile(f).instance]++
	}
	t.Logf("at most %d dumps; at the end by process: %v", most, own)
	if len(own) != sharers {
		t.Errorf("only %d of %d processes have dumps left", len(own), sharers)
	}
	for _, s := range stop {
		if err := s(); err != nil {
			t.Error(err)
		}
	}
	assertClean(t, dir, 0)
}

// tally counts what is there at one moment, as far as a walk can tell: a dump
// that goes while it walks is counted, one that comes may not be, so it looks
// at the directory's names in one read.
func tally(t *testing.T, dir string) (files int, bytes int64) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if parseFile(e.Name()).kind != final {
			continue
		}
		info, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if strings.HasSuffix(e.Name(), "."+sidecarSuffix) {
			files++
		}
		bytes += info.Size()
	}
	return files, bytes
}
