//go:build linux || darwin

package dumps

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

var kills = flag.Int("kills", 50, "how often TestFault_18 kills a process; the hazard list says 1000")

// children do in a process of their own what ends or changes a process.
var children = map[string]func(dir string){
	"loop":  childLoop,
	"exit":  childExit,
	"limit": childLimit,
	"umask": childUmask,
	"share": childShare,
}

// child prepares this binary to run a role on dir.
func child(t *testing.T, role, dir string, env ...string) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = append(append(os.Environ(), env...), childEnv+"="+role+"="+dir)
	cmd.Stderr = os.Stderr
	return cmd
}

func must[T any](v T, err error) T {
	if err != nil {
		fmt.Fprintln(os.Stderr, "child:", err)
		os.Exit(1)
	}
	return v
}

// childLoop saves until it is killed.
func childLoop(dir string) {
	s := must(Open(dir, Keep{Dumps: 8, Free: 1e-12}, discard))
	d := testDump("b")
	d.Files[0].Data = gz(200_000)
	fmt.Println("ready")
	for i := range 1_000_000 {
		must(s.Save(d.marked([]string{First, Worst, "", ""}[i%4])))
	}
}

func TestFault_18_Kill9(t *testing.T) {
	dir := newDir(t)
	caught, rounds := 0, *kills
	if testing.Short() {
		rounds = min(rounds, 20)
	}
	for n := range rounds {
		cmd := child(t, "loop", dir)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if line, err := bufio.NewReader(out).ReadString('\n'); line != "ready\n" {
			t.Fatalf("child said %q: %v", line, err)
		}
		// Anywhere in the first dumps: this sleep is the fault, not a wait.
		time.Sleep(rand.N(20 * time.Millisecond))
		cmd.Process.Kill()
		cmd.Wait()
		c, err := inspect(dir)
		if err != nil {
			t.Fatalf("kill %d: %v", n, err)
		}
		if len(c.temps)+len(c.orphans) > 0 {
			caught++
		}
		if len(c.dumps) > 8 {
			t.Fatalf("kill %d: %d dumps", n, len(c.dumps))
		}
	}
	s, err := Open(dir, testKeep, discard)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close(context.Background())
	assertClean(t, dir, len(own(t, s)))
	t.Logf("%d of %d kills left remains", caught, rounds)
	if caught == 0 {
		t.Error("no kill hit a save; the test shows nothing")
	}
}

// childExit ends the process at one filesystem call of a save.
func childExit(dir string) {
	n := must(strconv.Atoi(os.Getenv("PROFGUARD_DUMP_TEST_CALL")))
	var d1 *faulty
	s := must(openWith(dir, Keep{Dumps: 1, Free: 1e-12}, time.Now, randomHex, func(d disk) disk {
		d1 = &faulty{disk: d, volatile: true}
		return d1
	}))
	must(s.Save(testDump("a")))
	d1.arm(func(call int, op string) error {
		if call == n {
			os.Exit(42)
		}
		return nil
	})
	must(s.Save(testDump("b")))
}

func TestFault_57_ExitMidDump(t *testing.T) {
	remains := 0
	for n := 1; ; n++ {
		dir := newDir(t)
		err := child(t, "exit", dir, fmt.Sprintf("PROFGUARD_DUMP_TEST_CALL=%d", n)).Run()
		if err == nil { // past the last call
			break
		}
		if ee := (*exec.ExitError)(nil); !errors.As(err, &ee) || ee.ExitCode() != 42 {
			t.Fatal(err)
		}
		c, err := inspect(dir)
		if err != nil {
			t.Errorf("exit at call %d: %v", n, err)
		}
		remains += len(c.temps) + len(c.orphans)
		s, err := Open(dir, testKeep, discard)
		if err != nil {
			t.Fatalf("exit at call %d: %v", n, err)
		}
		assertClean(t, dir, len(own(t, s)))
		s.Close(context.Background())
	}
	if remains == 0 {
		t.Error("no exit left remains; the test shows nothing")
	}
}

// childLimit saves under RLIMIT_FSIZE.
func childLimit(dir string) {
	s := must(Open(dir, testKeep, discard))
	big := testDump("big")
	big.Files[0].Data = gz(64 << 10)
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: 16 << 10, Max: 1 << 30}); err != nil {
		must(0, err)
	}
	_, err := s.Save(big)
	fmt.Println(Reason(err))
	_, err = s.Save(testDump("small"))
	fmt.Println(Reason(err))
	must(0, s.Close(context.Background()))
}

func TestFault_13_FileSizeLimit(t *testing.T) {
	dir := newDir(t)
	out, err := child(t, "limit", dir).Output()
	if err != nil || string(out) != "no_space\n\n" {
		t.Errorf("%v, reasons %q", err, out)
	}
	assertClean(t, dir, 1) // the small one
}

// childUmask saves with a umask that takes nothing away.
func childUmask(dir string) {
	unix.Umask(0)
	s := must(Open(dir, testKeep, discard))
	must(s.Save(testDump("b")))
	os.Exit(0)
}

func TestFault_23_Umask(t *testing.T) {
	dir := newDir(t)
	if err := child(t, "umask", dir).Run(); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("directory: %v, %v", info.Mode(), err)
	}
	modes := map[fs.FileMode]int{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil {
			info, err := d.Info()
			modes[info.Mode()]++
			return err
		}
		return err
	})
	// DumpDir and two folders; four files of the dump.
	if want := map[fs.FileMode]int{fs.ModeDir | 0o700: 3, 0o600: 4}; err != nil || !maps.Equal(modes, want) {
		t.Errorf("modes %v, want %v; %v", modes, want, err)
	}
}

func TestFault_16_FIFOsAndDevices(t *testing.T) {
	dir := newDir(t)
	stem := "profguard-20201121T091500.123Z-b-00000001-00000002"
	folder := filepath.Join(inside(dir), folderName("00000001"))
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	planted := []string{
		filepath.Join(folder, stem+".json"), filepath.Join(folder, stem+".cpu.pb.gz"), filepath.Join(folder, stem+".trace.out.tmp"),
		filepath.Join(inside(dir), folderName("00000002")),
	}
	for i, path := range planted {
		// /dev/zero never ends when read; opening a FIFO never returns.
		if i == 1 && syscall.Mknod(path, syscall.S_IFCHR|0o600, 1<<8|5) == nil {
			continue
		}
		if err := syscall.Mkfifo(path, 0o600); err != nil {
			t.Skip("no FIFOs here:", err)
		}
	}
	s, c := openTest(t, dir, testKeep, nil)
	id := mustSave(t, s, testDump("b"))
	c.advance(30 * 24 * time.Hour)
	if err := s.tidy(nil); err != nil {
		t.Error(err)
	}
	for _, suffix := range []string{"json", "cpu.pb.gz"} {
		if _, err := s.Open(ID(stem), stem+"."+suffix); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s was opened: %v", suffix, err)
		}
	}
	if ids := listIDs(t, s); len(ids) != 0 {
		t.Errorf("listed: %v (%s is too old)", ids, id)
	}
	for _, path := range planted {
		if _, err := os.Lstat(path); err != nil {
			t.Errorf("what we did not make was deleted: %v", err)
		}
	}
}
