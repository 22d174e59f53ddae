// Publish makes a release in a folder, to be tried before it is one:
//
//	go run -C internal/publish . -version v0.1.0 -out /tmp/release
//
// /tmp/release/proxy has all modules that users import, as the module proxy will serve them:
//
//	GOPROXY=file:///tmp/release/proxy,https://proxy.golang.org GONOSUMDB=github.com/profguard/* go get ...
//
// /tmp/release/repository is a clone with the commit to tag, and its tags. In that commit nested modules
// require the version of the others, and have no replace, with which go install would refuse them. What is
// not committed is part of it, so that a change can be tried before.
package main

import (
	"bytes"
	"cmp"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
	"golang.org/x/mod/semver"
	"golang.org/x/mod/sumdb/dirhash"
	"golang.org/x/mod/zip"
)

func main() {
	version := flag.String("version", "", "the version, such as v0.1.0")
	out := flag.String("out", "", "a folder to make")
	flag.Parse()
	r, err := publish(*version, *out)
	if err != nil {
		fmt.Fprintln(os.Stderr, "publish:", err)
		os.Exit(1)
	}
	fmt.Println(r)
}

// A release is what publish has made.
type release struct {
	version, proxy, repository string
	modules                    []*nested // those that users import, each after those that it requires
	dirty                      string    // what is not committed
}

// A nested is a module of the repository, the root's as well.
type nested struct {
	dir  string // "" for the root
	file *modfile.File
}

func (n *nested) path() string { return n.file.Module.Mod.Path }

// published reports whether users import the module or run it.
func (n *nested) published() bool { return !strings.Contains(n.path()+"/", "/internal/") }

// tag is the tag of the module's version.
func (n *nested) tag(version string) string { return path.Join(n.dir, version) }

// publish makes a release of the repository around the working directory.
func publish(version, out string) (*release, error) {
	if semver.Canonical(version) != version || version == "" || semver.Major(version) > "v1" {
		return nil, fmt.Errorf("-version: expected v0 or v1 with three numbers, such as v0.1.0, found %q", version)
	}
	out, err := filepath.Abs(cmp.Or(out, "."))
	if err != nil {
		return nil, err
	}
	if err := os.Mkdir(out, 0o755); err != nil {
		return nil, fmt.Errorf("-out: expected a folder that is not there yet: %w", err)
	}
	root, err := git("", "", "rev-parse", "--show-toplevel")
	if err != nil {
		return nil, err
	}
	r := &release{version: version, proxy: filepath.Join(out, "proxy"), repository: filepath.Join(out, "repository")}
	if r.dirty, err = git(root, "", "status", "--porcelain"); err != nil {
		return nil, err
	}
	if _, err = git("", "", "clone", "-q", "--shared", "--no-checkout", root, r.repository); err != nil {
		return nil, err
	}
	if _, err = git(r.repository, "", "--work-tree", root, "add", "-A", "."); err != nil {
		return nil, err
	}
	return r, r.make()
}

// make writes the modules, each after those that it requires, because it has their sums.
func (r *release) make() error {
	left, err := r.find()
	if err != nil {
		return err
	}
	sums := map[string]string{} // by path, two lines of a go.sum
	for len(left) > 0 {
		ready := slices.IndexFunc(left, func(n *nested) bool {
			return !slices.ContainsFunc(n.file.Require, func(q *modfile.Require) bool {
				return slices.ContainsFunc(left, func(other *nested) bool { return other.path() == q.Mod.Path })
			})
		})
		if ready < 0 {
			return fmt.Errorf("%s and others require each other", left[0].path())
		}
		n := left[ready]
		left = slices.Delete(left, ready, ready+1)
		if err := r.rewrite(n, sums); err != nil {
			return err
		}
		if n.published() {
			if sums[n.path()], err = r.serve(n); err != nil {
				return err
			}
			r.modules = append(r.modules, n)
		}
	}
	if _, err := git(r.repository, "", "commit", "-q", "--allow-empty", "-m", "release: "+r.version); err != nil {
		return err
	}
	for _, n := range r.modules {
		if _, err := git(r.repository, "", "tag", n.tag(r.version)); err != nil {
			return err
		}
	}
	return nil
}

// find finds all modules of the repository.
func (r *release) find() (all []*nested, err error) {
	names, err := git(r.repository, "", "ls-files", "--", "go.mod", "*/go.mod")
	if err != nil {
		return nil, err
	}
	for name := range strings.FieldsSeq(names) {
		if strings.Contains(name, "testdata/") {
			continue
		}
		text, err := git(r.repository, "", "cat-file", "blob", ":"+name)
		if err != nil {
			return nil, err
		}
		file, err := modfile.Parse(name, []byte(text), nil)
		if err != nil {
			return nil, err
		}
		all = append(all, &nested{strings.TrimSuffix(strings.TrimSuffix(name, "go.mod"), "/"), file})
	}
	return all, nil
}

// rewrite gives go.mod the versions and go.sum the sums of the modules that it requires. Those that nobody
// imports keep their replace.
func (r *release) rewrite(n *nested, sums map[string]string) error {
	var lines []string
	for _, q := range slices.Clone(n.file.Require) {
		if ours := sums[q.Mod.Path]; ours != "" {
			lines = append(lines, ours)
			if err := n.file.AddRequire(q.Mod.Path, r.version); err != nil {
				return err
			}
		}
	}
	if len(lines) == 0 {
		return nil
	}
	if n.published() {
		for _, old := range slices.Clone(n.file.Replace) {
			if err := n.file.DropReplace(old.Old.Path, old.Old.Version); err != nil {
				return err
			}
		}
		name := path.Join(n.dir, "go.sum")
		text, err := git(r.repository, "", "cat-file", "blob", ":"+name)
		if err != nil {
			return err
		}
		all := strings.Split(text, "\n")
		for _, line := range lines {
			at := slices.IndexFunc(all, func(old string) bool { return old > line })
			all = slices.Insert(all, cmp.Or(max(at, 0), len(all)), line)
		}
		if err := r.stage(name, strings.Join(all, "\n")+"\n"); err != nil {
			return err
		}
	}
	n.file.Cleanup()
	text, err := n.file.Format()
	if err != nil {
		return err
	}
	return r.stage(path.Join(n.dir, "go.mod"), string(text))
}

// stage puts a file into the index of the clone.
func (r *release) stage(name, text string) error {
	blob, err := git(r.repository, text, "hash-object", "-w", "--stdin")
	if err == nil {
		_, err = git(r.repository, "", "update-index", "--cacheinfo", "100644,"+blob+","+name)
	}
	return err
}

// serve writes what a proxy serves of a module, and returns its lines in a go.sum.
func (r *release) serve(n *nested) (sums string, err error) {
	tree, err := git(r.repository, "", "write-tree")
	if err != nil {
		return "", err
	}
	at := filepath.Join(r.proxy, n.path(), "@v")
	if err := os.MkdirAll(at, 0o755); err != nil {
		return "", err
	}
	var archive bytes.Buffer
	if err := zip.CreateFromVCS(&archive, module.Version{Path: n.path(), Version: r.version}, r.repository, tree, n.dir); err != nil {
		return "", err
	}
	text, err := git(r.repository, "", "cat-file", "blob", ":"+path.Join(n.dir, "go.mod"))
	if err != nil {
		return "", err
	}
	text += "\n" // which git leaves and the function git takes
	when, err := git(r.repository, "", "log", "-1", "--format=%cI")
	if err != nil {
		return "", err
	}
	for name, content := range map[string]string{
		"list":              r.version + "\n",
		r.version + ".info": fmt.Sprintf("{\"Version\":%q,\"Time\":%q}", r.version, when),
		r.version + ".mod":  text,
		r.version + ".zip":  archive.String(),
	} {
		if err := os.WriteFile(filepath.Join(at, name), []byte(content), 0o644); err != nil {
			return "", err
		}
	}
	whole, err := dirhash.HashZip(filepath.Join(at, r.version+".zip"), dirhash.Hash1)
	if err != nil {
		return "", err
	}
	alone, err := dirhash.Hash1([]string{"go.mod"}, func(string) (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(text)), nil })
	return fmt.Sprintf("%[1]s %[2]s %[3]s\n%[1]s %[2]s/go.mod %[4]s", n.path(), r.version, whole, alone), err
}

// String says how to try the release, and how to make it one.
func (r *release) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "To try it: GOPROXY=file://%s,https://proxy.golang.org GONOSUMDB=github.com/profguard/*\n", r.proxy)
	if r.dirty != "" {
		fmt.Fprintf(&b, "Not a release, because these files are not committed:\n%s", r.dirty)
		return b.String()
	}
	fmt.Fprintf(&b, "To release it: git -C %s push https://github.com/profguard/profguard", r.repository)
	for _, n := range r.modules {
		fmt.Fprintf(&b, " %s", n.tag(r.version))
	}
	return b.String()
}

// git runs git in a folder, and returns what it prints without the last line's end.
func git(dir, input string, args ...string) (string, error) {
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Stdin = strings.NewReader(input)
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("git %s: %w\n%s", strings.Join(args, " "), err, said.String())
	}
	return strings.TrimSuffix(out.String(), "\n"), nil
}
