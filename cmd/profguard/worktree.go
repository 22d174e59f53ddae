package main

import (
	"bufio"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/names"
)

// A worktree is the code that a command runs in. Profiles have paths of the machine that compiled the
// program, or with -trimpath those of modules; reports have those below the root of the repository, as
// GitHub wants them.
type worktree struct {
	root    string // "" if there is none
	modules []goModule
}

// A goModule is a module of the repository.
type goModule struct {
	path   string
	folder string // below the root, with slashes
}

// worktreeAt is the repository with a folder: its modules are those whose go.mod is in the folder or above
// it. Without a repository there may be a module.
func worktreeAt(dir string) *worktree {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return &worktree{}
	}
	r := &worktree{}
	found := map[string]string{} // folders with a go.mod
	for at := dir; ; at = filepath.Dir(at) {
		if module := modulePath(filepath.Join(at, "go.mod")); module != "" {
			found[at] = module
			if r.root == "" {
				r.root = at
			}
		}
		if _, err := os.Stat(filepath.Join(at, ".git")); err == nil {
			r.root = at
			break
		}
		if at == filepath.Dir(at) {
			break
		}
	}
	for at, module := range found {
		if folder, err := filepath.Rel(r.root, at); err == nil && filepath.IsLocal(folder) {
			r.modules = append(r.modules, goModule{module, filepath.ToSlash(folder)})
		}
	}
	return r
}

// modulePath is the path of a module, "" without a go.mod.
func modulePath(file string) string {
	f, err := os.Open(file)
	if err != nil {
		return ""
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if fields := strings.Fields(lines.Text()); len(fields) > 1 && fields[0] == "module" {
			return strings.Trim(fields[1], `"`)
		}
	}
	return ""
}

// relative is the path of a function's file below the root, or the file as it stands if that is not known
// to be in the repository.
func (t *worktree) relative(function, file string) string {
	file = strings.ReplaceAll(file, `\`, "/")
	if t == nil || t.root == "" || file == "" {
		return file
	}
	if inside, is := strings.CutPrefix(file, filepath.ToSlash(t.root)+"/"); is {
		return inside
	}
	pkg := names.PackageOf(function)
	for _, m := range t.modules {
		if rest, is := strings.CutPrefix(file, m.path); is { // -trimpath
			if version, inside, ok := strings.Cut(rest, "/"); ok && (version == "" || version[0] == '@') {
				return path.Join(m.folder, inside)
			}
		}
		if rest, is := strings.CutPrefix(pkg+"/", m.path+"/"); is { // compiled elsewhere
			if at := path.Join(m.folder, rest, path.Base(file)); t.has(at) {
				return at
			}
		}
	}
	if pkg == "main" { // whose name has no folder: the longest end of the path that is here
		for _, rest, more := strings.Cut(file, "/"); more; _, rest, more = strings.Cut(rest, "/") {
			if t.has(rest) {
				return rest
			}
		}
	}
	return file
}

// locate gives the files of an offender their paths below the root.
func (t *worktree) locate(o *budget.Offender) {
	for _, f := range []*budget.Frame{&o.Frame, &o.Within, &o.Blame, &o.Owner} {
		f.File = t.relative(f.Function, f.File)
	}
	for _, list := range [][]budget.Frame{o.Callers, o.Callees} {
		for k := range list {
			list[k].File = t.relative(list[k].Function, list[k].File)
		}
	}
}

// has reports whether there is such a file, so that GitHub can show its lines.
func (t *worktree) has(file string) bool {
	if t.root == "" || file == "" || !filepath.IsLocal(filepath.FromSlash(file)) {
		return false
	}
	info, err := os.Stat(filepath.Join(t.root, filepath.FromSlash(file)))
	return err == nil && info.Mode().IsRegular()
}
