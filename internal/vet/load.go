package vet

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// listed is a package as the go command lists it.
type listed struct {
	ImportPath, Name, Dir     string
	Standard, DepOnly         bool
	GoFiles, CgoFiles, SFiles []string
	IgnoredGoFiles            []string
	TestGoFiles, XTestGoFiles []string
	Deps                      []string
	Module                    *struct {
		Main    bool
		Replace *struct{ Path string }
	}
	Error *struct{ Err string }
}

// list asks the go command for packages and all that they depend on. Nothing is compiled.
func list(ctx context.Context, dir string, patterns []string) ([]*listed, error) {
	args := []string{"list", "-e", "-deps", "-json=ImportPath,Name,Dir,Standard,DepOnly,GoFiles,CgoFiles,SFiles,IgnoredGoFiles,TestGoFiles,XTestGoFiles,Deps,Module,Error", "--"}
	cmd := exec.CommandContext(ctx, "go", append(args, patterns...)...)
	cmd.Dir = dir
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w: %s", err, strings.TrimSpace(said.String()))
	}
	var all []*listed
	named := false
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		l := new(listed)
		if err := d.Decode(l); err == io.EOF {
			break
		} else if err != nil {
			return nil, fmt.Errorf("go list: %w", err)
		}
		if l.Error != nil && !l.DepOnly {
			return nil, fmt.Errorf("%s: %s", l.ImportPath, l.Error.Err)
		}
		named = named || !l.DepOnly
		all = append(all, l)
	}
	if !named {
		return nil, errors.New("expected packages, found none: " + strings.TrimSpace(said.String()))
	}
	return all, nil
}

// read reads the files of a package as one, and those of its test package as another.
func (l *listed) read(fset *token.FileSet, names map[string]string) ([]*Package, error) {
	var pkgs []*Package
	for _, files := range [][]string{slices.Concat(l.GoFiles, l.CgoFiles, l.TestGoFiles), l.XTestGoFiles} {
		p := &Package{Path: l.ImportPath, Fset: fset, ReadFile: os.ReadFile}
		for _, name := range files {
			f, err := parser.ParseFile(fset, filepath.Join(l.Dir, name), nil, parser.ParseComments|parser.SkipObjectResolution)
			if err != nil {
				return nil, err
			}
			p.Files = append(p.Files, f)
		}
		if len(p.Files) > 0 {
			p.resolve(names)
			pkgs = append(pkgs, p)
		}
	}
	return pkgs, nil
}

// resolve finds what names stand for, and the values of constants. What it imports has no contents, so that
// nothing has to be compiled: the names of other packages are known by their text.
func (p *Package) resolve(names map[string]string) {
	p.Info = &types.Info{Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{}, Types: map[ast.Expr]types.TypeAndValue{}}
	c := types.Config{Importer: empty(names), FakeImportC: true, Error: func(error) {}}
	_, _ = c.Check(p.Path, p.Fset, p.Files, p.Info)
}

// empty imports packages without contents, by their names.
type empty map[string]string

func (e empty) Import(path string) (*types.Package, error) {
	name := e[path]
	if name == "" { // only tests import it
		name = path[strings.LastIndexByte(path, '/')+1:]
	}
	p := types.NewPackage(path, name)
	p.MarkComplete()
	return p, nil
}

// Check looks at the packages that patterns name, and at the programs among them.
func Check(ctx context.Context, dir string, patterns []string, now time.Time) (*token.FileSet, []Finding, error) {
	all, err := list(ctx, dir, patterns)
	if err != nil {
		return nil, nil, err
	}
	names := map[string]string{}
	for _, l := range all {
		names[l.ImportPath] = l.Name
	}
	fset := token.NewFileSet()
	var pkgs []*Package
	var calls []*call
	var found []Finding
	for _, l := range all {
		if l.DepOnly {
			continue
		}
		read, err := l.read(fset, names)
		if err != nil {
			return nil, nil, err
		}
		for _, p := range read {
			list, of := p.check(now)
			pkgs, calls, found = append(pkgs, p), append(calls, of...), append(found, list...)
		}
	}
	linked, err := newPrograms(all).check(calls, follow(pkgs))
	if err != nil {
		return nil, nil, err
	}
	return fset, sorted(append(found, linked...)), nil
}
