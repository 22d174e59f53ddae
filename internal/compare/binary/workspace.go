package binary

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// private makes go use copies of the files that it writes to even when it only lists or builds: the
// workspace's go.work.sum, and with -mod=mod the module's go.mod and go.sum.
func (b *Builder) private(ctx context.Context, mod, work, flags string) error {
	switch {
	case work != "":
		if resolved, err := filepath.EvalSymlinks(work); err == nil {
			work = resolved
		}
		if own := b.moved(work); exists(own) {
			work = own
		}
		if exists(filepath.Join(filepath.Dir(work), "vendor", "modules.txt")) {
			b.addEnv("GOWORK=" + work) // go finds vendor beside it, and checks no sums
			return nil
		}
		return b.copyWork(ctx, work)
	case strings.Contains(flags, "-mod=mod") && !strings.Contains(flags, "-modfile"):
		kept := filepath.Join(b.at.Out, "go.mod")
		b.addEnv("GOFLAGS=" + flags + " -modfile=" + kept)
		return copyModule(mod, kept, "go.sum")
	}
	return nil
}

// copyWork writes a workspace with the same modules, whose paths are absolute.
func (b *Builder) copyWork(ctx context.Context, work string) error {
	text, err := b.run(ctx, "work", "edit", "-json", work)
	if err != nil {
		return err
	}
	var file struct {
		Use     []struct{ DiskPath string }
		Replace []struct {
			Old, New struct{ Path, Version string }
		}
	}
	if err := json.Unmarshal(text, &file); err != nil {
		return fmt.Errorf("%s: %w", work, err)
	}
	absolute := func(path string) string {
		if path = filepath.FromSlash(path); !filepath.IsAbs(path) {
			path = filepath.Join(filepath.Dir(work), path)
		}
		return b.moved(path)
	}
	edit := []string{"work", "edit"}
	for _, u := range file.Use {
		edit = append(edit, "-dropuse="+u.DiskPath)
	}
	for _, u := range file.Use {
		if path := absolute(u.DiskPath); exists(path) { // the base may not have it yet
			edit = append(edit, "-use="+path)
		}
	}
	for _, r := range file.Replace {
		if r.New.Version != "" {
			continue // by a module, not by a folder
		}
		old := r.Old.Path
		if r.Old.Version != "" {
			old += "@" + r.Old.Version
		}
		edit = append(edit, "-replace="+old+"="+absolute(r.New.Path))
	}
	kept := filepath.Join(b.at.Out, "go.work")
	if err := copyModule(work, kept, "go.work.sum"); err != nil {
		return err
	}
	if _, err := b.run(ctx, append(edit, kept)...); err != nil {
		return err
	}
	b.addEnv("GOWORK=" + kept)
	return nil
}

// moved is where a file of the repository is on this side.
func (b *Builder) moved(path string) string {
	if inside, ok := strings.CutPrefix(path, b.at.Root+string(filepath.Separator)); ok && b.at.Copy != "" {
		return filepath.Join(b.at.Copy, inside)
	}
	return path
}

// Env is what a benchmark of this side needs beside the environment: one that runs go finds the workspace
// of its side, not that of the head which the user has set.
func (b *Builder) Env() []string {
	if set := os.Getenv("GOWORK"); b.at.Work == "" && (set == "" || set == "off") {
		return nil // it finds its own
	}
	return slices.DeleteFunc(slices.Clone(b.environ), func(v string) bool { return !strings.HasPrefix(v, "GOWORK=") })
}

func (b *Builder) addEnv(variable string) { b.environ = append(b.environ, variable) }

// copyModule copies a go.mod or go.work, and the sums beside it if there are any.
func copyModule(from, to, sums string) error {
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	if err := os.WriteFile(to, text, 0o600); err != nil {
		return err
	}
	text, err = os.ReadFile(filepath.Join(filepath.Dir(from), sums))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(filepath.Dir(to), sums), text, 0o600)
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
