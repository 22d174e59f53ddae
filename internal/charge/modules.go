package charge

import "strings"

// This file tells modules apart: code of the program's own module is charged function by
// function, other code at its doors.

// A home is where a package's files are.
type home struct {
	module  int32 // the number of its module
	foreign bool  // its files are in the folder of a version of a module, or in a vendor folder
	known   bool  // its files have a folder: those that the compiler and cgo write have none
}

// homeOf is the home of a package outside the standard library, by the file of one of its
// functions. The go command keeps a module in a folder "path@v1.2.0", or a package in
// "vendor/path". Any other package counts as a module of its own, unless one of the modules that
// were linked has it.
func (n *Names) homeOf(pkg, file string) home {
	folder := file[:max(strings.LastIndexByte(file, '/'), 0)]
	if at := strings.LastIndex(folder, "@v"); at >= 0 {
		version, _, _ := strings.Cut(folder[at+len("@v"):], "/")
		if version != "" && '0' <= version[0] && version[0] <= '9' {
			return home{number(n.moduleIDs, folder[:at]+"@v"+version), true, true}
		}
	}
	module := pkg
	for _, m := range n.Modules {
		if isIn(pkg, m) && (module == pkg || len(m) > len(module)) {
			module = m
		}
	}
	vendored := folder == "vendor/"+pkg || strings.HasSuffix(folder, "/vendor/"+pkg)
	return home{number(n.moduleIDs, module), vendored, folder != ""}
}

// number is the number of a text, which is the next one if the text is new.
func number(ids map[string]int32, text string) int32 {
	id, known := ids[text]
	if !known {
		id = int32(len(ids))
		ids[text] = id
	}
	return id
}

// learnOwn finds the packages of the program's own module. If its path is not known, they are
// those that are where package main is: in the same folder of a version of a module, or in no
// such folder. That takes a profile that has the folders of files.
func (c *Counter) learnOwn() {
	n, main := c.Names, home{module: -1}
	if i, found := n.packageIDs["main"]; found {
		main = n.homes[i]
	}
	c.own = c.own[:0]
	for i, pkg := range n.packages {
		own := pkg == "main" || isIn(pkg, n.Module)
		if h := n.homes[i]; n.Module == "" && n.folders && h.module != n.standard {
			own = own || h.module == main.module || !h.foreign && !main.foreign
		}
		c.own = append(c.own, own)
	}
}

// isIn reports whether a package is in a module, or is the external test of its first package.
func isIn(pkg, module string) bool {
	rest, ok := strings.CutPrefix(pkg, module)
	return ok && module != "" && (rest == "" || rest[0] == '/' || rest == "_test")
}
