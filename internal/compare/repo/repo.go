// Package repo is the git repository that a comparison is about. It only reads: the base is
// written into a folder outside, by an index outside, so that a repository is the same
// afterwards, also if the process is killed. git worktree would leave its metadata, and runs hooks.
package repo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// A Repo is a repository with a working tree.
type Repo struct {
	root string // of the working tree
}

// A Revision is a commit.
type Revision struct {
	Hash string
	Tree string // the hash of its content
	Time string // of the commit, as RFC 3339
}

// Short is the beginning of the hash, for people.
func (r Revision) Short() string { return r.Hash[:min(len(r.Hash), 10)] }

// Open returns the repository around a folder.
func Open(ctx context.Context, dir string) (*Repo, error) {
	if _, err := exec.LookPath("git"); err != nil {
		return nil, errors.New("expected git in PATH, found none: compare reads the base with it")
	}
	root, err := git(ctx, dir, nil, "rev-parse", "--show-toplevel")
	if err != nil {
		return nil, fmt.Errorf("%s: expected a git repository with a working tree, for the base: %w", dir, err)
	}
	return &Repo{root: filepath.FromSlash(root)}, nil
}

// Root is the top folder of the working tree.
func (r *Repo) Root() string { return r.root }

// Resolve returns the commit that a name means.
func (r *Repo) Resolve(ctx context.Context, name string) (Revision, error) {
	text, err := git(ctx, r.root, nil, "log", "-1", "--format=%H %T %cI", "--end-of-options", name, "--")
	f := strings.Fields(text)
	if err != nil || len(f) != 3 { // a tree has no log
		remedy := "; git branch -a and git tag list what is there"
		if r.isShallow(ctx) {
			remedy = "; this is a shallow clone, which has only the newest commits: fetch the base with git fetch --depth=1 origin BRANCH" +
				" and say -base FETCH_HEAD, or clone with all of them (actions/checkout: fetch-depth: 0)"
		}
		return Revision{}, fmt.Errorf("expected a commit, found %q, which is not in this repository%s", name, remedy)
	}
	return Revision{Hash: f[0], Tree: f[1], Time: f[2]}, nil
}

// Base returns the newest commit that is in the history of both the named one and HEAD: what
// others have changed since then is not part of a pull request. Where no such commit is here, it
// returns the named one, and false.
func (r *Repo) Base(ctx context.Context, name string) (base Revision, common bool, err error) {
	named, err := r.Resolve(ctx, name)
	if err != nil {
		return base, false, err
	}
	hash, err := git(ctx, r.root, nil, "merge-base", named.Hash, "HEAD")
	if err != nil || hash == "" {
		return named, false, ctx.Err()
	}
	base, err = r.Resolve(ctx, hash)
	return base, true, err
}

func (r *Repo) isShallow(ctx context.Context) bool {
	text, err := git(ctx, r.root, nil, "rev-parse", "--is-shallow-repository")
	return err == nil && text == "true"
}

// Modified reports whether the working tree differs from HEAD.
func (r *Repo) Modified(ctx context.Context) (bool, error) {
	text, err := git(ctx, r.root, readOnly, "status", "--porcelain", "--no-renames")
	return text != "", err
}

// Changes are the files that differ between a revision and the working tree, as paths below
// the root: with those that git does not know yet, but without those that it ignores.
func (r *Repo) Changes(ctx context.Context, from Revision) ([]string, error) {
	tracked, err := git(ctx, r.root, readOnly, "diff", "--name-only", "--no-renames", "-z", from.Hash, "--")
	if err != nil {
		return nil, err
	}
	others, err := git(ctx, r.root, readOnly, "ls-files", "--others", "--exclude-standard", "-z")
	if err != nil {
		return nil, err
	}
	return strings.FieldsFunc(tracked+"\x00"+others, func(c rune) bool { return c == 0 }), nil
}

// Has reports whether a file belongs to the repository: it is inside, and git does not ignore it.
func (r *Repo) Has(ctx context.Context, path string) bool {
	inside, err := filepath.Rel(r.root, path)
	if err != nil || !filepath.IsLocal(inside) {
		return false
	}
	_, err = git(ctx, r.root, readOnly, "check-ignore", "-q", "--", inside)
	return err != nil // 1 for one that is not ignored
}

// Checkout writes the files of a revision into a folder, which it makes, with those of submodules that are here.
func (r *Repo) Checkout(ctx context.Context, rev Revision, dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	index := dir + ".index"
	defer os.Remove(index)
	env := []string{"GIT_INDEX_FILE=" + index}
	if _, err := git(ctx, r.root, env, "read-tree", rev.Hash); err != nil {
		return fmt.Errorf("reading the files of %s: %w", rev.Short(), err)
	}
	if _, err := git(ctx, r.root, env, "checkout-index", "--all", "--prefix="+filepath.ToSlash(dir)+"/"); err != nil {
		return fmt.Errorf("writing the files of %s to %s: %w", rev.Short(), dir, err)
	}
	list, err := git(ctx, r.root, nil, "ls-tree", "-r", "-z", rev.Hash)
	if err != nil {
		return err
	}
	for entry := range strings.SplitSeq(list, "\x00") {
		about, path, _ := strings.Cut(entry, "\t")
		hash, is := strings.CutPrefix(about, "160000 commit ")
		module := &Repo{root: filepath.Join(r.root, filepath.FromSlash(path))}
		if _, err := os.Stat(filepath.Join(module.root, ".git")); !is || err != nil {
			continue
		}
		at, err := module.Resolve(ctx, hash)
		if err != nil {
			continue // a shallow one has only its newest commit
		}
		if err := module.Checkout(ctx, at, filepath.Join(dir, filepath.FromSlash(path))); err != nil {
			return err
		}
	}
	return nil
}

// readOnly keeps git from writing an index whose times it has refreshed.
var readOnly = []string{"GIT_OPTIONAL_LOCKS=0"}

// git runs a command and returns what it prints, without the last line end. An error says what git
// said.
func git(ctx context.Context, dir string, env []string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), env...)
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		line, _, _ := strings.Cut(strings.TrimSpace(said.String()), "\n")
		return "", fmt.Errorf("git %s: %w: %s", args[0], err, line)
	}
	return strings.TrimRight(out.String(), "\n"), nil
}

// Modules are the folders with a go.mod, below the root; those of test data are left out.
func (r *Repo) Modules(ctx context.Context) ([]string, error) {
	text, err := git(ctx, r.root, nil, "ls-files", "-z", "--", "go.mod", "*/go.mod")
	if err != nil {
		return nil, err
	}
	var dirs []string
	for name := range strings.SplitSeq(text, "\x00") {
		dir := filepath.Dir(filepath.FromSlash(name))
		if name != "" && !strings.Contains("/"+name, "/testdata/") && !strings.Contains("/"+name, "/vendor/") {
			dirs = append(dirs, dir)
		}
	}
	return dirs, nil
}
