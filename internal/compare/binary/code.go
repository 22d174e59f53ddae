package binary

import (
	"bytes"
	"crypto/sha256"
	"debug/elf"
	"errors"
	"fmt"
	"go/scanner"
	"go/token"
	"io"
	"os"
	"regexp"
)

// SameCode reports whether two test binaries run the same code on the same data. If only a comment has
// changed, or code that neither has, then they may differ in their tables of lines: these tell a stack
// trace or a profile what to print, and cost nothing until then. What is no ELF file, as on macOS, is the
// same only if each byte is. Whatever moves code or data in memory makes a difference.
func SameCode(a, b string) bool {
	x, errX := code(a)
	y, errY := code(b)
	if errX != nil || errY != nil {
		x, errX = hash(a)
		y, errY = hash(b)
	}
	return errX == nil && errY == nil && bytes.Equal(x, y)
}

// noCode are the sections that are loaded and may differ: tables of lines, and names of the build.
var noCode = map[string]bool{".gopclntab": true, ".go.buildinfo": true, ".note.go.buildid": true, ".note.gnu.build-id": true}

// code is a hash of all that is loaded, with its addresses, but for noCode: of that only the addresses.
func code(path string) ([]byte, error) {
	f, err := elf.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if f.Section(".gopclntab") == nil { // another linker may have merged it with data
		return nil, errors.New("no section of line tables")
	}
	h := sha256.New()
	fmt.Fprintln(h, f.FileHeader.Machine, f.Entry)
	for _, s := range f.Sections {
		if s.Flags&elf.SHF_ALLOC == 0 { // debugging
			continue
		}
		fmt.Fprintln(h, s.Name, s.Type, s.Flags, s.Addr, s.Size)
		if noCode[s.Name] || s.Type == elf.SHT_NOBITS {
			continue
		}
		if _, err := io.Copy(h, s.Open()); err != nil {
			return nil, err
		}
	}
	return h.Sum(nil), nil
}

func hash(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	h := sha256.New()
	_, err = io.Copy(h, f)
	return h.Sum(nil), err
}

// SameSource reports whether two Go files compile to the same: they differ in comments, but for those
// that tell the compiler something, and in white space. Files with C are the same if each byte is.
func SameSource(a, b []byte) bool {
	if bytes.Equal(a, b) {
		return true
	}
	var x, y scanner.Scanner
	start := func(s *scanner.Scanner, text []byte) {
		file := token.NewFileSet().AddFile("", -1, len(text))
		s.Init(file, text, func(token.Position, string) {}, scanner.ScanComments)
	}
	start(&x, a)
	start(&y, b)
	next := func(s *scanner.Scanner) (token.Token, string) {
		for {
			_, kind, text := s.Scan()
			if kind == token.SEMICOLON {
				text = "" // "\n" where it was added at the end of a line
			}
			if kind != token.COMMENT || directive.MatchString(text) {
				return kind, text
			}
		}
	}
	for {
		kind, text := next(&x)
		other, otherText := next(&y)
		switch {
		case kind != other || text != otherText, text == `"C"` || text == "`C`":
			return false
		case kind == token.EOF:
			return x.ErrorCount+y.ErrorCount == 0
		}
	}
}

var directive = regexp.MustCompile(`^(//(go:|line |export |extern |sys |\s*\+build )|/\*line )`)
