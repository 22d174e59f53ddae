package dumps

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sort"
	"strings"
	"time"
)

// referencesName is the folder of references in the guard's folder.
const referencesName = "references"

// maxReference is the most that is read of a reference: what a decoder takes.
const maxReference = 8 << 20

// staleTemp is the age from which an unfinished file is of a process that is gone: one takes milliseconds.
const staleTemp = time.Hour

// References is the folder in DumpDir/profguard in which each build of a program leaves what is normal for it. All
// processes write there, each file whole: the last one to write a file wins. It is not safe for
// concurrent use.
type References struct {
	disk   disk
	now    func() time.Time
	random func() string
}

// A ReferenceFile is one of them.
type ReferenceFile struct {
	Name string
	Time time.Time // of the last write, by a clock that may have been wrong
}

// OpenReferences returns the folder in a DumpDir. It makes no file or folder until the first write.
func OpenReferences(dir string) (*References, error) {
	d, err := newDisk(dir, FolderName, referencesName)
	if err != nil {
		return nil, fmt.Errorf("open references in %q: %w", dir, err)
	}
	return &References{disk: d, now: time.Now, random: randomHex}, nil
}

// Close closes the folder.
func (r *References) Close() error { return r.disk.close() }

// IsReferenceName reports whether a file of the folder may have the name.
func IsReferenceName(name string) bool {
	body, ok := strings.CutSuffix(name, ".pb.gz")
	return ok && len(name) <= 200 && body != "" && !strings.HasPrefix(name, ".") &&
		strings.Trim(body, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.+_-") == ""
}

// List lists the files whose name has the prefix, the newest first. Those with a time to come are the
// last: a clock was wrong. Among themselves they are in order, too: the clock may have been set back since.
func (r *References) List(prefix string) (files []ReferenceFile, err error) {
	if err := r.disk.open(); err != nil {
		return nil, fmt.Errorf("list references: %w", err)
	}
	names, err := r.disk.list(".")
	if err != nil {
		return nil, fmt.Errorf("list references: %w", err)
	}
	now := r.now()
	for _, name := range names {
		if !IsReferenceName(name) || !strings.HasPrefix(name, prefix) {
			continue
		}
		info, err := r.disk.lstat(name)
		if err != nil || !info.Mode().IsRegular() {
			continue // it was removed meanwhile, or is none of ours
		}
		files = append(files, ReferenceFile{name, info.ModTime()})
	}
	future := func(f *ReferenceFile) bool { return f.Time.After(now.Add(time.Minute)) }
	sort.Slice(files, func(i, j int) bool {
		a, b := &files[i], &files[j]
		if future(a) != future(b) {
			return future(b)
		}
		return cmp.Or(b.Time.Compare(a.Time), cmp.Compare(a.Name, b.Name)) < 0
	})
	return files, nil
}

// Read reads a file that List has listed.
func (r *References) Read(name string) ([]byte, error) {
	if info, err := r.disk.lstat(name); err == nil && info.Size() > maxReference { // nothing of it is read
		return nil, fmt.Errorf("read reference %s: it has %d bytes, expected at most %d", name, info.Size(), maxReference)
	}
	f, err := r.disk.read(name)
	if err != nil {
		return nil, fmt.Errorf("read reference: %w", err)
	}
	defer f.Close()
	b, err := readAll(f, maxReference)
	if err != nil {
		return nil, fmt.Errorf("read reference %s: %w", name, err)
	}
	return b, nil
}

// Write writes a file whole, or not at all, and then removes the oldest with the prefix until
// there are keep, and what writers that are gone have left.
func (r *References) Write(name string, b []byte, prefix string, keep int) error {
	if !IsReferenceName(name) {
		return fmt.Errorf("write reference: %q is no name of one", name)
	}
	if err := r.write(name, b); err != nil {
		return fmt.Errorf("write reference %s: %w", name, err)
	}
	return r.tidy(name, prefix, keep)
}

func (r *References) write(name string, b []byte) error {
	if err := r.disk.open(); err != nil {
		return err
	}
	if err := hasRoom(r.disk, int64(len(b)), Keep{}.withDefaults().Free); err != nil {
		return err
	}
	temp := name + "." + r.random() + tempExt
	f, err := r.disk.create(temp)
	if err != nil {
		return err
	}
	if err = fill(f, b); err == nil {
		err = r.disk.rename(temp, name)
	}
	if err != nil {
		r.disk.remove(temp)
		return err
	}
	return r.disk.sync(".")
}

// isUnfinished reports whether a name is that of a file that is being written, or was when its writer ended.
func isUnfinished(name string) bool {
	body, is := strings.CutSuffix(name, tempExt)
	at := strings.LastIndexByte(body, '.')
	return is && at >= 0 && IsReferenceName(body[:at])
}

// tidy removes what is too much. Other files of the folder stay.
func (r *References) tidy(own, prefix string, keep int) error {
	files, err := r.List(prefix)
	if err != nil {
		return err
	}
	files = slices.DeleteFunc(files, func(f ReferenceFile) bool { return f.Name == own })
	var errs []error
	for i := max(keep-1, 0); i < len(files); i++ {
		if err := r.disk.remove(files[i].Name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	names, err := r.disk.list(".")
	for _, name := range names {
		if info, err := r.disk.lstat(name); isUnfinished(name) && err == nil && info.Mode().IsRegular() && r.now().Sub(info.ModTime()) > staleTemp {
			r.disk.remove(name)
		}
	}
	return errors.Join(append(errs, err)...)
}
