package profiler

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Faults of the real clocks, in a process of its own: this test binary, with the
// test that is to be played named by a variable.
const frozenVar = "PROFGUARD_HUB_FROZEN"

func again(t *testing.T, command ...string) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	command = append(command, exe, "-test.run=^"+t.Name()+"$", "-test.v")
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Env = append(os.Environ(), frozenVar+"=1")
	cmd.Stderr = os.Stderr
	return cmd
}

// A time namespace has slept for as long as its boot clock is ahead.
func TestFault_43_BootClock(t *testing.T) {
	if os.Getenv(frozenVar) != "" {
		fmt.Printf("asleep=%d\n", realSystem{}.asleep())
		return
	}
	const day = 24 * time.Hour
	out, err := again(t, "unshare", "--time", "--fork", "--boottime", fmt.Sprint(int(day.Seconds()))).Output()
	if err != nil {
		t.Skipf("SKIPPED, THE FAULT IS TESTED WITH FAKE CLOCKS ONLY: unshare: %v", err)
	}
	_, text, _ := strings.Cut(string(out), "asleep=")
	var there time.Duration
	if _, err := fmt.Sscan(text, &there); err != nil {
		t.Fatalf("%v: %q", err, out)
	}
	here := realSystem{}.asleep()
	if more := there - here; more < day-sleepSlack || more > day+sleepSlack {
		t.Errorf("where the machine has slept a day more, the clocks say %v more", more)
	}
}

// A process that is stopped has its window overrun, and is not suspended: the
// machine went on.
func TestFault_44_Frozen(t *testing.T) { stopped(t, 300*time.Millisecond, time.Second) }

// The same for longer than anybody waits for a window, so that all timers have
// expired when it goes on.
func TestFault_72_Stopped(t *testing.T) {
	const window = 100 * time.Millisecond
	stopped(t, window, 2*window+overtime+time.Second)
}

// stopped plays a test in a process of its own that is stopped within its window.
func stopped(t *testing.T, window, length time.Duration) {
	if os.Getenv(frozenVar) != "" {
		h, profiler := realHub(t)
		go func() {
			<-profiler.started
			fmt.Println("freeze")
		}()
		w, _ := h.Capture(t.Context(), window)
		fmt.Printf("outcome=%v: %s\n", w.Outcome, w.Reason)
		return
	}
	t.Parallel() // it waits for another process
	got := ""
	for range 10 { // where this machine is busy, the freeze comes too late for a window, or before its profile has begun
		if got = freeze(t, length); !strings.HasPrefix(got, "ok:") && !strings.HasPrefix(got, "hung:") {
			break
		}
	}
	if !strings.HasPrefix(got, "overrun: the window took ") {
		t.Errorf("stopped for %v of a window of %v: %q", length, window, got)
	}
}

// freeze plays this test in a process of its own, stops that for a while when its
// window has begun, and returns what became of the window.
func freeze(t *testing.T, frozen time.Duration) string {
	t.Helper()
	cmd := again(t)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	outcome := ""
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if lines.Text() == "freeze" {
			if err := cmd.Process.Signal(syscall.SIGSTOP); err != nil {
				t.Error(err)
			}
			<-time.After(frozen)
			if err := cmd.Process.Signal(syscall.SIGCONT); err != nil {
				t.Error(err)
			}
		}
		if _, text, ok := strings.Cut(lines.Text(), "outcome="); ok {
			outcome = text
		}
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	return outcome
}
