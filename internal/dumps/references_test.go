package dumps

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"
)

// openRefs opens the references of a new folder, on a disk that may be wrapped.
func openRefs(t *testing.T, dir string, wrap func(disk) disk) *References {
	t.Helper()
	r, err := OpenReferences(dir)
	if err != nil {
		t.Fatal(err)
	}
	if r.disk = (&fixedSpace{disk: r.disk, free: 1 << 40, total: 1 << 40}); wrap != nil {
		r.disk = wrap(r.disk)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

func listRefs(t *testing.T, r *References, prefix string) (list []string) {
	t.Helper()
	files, err := r.List(prefix)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		list = append(list, f.Name)
	}
	return list
}

// TestReferences: the newest are kept, of each prefix, and other files stay.
func TestReferences(t *testing.T) {
	dir := newDir(t)
	r := openRefs(t, dir, nil)
	now := time.Now()
	for i := range 8 {
		name := fmt.Sprintf("shop-v%d.pb.gz", i)
		if err := r.Write(name, gz(100+i), "shop-", 5); err != nil {
			t.Fatal(err)
		}
		at := now.Add(time.Duration(i-100) * time.Minute)
		if err := os.Chtimes(filepath.Join(inside(dir), referencesName, name), at, at); err != nil {
			t.Fatal(err)
		}
	}
	for _, other := range []string{"cart-v1.pb.gz", "README", "shop-v9.pb.gz.0011.tmp"} {
		if err := os.WriteFile(filepath.Join(inside(dir), referencesName, other), gz(7), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	old := now.Add(-2 * staleTemp)
	os.Chtimes(filepath.Join(inside(dir), referencesName, "shop-v9.pb.gz.0011.tmp"), old, old)
	if err := r.Write("shop-v7.pb.gz", gz(300), "shop-", 5); err != nil {
		t.Fatal(err)
	}
	if got, want := fmt.Sprint(listRefs(t, r, "shop-")), "[shop-v7.pb.gz shop-v6.pb.gz shop-v5.pb.gz shop-v4.pb.gz shop-v3.pb.gz]"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if b, err := r.Read("shop-v7.pb.gz"); err != nil || !bytes.Equal(b, gz(300)) {
		t.Errorf("%d bytes, %v", len(b), err)
	}
	left, _ := os.ReadDir(filepath.Join(inside(dir), referencesName))
	if len(left) != 7 { // five, cart's, and README: the unfinished file is gone
		t.Errorf("%v", left)
	}
	for _, bad := range []string{"../x.pb.gz", "a/b.pb.gz", ".pb.gz", "x.txt", "a\x00.pb.gz", ".hidden.pb.gz"} {
		if err := r.Write(bad, nil, "", 5); err == nil {
			t.Errorf("%q was written", bad)
		}
	}
}

// TestFault_131_ReferenceOfTheFuture: a file with a time to come, as after a clock that was wrong, is
// no newer than any other.
func TestFault_131_ReferenceOfTheFuture(t *testing.T) {
	dir := newDir(t)
	r := openRefs(t, dir, nil)
	for _, name := range []string{"shop-a.pb.gz", "shop-b.pb.gz"} {
		if err := r.Write(name, gz(10), "shop-", 5); err != nil {
			t.Fatal(err)
		}
	}
	later, before := time.Now().Add(1000*time.Hour), time.Now().Add(-time.Hour)
	os.Chtimes(filepath.Join(inside(dir), referencesName, "shop-a.pb.gz"), later, later)
	os.Chtimes(filepath.Join(inside(dir), referencesName, "shop-b.pb.gz"), before, before)
	if got := listRefs(t, r, "shop-"); len(got) != 2 || got[0] != "shop-b.pb.gz" {
		t.Errorf("%v, want b first", got)
	}
	// If all are, the clock was set back, and their order is right.
	for i, name := range []string{"shop-b.pb.gz", "shop-a.pb.gz"} {
		at := later.Add(time.Duration(i) * time.Hour)
		os.Chtimes(filepath.Join(inside(dir), referencesName, name), at, at)
	}
	if got := listRefs(t, r, "shop-"); len(got) != 2 || got[0] != "shop-a.pb.gz" {
		t.Errorf("%v, want a first", got)
	}
}

// TestFault_132_ReferenceByTwo: of two processes that write a reference at once one wins, whole.
func TestFault_132_ReferenceByTwo(t *testing.T) {
	dir := newDir(t)
	var wg sync.WaitGroup
	for i := range 2 {
		wg.Go(func() {
			r := openRefs(t, dir, nil)
			for range 50 {
				if err := r.Write("shop-v1.pb.gz", gz(100+100*i), "shop-", 5); err != nil {
					t.Error(err)
				}
				if b, err := r.Read("shop-v1.pb.gz"); err != nil || !bytes.Equal(b, gz(100)) && !bytes.Equal(b, gz(200)) {
					t.Errorf("%d bytes, %v", len(b), err)
				}
			}
		})
	}
	wg.Wait()
	if left, _ := os.ReadDir(filepath.Join(inside(dir), referencesName)); len(left) != 1 {
		t.Errorf("%v", left)
	}
}

// TestFault_133_ReferenceOnAFullDisk: whatever call fails, the reference from before stays whole, and
// nothing else is left.
func TestFault_133_ReferenceOnAFullDisk(t *testing.T) {
	for n := 1; ; n++ {
		dir := newDir(t)
		if err := openRefs(t, dir, nil).Write("shop-v1.pb.gz", gz(100), "shop-", 5); err != nil {
			t.Fatal(err)
		}
		var f *faulty
		r := openRefs(t, dir, func(d disk) disk { f = &faulty{disk: d}; return f })
		f.arm(nthCall(n, false, syscall.ENOSPC))
		err := r.Write("shop-v1.pb.gz", gz(200), "shop-", 5)
		if err == nil {
			break // there are less than n calls
		}
		f.arm(func(int, string) error { return nil })
		b, readErr := r.Read("shop-v1.pb.gz")
		if readErr != nil || !bytes.Equal(b, gz(100)) && !bytes.Equal(b, gz(200)) {
			t.Errorf("call %d failed: %d bytes, %v", n, len(b), readErr)
		}
		if left, _ := os.ReadDir(filepath.Join(inside(dir), referencesName)); len(left) != 1 {
			t.Errorf("call %d failed (%v): left %v", n, err, left)
		}
	}
	r := openRefs(t, newDir(t), nil)
	r.disk.(*fixedSpace).free, r.disk.(*fixedSpace).total = 1, 100
	if err := r.Write("shop-v1.pb.gz", gz(10), "shop-", 5); !errors.Is(err, ErrNoSpace) {
		t.Errorf("%v, want %v", err, ErrNoSpace)
	}
}

// A link in the place of a reference, or of the folder, is not followed.
func TestReferenceLinks(t *testing.T) {
	dir := newDir(t)
	r := openRefs(t, dir, nil)
	if err := r.Write("shop-v1.pb.gz", gz(10), "shop-", 5); err != nil {
		t.Fatal(err)
	}
	secret := filepath.Join(t.TempDir(), "secret")
	os.WriteFile(secret, []byte("secret"), 0o600)
	if err := os.Symlink(secret, filepath.Join(inside(dir), referencesName, "shop-v2.pb.gz")); err != nil {
		t.Skip(err)
	}
	if got := listRefs(t, r, "shop-"); len(got) != 1 {
		t.Errorf("%v", got)
	}
	if _, err := r.Read("shop-v2.pb.gz"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v", err)
	}
}
