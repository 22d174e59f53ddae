package dumps

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// Permissions do not bind root, so these tests run a store as a user that is not.
const serviceUID, volumeGID = 64321, 64322

func init() {
	children["service"] = childService
}

// childService opens a store, and saves a dump and a reference for each line that it reads. It answers
// with a word for each.
func childService(dir string) {
	var s *Store
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		var err error
		if s == nil {
			s, err = Open(dir, testKeep, discard)
		}
		if err == nil {
			_, err = s.Save(testDump("b"))
		}
		r, referred := OpenReferences(dir)
		if referred == nil {
			r.disk = &fixedSpace{disk: r.disk, free: 1 << 40, total: 1 << 40}
			referred = r.Write("shop-v1.pb.gz", gz(100), "shop-", 5)
			r.Close()
		}
		fmt.Printf("%q %q %q\n", Reason(err), Reason(referred), fmt.Sprint(err))
	}
	if s != nil {
		s.Close(context.Background())
	}
	os.Exit(0)
}

// A service is a process of another user that keeps dumps.
type service struct {
	in  io.WriteCloser
	out *bufio.Reader
}

// ofUser starts a service, which the test's end ends. It runs in the group of a volume, too, as
// fsGroup makes it.
func ofUser(t *testing.T, uid uint32, dir string) service {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: only root can start a process as another user; permissions are tested as root and with a fake disk only")
	}
	// The binary that go test makes is where others cannot reach it.
	binary := filepath.Join(shared(t), "dumps.test")
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(exe)
	if err == nil {
		err = os.WriteFile(binary, data, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(binary)
	cmd.Env = append(os.Environ(), childEnv+"=service="+dir)
	cmd.Stderr = os.Stderr
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid, Groups: []uint32{volumeGID}}}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Skip("SKIPPED: a process of another user cannot be started:", err)
	}
	t.Cleanup(func() {
		in.Close()
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	})
	return service{in, bufio.NewReader(out)}
}

// save returns the reasons why a dump and a reference were not kept, "" for those that were.
func (s service) save(t *testing.T) (dump, reference, text string) {
	t.Helper()
	fmt.Fprintln(s.in, "save")
	line, err := s.out.ReadString('\n')
	if _, scanned := fmt.Sscanf(line, "%q %q %q", &dump, &reference, &text); err != nil || scanned != nil {
		t.Fatalf("the service said %q: %v", line, errors.Join(err, scanned))
	}
	return dump, reference, text
}

// shared is a new directory that all users reach.
func shared(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, d := range []string{dir, filepath.Dir(dir)} {
		if err := os.Chmod(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// volume is a directory of root's with a mode, which all users reach.
func volume(t *testing.T, mode os.FileMode) string {
	t.Helper()
	dir := filepath.Join(shared(t), "volume")
	if err := errors.Join(os.Mkdir(dir, 0o700), os.Chown(dir, 0, volumeGID), os.Chmod(dir, mode)); err != nil {
		t.Skip("SKIPPED: only root can make the volumes of another user:", err)
	}
	return dir
}

// TestFault_12_Volumes: on the volumes that Kubernetes gives to a service which is not root's it keeps
// dumps and references, and where it cannot, it says why.
func TestFault_12_Volumes(t *testing.T) {
	for _, tt := range []struct {
		name   string
		volume func(t *testing.T) string
		want   string // the reason, "" if dumps are kept
	}{
		{"emptyDir: 777, root's", func(t *testing.T) string { return volume(t, 0o777) }, ""},
		{"fsGroup: 2775, root's", func(t *testing.T) string { return volume(t, 0o775|os.ModeSetgid) }, ""},
		{"for all, sticky: 1777", func(t *testing.T) string { return volume(t, 0o777|os.ModeSticky) }, ""},
		{"below an emptyDir", func(t *testing.T) string { return filepath.Join(volume(t, 0o777), "new", "dir") }, ""},
		{"555, root's", func(t *testing.T) string { return volume(t, 0o555) }, "permission"},
		{"755, root's", func(t *testing.T) string { return volume(t, 0o755) }, "permission"},
		{"700, root's", func(t *testing.T) string { return volume(t, 0o700) }, "permission"},
		{"below one of 755", func(t *testing.T) string { return filepath.Join(volume(t, 0o755), "new") }, "permission"},
		{"below a file", func(t *testing.T) string {
			file := filepath.Join(shared(t), "file")
			if err := os.WriteFile(file, nil, 0o644); err != nil {
				t.Fatal(err)
			}
			return filepath.Join(file, "below")
		}, "other"},
		{"read-only", func(t *testing.T) string { return readOnlyVolume(t) }, "permission"},
		{"full", func(t *testing.T) string { return fullVolume(t) }, "no_space"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := tt.volume(t)
			s := ofUser(t, serviceUID, dir)
			if dump, reference, text := s.save(t); dump != tt.want || reference != tt.want {
				t.Fatalf("dump %q, reference %q, want %q: %s", dump, reference, tt.want, text)
			}
			if tt.want != "" {
				return
			}
			info, err := os.Lstat(inside(dir))
			if err != nil || info.Mode().Perm() != 0o700 || info.Sys().(*syscall.Stat_t).Uid != serviceUID {
				t.Errorf("the folder is %v, %v, want one of mode 0700 that is the service's", info.Mode(), err)
			}
			assertClean(t, dir, 1)
			// A second container of the same user shares it; one of another user does not.
			if dump, reference, text := ofUser(t, serviceUID, dir).save(t); dump+reference != "" {
				t.Errorf("a second process: dump %q, reference %q: %s", dump, reference, text)
			}
			dump, _, text := ofUser(t, serviceUID+1, dir).save(t)
			if tt.name != "below an emptyDir" && (dump != "refused" || !strings.Contains(text, "belongs to another user")) {
				t.Errorf("a process of another user: dump %q: %s", dump, text)
			}
		})
	}
}

// TestFault_12_VolumeAtTheNextStart: Kubernetes gives what is on a volume to the group of the pod, at
// each start. The next process takes that back from its own folder.
func TestFault_12_VolumeAtTheNextStart(t *testing.T) {
	dir := volume(t, 0o775|os.ModeSetgid)
	if dump, reference, text := ofUser(t, serviceUID, dir).save(t); dump+reference != "" {
		t.Fatalf("dump %q, reference %q: %s", dump, reference, text)
	}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		mode := info.Mode() | 0o660
		if d.IsDir() {
			mode |= 0o770 | os.ModeSetgid
		}
		return errors.Join(err, os.Lchown(path, -1, volumeGID), os.Chmod(path, mode))
	})
	if err != nil {
		t.Fatal(err)
	}
	if dump, reference, text := ofUser(t, serviceUID, dir).save(t); dump+reference != "" {
		t.Errorf("at the next start: dump %q, reference %q: %s", dump, reference, text)
	}
	for _, folder := range []string{inside(dir), filepath.Join(inside(dir), referencesName)} {
		if info, err := os.Lstat(folder); err != nil || info.Mode().Perm()&0o022 != 0 {
			t.Errorf("%s has mode %v, %v: others may write to it", folder, info.Mode(), err)
		}
	}
}

// TestFault_12_VolumeComesToBeWritable: what was refused is tried again.
func TestFault_12_VolumeComesToBeWritable(t *testing.T) {
	dir := volume(t, 0o755)
	s := ofUser(t, serviceUID, dir)
	if dump, reference, text := s.save(t); dump != "permission" || reference != "permission" {
		t.Fatalf("dump %q, reference %q: %s", dump, reference, text)
	}
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if dump, reference, text := s.save(t); dump+reference != "" {
		t.Errorf("dump %q, reference %q: %s", dump, reference, text)
	}
}

// TestFault_15_AnotherUserSwapsTheFolder: another user of an emptyDir moves the folder away, and puts a
// link in its place, to a folder that the service may write to.
func TestFault_15_AnotherUserSwapsTheFolder(t *testing.T) {
	dir, elsewhere := volume(t, 0o777), volume(t, 0o777)
	s := ofUser(t, serviceUID, dir)
	if dump, _, text := s.save(t); dump != "" {
		t.Fatalf("dump %q: %s", dump, text)
	}
	for _, target := range []string{elsewhere, filepath.Join(elsewhere, FolderName), inside(dir) + ".moved"} {
		os.RemoveAll(inside(dir) + ".moved")
		if err := errors.Join(os.Rename(inside(dir), inside(dir)+".moved"), os.Symlink(target, inside(dir)), os.Lchown(inside(dir), serviceUID+1, -1)); err != nil {
			t.Fatal(err)
		}
		if dump, reference, text := s.save(t); dump != "refused" || reference != "refused" {
			t.Errorf("with a link to %s: dump %q, reference %q: %s", target, dump, reference, text)
		}
		if list, err := os.ReadDir(elsewhere); err != nil || len(list) > 0 {
			t.Errorf("written elsewhere: %v, %v", list, err)
		}
		if err := os.Remove(inside(dir)); err != nil {
			t.Fatal(err)
		}
		if dump, reference, text := s.save(t); dump+reference != "" {
			t.Errorf("without the link: dump %q, reference %q: %s", dump, reference, text)
		}
	}
}

// readOnlyVolume is one that nobody may write to, whatever its mode says.
func readOnlyVolume(t *testing.T) string {
	dir := volume(t, 0o777)
	err := unix.Mount(dir, dir, "", unix.MS_BIND, "")
	if err == nil {
		t.Cleanup(func() { unix.Unmount(dir, unix.MNT_DETACH) })
		err = unix.Mount("", dir, "", unix.MS_BIND|unix.MS_REMOUNT|unix.MS_RDONLY, "")
	}
	if err != nil {
		t.Skip("SKIPPED: a read-only volume cannot be mounted:", err)
	}
	return dir
}

// fullVolume has no room for a folder.
func fullVolume(t *testing.T) string {
	dir := volume(t, 0o777)
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "mode=777,nr_inodes=1"); err != nil {
		t.Skip("SKIPPED: a full volume cannot be mounted:", err)
	}
	t.Cleanup(func() { unix.Unmount(dir, unix.MNT_DETACH) })
	return dir
}

// TestFault_15_FIFOInPlaceOfDumpDir: to open a FIFO would block the store for good.
func TestFault_15_FIFOInPlaceOfDumpDir(t *testing.T) {
	dir := newDir(t)
	s, _ := openTest(t, dir, testKeep, nil)
	mustSave(t, s, testDump("b"))
	if err := errors.Join(os.Rename(dir, dir+".moved"), syscall.Mkfifo(dir, 0o600)); err != nil {
		t.Fatal(err)
	}
	// Whoever waits for a writer gets one, so that a test that fails ends: the FIFO opens only while it has a reader.
	saved := make(chan error, 1)
	go func() {
		_, err := s.Save(testDump("b"))
		saved <- err
	}()
	for waits := false; ; {
		select {
		case err := <-saved:
			if waits || err == nil {
				t.Errorf("the store waited for a writer of the FIFO: %t; want an error at once, found %v", waits, err)
			}
		default:
			if w, err := os.OpenFile(dir, os.O_WRONLY|syscall.O_NONBLOCK, 0); err == nil {
				waits = true
				w.Close()
			}
			runtime.Gosched()
			continue
		}
		break
	}
	if err := errors.Join(os.Remove(dir), os.Rename(dir+".moved", dir)); err != nil {
		t.Fatal(err)
	}
	mustSave(t, s, testDump("b"))
	assertClean(t, dir, 2)
}
