package integration

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/profguard/profguard/internal/waiting"
)

// The user and the group of a pod's service: runAsUser and fsGroup.
const runAsUser, fsGroup = 64331, 64332

// TestVolumes runs a service as a pod does, as a user that is not root, with the DumpDir of the manifests in
// docs/service.md on volumes of the modes that Kubernetes gives them. It keeps its dumps there; where it
// cannot, it runs, exports, and says why.
func TestVolumes(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED, NOTHING WAS TESTED: only root can mount a volume and start a process of another user")
	}
	doc, err := os.ReadFile("../../docs/service.md")
	if err != nil {
		t.Fatal(err)
	}
	at := regexp.MustCompile(`volumeMounts: \[\{name: dumps, mountPath: (\S+)\}\]`).FindSubmatch(doc)
	if at == nil || !bytes.Contains(doc, []byte(`DumpDir: "`+string(at[1])+`"`)) || !bytes.Contains(doc, []byte("volumes: [{name: dumps, emptyDir:")) {
		t.Fatal("docs/service.md has no manifest with a volume at its DumpDir")
	}
	dir := t.TempDir()
	reachable(t, dir)
	program := filepath.Join(dir, "service")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, "./volumes").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	const fires = "event=profguard.budget.firing"
	for _, tt := range []struct {
		name, options string // of the mount
		readOnly      bool
		want          string // in the status, if there are no dumps
	}{
		{"emptyDir", "mode=0777", false, ""},
		{"fsGroup", fmt.Sprintf("mode=2775,gid=%d", fsGroup), false, ""},
		{"another group", fmt.Sprintf("mode=2775,gid=%d", fsGroup+1), false, "permission denied"},
		{"no rights", "mode=0755", false, "permission denied"},
		{"readOnlyRootFilesystem", "mode=0777", true, "read-only file system"},
		{"full", "mode=0777,nr_inodes=1", false, "no space left on device"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			root := filepath.Join(t.TempDir(), "volume")
			reachable(t, filepath.Dir(root))
			if err := os.Mkdir(root, 0o755); err != nil {
				t.Fatal(err)
			}
			flags := uintptr(0)
			if tt.readOnly {
				flags = syscall.MS_RDONLY
			}
			if err := syscall.Mount("tmpfs", root, "tmpfs", flags, tt.options); err != nil {
				t.Skip("SKIPPED, NOTHING WAS TESTED: a volume cannot be mounted:", err)
			}
			t.Cleanup(func() { _ = syscall.Unmount(root, syscall.MNT_DETACH) })
			s := servedBy(t, program, root)
			waiting.Until(t, "the budget to fire", func() bool { return strings.Contains(s.out.String(), fires) })
			text := s.end(t)
			folder := filepath.Join(root, "profguard")
			dumps, _ := filepath.Glob(filepath.Join(folder, "*", "*.json"))
			started := "budgets=1 folder=" + folder + " "
			usable := "profguard_dump_dir_usable 1\n"
			if tt.want != "" {
				started, usable = `budgets=1 folder="none: dumps off: `, "profguard_dump_dir_usable 0\n"
			}
			if !strings.Contains(text, started) || !strings.Contains(text, usable) || strings.Contains(text, " exported 0,") || !strings.Contains(text, "flush <nil>") || !strings.Contains(text, "state running") {
				t.Errorf("want %q, %q, and profiles that were exported:\n%s", started, usable, text)
			}
			if tt.want != "" {
				if !strings.Contains(text, "event=profguard.guard.degraded") || !strings.Contains(text, tt.want) || len(dumps) > 0 {
					t.Errorf("want an event with %q and no dumps, found %v:\n%s", tt.want, dumps, text)
				}
				return
			}
			info, err := os.Lstat(folder)
			if err != nil || info.Mode().Perm() != 0o700 || info.Sys().(*syscall.Stat_t).Uid != runAsUser || len(dumps) == 0 || !strings.Contains(text, `reason ""`) {
				t.Errorf("folder %v, %v, dumps %v:\n%s", info, err, dumps, text)
			}
		})
	}
}

// TestVolumeOfAnotherUser: another container of the pod swaps the folder for a link while the service runs.
// Nothing is written where it leads; without it there are dumps again.
func TestVolumeOfAnotherUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED, NOTHING WAS TESTED: only root can start processes of other users")
	}
	dir := t.TempDir()
	reachable(t, dir)
	program, root, elsewhere := filepath.Join(dir, "service"), filepath.Join(dir, "volume"), filepath.Join(dir, "elsewhere")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, "./volumes").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, d := range []string{root, elsewhere} {
		if err := errors.Join(os.Mkdir(d, 0o777), os.Chmod(d, 0o777)); err != nil {
			t.Fatal(err)
		}
	}
	s := servedBy(t, program, root)
	folder := filepath.Join(root, "profguard")
	dumps := func(in string) int {
		list, _ := filepath.Glob(filepath.Join(in, "*", "*.json"))
		return len(list)
	}
	waiting.Until(t, "a dump", func() bool { return dumps(folder) > 0 })
	if err := errors.Join(os.Rename(folder, folder+".away"), os.Symlink(elsewhere, folder), os.Lchown(folder, runAsUser+1, -1)); err != nil {
		t.Fatal(err)
	}
	waiting.Until(t, "the log to say it", func() bool { return strings.Contains(s.out.String(), "refused as unsafe: "+folder) })
	if list, err := os.ReadDir(elsewhere); err != nil || len(list) > 0 {
		t.Errorf("written where the link leads: %v, %v", list, err)
	}
	if err := os.Remove(folder); err != nil {
		t.Fatal(err)
	}
	waiting.Until(t, "a dump without the link", func() bool { return dumps(folder) > 0 })
	if text := s.end(t); !strings.Contains(text, "profguard_dump_dir_lost_total 1\n") || !strings.Contains(text, "was removed or replaced while in use") {
		t.Errorf("want a folder that was lost once:\n%s", text)
	}
}

// reachable lets all users into a directory of the test's.
func reachable(t *testing.T, dir string) {
	t.Helper()
	for _, d := range []string{dir, filepath.Dir(dir)} {
		if err := os.Chmod(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
}

// A served service runs until it is ended.
type served struct {
	out *locked
	in  io.Closer
	cmd *exec.Cmd
}

// locked is a buffer that is written and read at once.
type locked struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *locked) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *locked) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// servedBy starts the service as a pod would.
func servedBy(t *testing.T, program, dumpDir string) *served {
	t.Helper()
	s := &served{out: new(locked), cmd: exec.CommandContext(t.Context(), program, dumpDir)}
	s.cmd.Stdout, s.cmd.Stderr, s.cmd.Dir = s.out, s.out, "/"
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: runAsUser, Gid: runAsUser, Groups: []uint32{fsGroup}}}
	var err error
	if s.in, err = s.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		t.Skip("SKIPPED, NOTHING WAS TESTED: a process of another user cannot be started:", err)
	}
	return s
}

// end ends the service, and returns what it has written.
func (s *served) end(t *testing.T) string {
	t.Helper()
	s.in.Close()
	if err := s.cmd.Wait(); err != nil {
		t.Errorf("%v\n%s", err, s.out)
	}
	return s.out.String()
}
