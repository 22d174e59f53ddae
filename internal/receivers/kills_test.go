package receivers

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/guard"
)

var kills = flag.Int("kills", 40, "how often TestKills ends a process; 1000 take ten minutes, and three of CPU")

// childEnv makes the test binary a service that is killed.
const childEnv = "PROFGUARD_RECEIVERS_CHILD"

func TestMain(m *testing.M) {
	if dir, addr, is := strings.Cut(os.Getenv(childEnv), "|"); is {
		child(dir, addr)
		return
	}
	os.Exit(m.Run())
}

// A posting exporter sends the bytes of a profile, with its ID.
type posting string

func (addr posting) Export(ctx context.Context, p guard.Profile) error {
	req, err := http.NewRequestWithContext(ctx, "POST", string(addr), bytes.NewReader(p.Data))
	if err != nil {
		return err
	}
	req.Header.Set("X-ID", p.ID)
	req.Header.Set("X-PID", fmt.Sprint(os.Getpid()))
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != 200 {
		return errors.New(resp.Status)
	}
	return nil
}

// child is a service with a bug. It says which dumps it has judged, and at SIGTERM sends them.
func child(dir, addr string) {
	go func() { // the test has ended, or was killed
		io.Copy(io.Discard, os.Stdin)
		os.Exit(3)
	}()
	term := make(chan os.Signal, 1)
	signal.Notify(term, syscall.SIGTERM)
	g, err := guard.Start(guard.Config{
		Budgets: budget.Must("a: receivers.planted absent", "b: no function above 5% cumulative for 1 window", "c: receivers.planted below 1% for 1 window"),
		Every:   time.Second, Window: time.Second, DumpDir: dir, DumpLimits: guard.DumpLimits{Every: time.Millisecond, Dumps: 1000},
		Export: guard.Export{To: posting(addr)}, Logger: slog.New(slog.DiscardHandler),
		OnEvent: func(e guard.Event) {
			if e.Dump != "" {
				fmt.Println("judged", e.Dump)
			}
		},
	})
	if err != nil {
		fmt.Println("failed", err)
		os.Exit(1)
	}
	go func() { // a twentieth of a core: many of these run side by side
		for {
			busy, cancel := context.WithTimeout(context.Background(), 5*time.Millisecond)
			planted(busy)
			cancel()
			time.Sleep(95 * time.Millisecond)
		}
	}()
	fmt.Println("ready")
	<-term
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	fmt.Println("flushing")
	fmt.Println("flushed", g.Flush(ctx))
	g.Stop()
}

// A store receives profiles, and may kill who sends them.
type store struct {
	mu      sync.Mutex
	ids     map[string]int      // how often
	data    map[string][32]byte // the hash, by ID
	strikes string              // "before" or "after" the answer, the sender is killed
}

func (s *store) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // half a profile
	}
	s.mu.Lock()
	s.ids[r.Header.Get("X-ID")]++
	s.data[r.Header.Get("X-ID")] = sha256.Sum256(body)
	strikes := s.strikes
	s.mu.Unlock()
	var pid int
	fmt.Sscan(r.Header.Get("X-PID"), &pid)
	if strikes == "before" {
		syscall.Kill(pid, syscall.SIGKILL)
	}
	w.WriteHeader(200)
	if strikes == "after" {
		w.(http.Flusher).Flush()
		syscall.Kill(pid, syscall.SIGKILL)
	}
}

// A profileFile is a profile in DumpDir.
type profileFile struct {
	id     string // with its kind
	marked bool
	hash   [32]byte
}

// onDisk are the profiles of whole dumps in a directory.
func onDisk(t *testing.T, dir string) (all []profileFile) {
	t.Helper()
	sidecars, err := filepath.Glob(filepath.Join(dir, "profguard", "*", "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, sidecar := range sidecars {
		stem := strings.TrimSuffix(sidecar, ".json")
		for _, file := range must(filepath.Glob(stem + ".*.pb.gz")) {
			base := strings.TrimSuffix(file, ".pb.gz")
			if strings.Contains(strings.TrimPrefix(base, stem+"."), ".") {
				continue // what was before, which does not leave
			}
			_, err := os.Stat(base + ".sent")
			all = append(all, profileFile{filepath.Base(base), err == nil, sha256.Sum256(must(os.ReadFile(file)))})
		}
	}
	return all
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// A chain is processes that follow each other with one DumpDir.
type chain struct {
	t      *testing.T
	dir    string
	addr   string
	store  *store
	may    map[string]bool // come twice: they had arrived, and had no mark, when their process ended
	judged int
	late   int // calls of Flush that ran out of time
	// unmarked are those of them after SIGTERM: their answer came later than Stop waits.
	unmarked int
}

// run runs a process until it is ended: "" by SIGTERM, "before" or "after" an answer, or "random".
func (c *chain) run(end string) {
	t := c.t
	c.store.mu.Lock()
	c.store.strikes = end
	c.store.mu.Unlock()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"="+c.dir+"|"+c.addr)
	cmd.Stderr = os.Stderr
	out := must(cmd.StdoutPipe())
	must(cmd.StdinPipe()) // which the child reads: it must not outlive the test
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	life := time.AfterFunc(rand.N(6*time.Second), func() { // the fault, and no wait
		if end == "" {
			cmd.Process.Signal(syscall.SIGTERM)
		} else {
			cmd.Process.Kill()
		}
	})
	if end == "before" || end == "after" {
		life.Reset(20 * time.Second) // the store does it
	}
	var judged []string
	flushed, ready, flushing := "", false, false
	for lines := bufio.NewScanner(out); lines.Scan(); {
		word, rest, _ := strings.Cut(lines.Text(), " ")
		switch word {
		case "ready":
			ready = true
		case "judged":
			if !flushing { // what is judged between Flush and Stop may be left for the next process
				judged = append(judged, rest)
			}
		case "flushing":
			flushing = true
		case "flushed":
			flushed = rest
		default:
			t.Errorf("a process said %q", lines.Text())
		}
	}
	cmd.Wait()
	life.Stop()
	c.judged += len(judged)
	c.store.mu.Lock()
	defer c.store.mu.Unlock()
	for _, p := range onDisk(t, c.dir) {
		if !p.marked && c.store.data[p.id] == p.hash {
			if end == "" && c.store.ids[p.id] > 0 && !c.may[p.id] {
				c.unmarked++
			}
			c.may[p.id] = true
		}
		of := func(id string) bool { return strings.HasPrefix(p.id, id) }
		// One without a mark is sent again by the next process: a busy disk may take longer than Flush waits.
		if end == "" && slices.ContainsFunc(judged, of) && c.store.data[p.id] != p.hash {
			t.Errorf("%s was judged, and is not out after SIGTERM (%s)", p.id, flushed)
		}
	}
	if end == "" && ready && flushed != "<nil>" && flushed != "" { // of what an earlier process has left
		c.late++
	}
}

// faults are what is wrong when the last process of a chain has ended.
func (c *chain) faults() (list []string) {
	c.store.mu.Lock()
	defer c.store.mu.Unlock()
	for _, p := range onDisk(c.t, c.dir) {
		if !p.marked || c.store.data[p.id] != p.hash {
			list = append(list, p.id+" was never sent")
		}
	}
	for id, n := range c.store.ids {
		if n > 1 && !c.may[id] {
			list = append(list, fmt.Sprintf("%s was sent %d times", id, n))
		}
	}
	return list
}

// drain ends a chain: a process lives until all is sent.
func (c *chain) drain() {
	deadline := time.Now().Add(time.Minute)
	for left := true; left && time.Now().Before(deadline); {
		c.run("")
		left = slices.ContainsFunc(onDisk(c.t, c.dir), func(p profileFile) bool { return !p.marked })
	}
}

// Every dump that was judged is out after SIGTERM, within a second, as itself: windows break several
// budgets, and each has its dump. After SIGKILL the next process with that DumpDir sends it. Nothing is
// sent twice but what was killed between its answer and its mark.
func TestKills(t *testing.T) {
	const long = 10 // processes in a chain
	var mu sync.Mutex
	total, judged, twice, unmarked, late := 0, 0, 0, 0, 0
	slots := make(chan struct{}, 8) // they mostly wait
	var running sync.WaitGroup
	for range (*kills + long - 1) / long {
		slots <- struct{}{}
		running.Go(func() {
			defer func() { <-slots }()
			s := &store{ids: map[string]int{}, data: map[string][32]byte{}}
			server := httptest.NewServer(s)
			defer server.Close()
			c := &chain{t: t, dir: filepath.Join(t.TempDir(), "dumps"), addr: server.URL, store: s, may: map[string]bool{}}
			for n := range long {
				c.run([]string{"random", "after", "", "before", "random"}[n%5])
			}
			c.drain()
			for _, fault := range c.faults() {
				t.Error(fault)
			}
			mu.Lock()
			defer mu.Unlock()
			total, judged, unmarked, late = total+long, judged+c.judged, unmarked+c.unmarked, late+c.late
			for _, n := range s.ids {
				if n > 1 {
					twice++
				}
			}
		})
	}
	running.Wait()
	t.Logf("%d processes were ended; %d events named a dump; %d profiles came twice, after a kill between answer and mark; %d had no mark after SIGTERM; Flush had no time for all %d times", total, judged, twice, unmarked, late)
	if judged == 0 {
		t.Error("nothing was judged; the test shows nothing")
	}
}

// The checks find a profile that was never sent, and one that was sent twice.
func TestKillsFires(t *testing.T) {
	s := &store{ids: map[string]int{}, data: map[string][32]byte{}}
	server := httptest.NewServer(s)
	defer server.Close()
	c := &chain{t: t, dir: filepath.Join(t.TempDir(), "dumps"), addr: server.URL, store: s, may: map[string]bool{}}
	for len(onDisk(t, c.dir)) == 0 {
		c.run("")
	}
	c.drain()
	if list := c.faults(); len(list) > 0 {
		t.Fatalf("before: %v", list)
	}
	for _, mark := range must(filepath.Glob(filepath.Join(c.dir, "profguard", "*", "*.sent"))) {
		os.Remove(mark)
	}
	if list := c.faults(); len(list) == 0 || !strings.Contains(list[0], "was never sent") {
		t.Errorf("without marks: %v", list)
	}
	c.drain()
	if list := c.faults(); len(list) == 0 || !strings.Contains(list[0], "was sent 2 times") {
		t.Errorf("sent again: %v", list)
	}
}
