// Package binary builds the test binaries of one side of a comparison, with a clock of CPU time
// in package testing.
package binary

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// A Builder builds the test binaries of packages that it finds from a folder.
type Builder struct {
	Go        string // the release of the toolchain, such as go1.26.8
	Work      string // the go.work that it found, or ""
	Module    string // the path of the main module
	ModuleDir string
	Folders   map[string]string // of all modules that are compiled from a folder, by how paths in a trimmed binary begin

	at      Place
	goroot  string // a link to the toolchain
	overlay overlay
	env     string   // all that go env says and that may change a binary
	environ []string // beside that of the process
}

// A Place is where a side is, and what a builder may write to. Only Dir and Out are required.
type Place struct {
	Dir   string // where go runs
	Out   string // an empty folder for all that is written
	Cache string // where binaries are kept, "" for nowhere
	Tree  string // the hash of all files, where binaries are kept
	Root  string // of the repository
	Copy  string // where its files are on this side, if elsewhere
	Work  string // a go.work that no revision has
}

// A Package is one with benchmarks.
type Package struct {
	Path       string // of its import
	Dir        string
	Benchmarks []string
	Tests      string // another folder whose test files it is built with, instead of its own
	Err        error  // why it cannot be built, as far as go list knows
}

// ErrNoModule says that no module is around the folder.
var ErrNoModule = errors.New("no go.mod")

// New returns a builder of a side. Nothing is written into the repository.
func New(ctx context.Context, at Place) (*Builder, error) {
	b := &Builder{at: at, environ: []string{"PWD=" + at.Dir, "GOTMPDIR=" + at.Out}}
	if at.Work != "" {
		b.addEnv("GOWORK=" + at.Work)
	}
	text, err := b.run(ctx, "env", "-json")
	if err != nil {
		return nil, err
	}
	var env map[string]string
	if err := json.Unmarshal(text, &env); err != nil {
		return nil, fmt.Errorf("go env: %w", err)
	}
	mod, work, flags := env["GOMOD"], env["GOWORK"], env["GOFLAGS"]
	if work == "off" {
		work = ""
	}
	b.Work = work
	if (mod == "" || mod == os.DevNull) && work == "" {
		return nil, ErrNoModule
	}
	if strings.Contains(flags, "-overlay") {
		return nil, errors.New("expected GOFLAGS without -overlay: compare adds a clock of CPU time to package testing by an overlay of its own")
	}
	if usesOthers(mod, work) {
		b.at.Cache = ""
	}
	if err := b.private(ctx, mod, work, flags); err != nil {
		return nil, err
	}
	for _, name := range []string{"GOGCCFLAGS", "GOMOD", "GOTMPDIR", "GOWORK"} { // they have temporary folders
		delete(env, name)
	}
	kept, err := json.Marshal(env)
	if err != nil {
		return nil, err
	}
	b.Go, b.env = env["GOVERSION"], string(kept)
	// The module cache holds the toolchains that go.mod asks for, and go refuses overlays in it.
	b.goroot = filepath.Join(at.Out, "goroot")
	if err := os.Symlink(env["GOROOT"], b.goroot); err != nil {
		return nil, err
	}
	if b.overlay, err = withClock(b.goroot, at.Out); err != nil {
		return nil, err
	}
	if text, err = b.run(ctx, "list", "-m", "-f", "{{.Path}}\t{{.Dir}}"); err != nil {
		return nil, err
	}
	if b.Folders, err = b.replaced(ctx, mod); err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(text)) { // a workspace has several
		path, dir, _ := strings.Cut(strings.TrimSpace(line), "\t")
		b.Folders[path+"/"] = dir
		if inside := dir == at.Dir || strings.HasPrefix(at.Dir, dir+string(filepath.Separator)); b.Module == "" || inside && len(dir) > len(b.ModuleDir) {
			b.Module, b.ModuleDir = path, dir
		}
	}
	return b, nil
}

// replaced are the folders that a go.mod names in the place of modules.
func (b *Builder) replaced(ctx context.Context, mod string) (map[string]string, error) {
	folders := map[string]string{}
	if mod == "" || mod == os.DevNull { // a workspace around the folder
		return folders, nil
	}
	text, err := b.run(ctx, "mod", "edit", "-json", mod)
	if err != nil {
		return nil, err
	}
	var file struct {
		Replace []struct {
			Old, New struct{ Path, Version string }
		}
	}
	if err := json.Unmarshal(text, &file); err != nil {
		return nil, fmt.Errorf("%s: %w", mod, err)
	}
	for _, r := range file.Replace {
		if r.New.Version != "" {
			continue // by a module
		}
		dir := filepath.FromSlash(r.New.Path)
		if !filepath.IsAbs(dir) {
			dir = filepath.Join(filepath.Dir(mod), dir)
		}
		folders[r.Old.Path+"@"] = dir
	}
	return folders, nil
}

// usesOthers reports whether code from elsewhere on this machine may be compiled in, which may change
// while the tree does not.
func usesOthers(mod, work string) bool {
	text, err := os.ReadFile(mod)
	return work != "" || err != nil || bytes.Contains(text, []byte("=> /")) || bytes.Contains(text, []byte("=> .."))
}

// Packages are the packages that the patterns match and that have benchmarks in their test
// files, whatever build tags say of other files.
func (b *Builder) Packages(ctx context.Context, patterns []string) ([]Package, error) {
	text, err := b.run(ctx, append([]string{"list", "-e", "-json=ImportPath,Dir,TestGoFiles,XTestGoFiles,Error,Match", "--"}, patterns...)...)
	if err != nil {
		return nil, err
	}
	var list []Package
	for d := json.NewDecoder(bytes.NewReader(text)); ; {
		var p struct {
			ImportPath, Dir           string
			TestGoFiles, XTestGoFiles []string
			Error                     *struct{ Err string }
		}
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return list, nil
		} else if err != nil {
			return nil, fmt.Errorf("go list: %w", err)
		}
		found := Package{Path: p.ImportPath, Dir: p.Dir}
		for _, name := range append(p.TestGoFiles, p.XTestGoFiles...) {
			content, _ := os.ReadFile(filepath.Join(p.Dir, name)) // one that cannot be read has none
			for _, match := range benchmark.FindAllSubmatch(content, -1) {
				found.Benchmarks = append(found.Benchmarks, string(match[1]))
			}
		}
		if p.Error != nil {
			found.Err = errors.New(p.Error.Err)
		}
		if len(found.Benchmarks) > 0 || found.Err != nil {
			list = append(list, found)
		}
	}
}

var benchmark = regexp.MustCompile(`\bfunc (Benchmark[\pL\pN_]*)`)

// readers are packages by which a benchmark runs commands, which it may have built before, or reads Go
// files.
var readers = []string{"os/exec", "go/scanner"}

// Readers are the packages among paths that may run or read other code of the repository than
// what their test binary is built from, because they or their tests depend on one of [readers].
func (b *Builder) Readers(ctx context.Context, paths []string) (map[string]bool, error) {
	text, err := b.run(ctx, append([]string{"list", "-e", "-test", "-json=ForTest,Deps", "--"}, paths...)...)
	if err != nil {
		return nil, err
	}
	found := map[string]bool{}
	for d := json.NewDecoder(bytes.NewReader(text)); ; {
		var p struct { // ForTest is "" for the main package of a test, which always depends on os/exec
			ForTest string
			Deps    []string
		}
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return found, nil
		} else if err != nil {
			return nil, fmt.Errorf("go list: %w", err)
		}
		if p.ForTest != "" && slices.ContainsFunc(readers, func(name string) bool { return slices.Contains(p.Deps, name) }) {
			found[p.ForTest] = true
		}
	}
}

// Build compiles and links the test binary of a package, and returns its path. Paths are trimmed,
// so that the two sides do not differ by the folders that they stand in.
func (b *Builder) Build(ctx context.Context, p *Package, trim bool) (string, error) {
	kept := ""
	key := fmt.Sprintf("%x", sha256.Sum256([]byte(strings.Join([]string{b.at.Tree, p.Path, p.Tests, b.env, clock}, "\x00"))))[:32]
	if trim && p.Tests == "" && b.at.Cache != "" && b.at.Tree != "" { // others have paths of a folder that will be gone
		kept = filepath.Join(b.at.Cache, key+".test")
		now := time.Now()
		if err := os.Chtimes(kept, now, now); err == nil {
			return kept, nil
		}
	}
	path := filepath.Join(b.at.Out, key+".test")
	files, err := b.overlay, error(nil)
	if p.Tests != "" {
		if files, err = files.withTests(p.Dir, p.Tests); err != nil {
			return "", err
		}
	}
	list := filepath.Join(b.at.Out, key+".json")
	if err := files.write(list); err != nil {
		return "", err
	}
	args := []string{"test", "-c", "-vet=off", "-buildvcs=false", "-overlay", list, "-o", path}
	if trim {
		args = append(args, "-trimpath")
	}
	if _, err := b.run(ctx, append(args, p.Path)...); err != nil {
		return "", err
	}
	if kept != "" && keep(path, kept) == nil {
		return kept, nil
	}
	return path, nil
}

// keep moves a binary to where it is kept, by a name that is only there once it is complete.
func keep(path, kept string) error {
	in, err := os.Open(path)
	if err != nil {
		return err
	}
	defer in.Close()
	temp, err := os.CreateTemp(filepath.Dir(kept), ".new-*")
	if err != nil {
		return err
	}
	defer os.Remove(temp.Name())
	_, err = io.Copy(temp, in)
	if err = cmp.Or(err, temp.Chmod(0o700), temp.Close()); err != nil {
		return err
	}
	if err := os.Rename(temp.Name(), kept); err != nil {
		return err
	}
	return os.Remove(path)
}

// keptFor is how long a binary is kept after it was last used, and a profile.
const keptFor = 7 * 24 * time.Hour

// Cache returns the folder in which binaries and profiles are kept, without those that are old, ""
// if there can be none.
func Cache() string {
	user, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	dir := filepath.Join(user, "profguard", "compare")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return ""
	}
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if info, err := e.Info(); err == nil && time.Since(info.ModTime()) > keptFor {
			os.RemoveAll(filepath.Join(dir, e.Name()))
		}
	}
	return dir
}

// command is one of go, of the toolchain that the side needs as soon as that is known.
func (b *Builder) command(ctx context.Context, args ...string) *exec.Cmd {
	name, env := "go", slices.Concat(os.Environ(), b.environ)
	if b.goroot != "" {
		name, env = filepath.Join(b.goroot, "bin", "go"), append(env, "GOROOT="+b.goroot, "GOTOOLCHAIN=local")
	}
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env = b.at.Dir, env
	cmd.WaitDelay = 10 * time.Second                                      // for what it has started; its files are in a folder that is removed
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // it ends its compilers
	return cmd
}

// run runs go, and returns what it prints. An error says what go said.
func (b *Builder) run(ctx context.Context, args ...string) ([]byte, error) {
	cmd := b.command(ctx, args...)
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		text := problems(said.String())
		if args[0] == "test" && text != "" {
			return nil, errors.New(text)
		}
		return nil, fmt.Errorf("go %s: %w\n%s", args[0], err, text)
	}
	return out.Bytes(), nil
}

// problems is what go has said, without the modules that it has fetched and the packages it is about.
func problems(said string) string {
	var b strings.Builder
	for line := range strings.Lines(said) {
		if !noProblem.MatchString(line) {
			b.WriteString(line)
		}
	}
	return strings.TrimSpace(b.String())
}

var noProblem = regexp.MustCompile(`^(go: (downloading|finding|extracting) |# )`)
