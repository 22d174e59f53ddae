//go:build linux || darwin

package dumps

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"
)

const (
	sharers    = 8
	shareFiles = 6
)

// childShare saves into a DumpDir that it shares, and looks after each save
// whether its dumps are there.
func childShare(dir string) {
	s := must(Open(dir, Keep{Dumps: shareFiles, Free: 1e-12}, discard))
	d := testDump("b")
	d.Files[0].Data = gz(30_000)
	var missing []string
	for i := range 2 * shareFiles {
		must(s.Save(d.marked([]string{First, Worst, "", ""}[i%4])))
		must(0, s.tidy(nil))
		for _, e := range must(s.folders(s.mine)) {
			for _, suffix := range e.suffixes {
				if _, err := os.Stat(filepath.Join(inside(dir), e.path(suffix))); err != nil && e.instance == s.instance {
					missing = append(missing, err.Error())
				}
			}
		}
	}
	must(0, json.NewEncoder(os.Stdout).Encode(missing))
	bufio.NewReader(os.Stdin).ReadByte() // and stay alive until all are done
	os.Exit(0)
}

// Processes that share DumpDir delete their own dumps and those of processes that
// are gone, and never each other's.
func TestFault_20_EightProcesses(t *testing.T) {
	dir := newDir(t)
	litter(t, dir, 30, start.Add(-time.Hour))
	results := make(chan []string, sharers)
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
			missing := []string{"nothing was said"}
			json.NewDecoder(out).Decode(&missing)
			results <- missing
		}()
	}
	for range sharers {
		if missing := <-results; len(missing) > 0 {
			t.Errorf("deleted by others: %v", missing)
		}
	}
	if c := assertClean(t, dir, sharers*shareFiles); len(c.folders) < sharers || len(c.folders) > sharers+1 {
		t.Errorf("folders %v, want one for each process, and one of which the last dump has gone", c.folders)
	}
	for _, s := range stop {
		if err := s(); err != nil {
			t.Error(err)
		}
	}
	// The next process lists what they have left, and keeps within its caps.
	s, _ := openTest(t, dir, Keep{Dumps: shareFiles, Free: 1e-12}, nil)
	if _, total, err := s.List(10); err != nil || total != shareFiles {
		t.Errorf("%d dumps are listed, %v", total, err)
	}
	tidied(t, s)
	if c := assertClean(t, dir, shareFiles); len(c.folders) > shareFiles+1 {
		t.Errorf("folders %v: those without dumps should be gone", c.folders)
	}
}
