package repo

import (
	"context"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
)

// An Edit is a run of lines of a file that differ: N0 of them from line At0 on before, and N from At on
// now. Without any, they are gone, or new, behind that line.
type Edit struct{ At0, N0, At, N int }

// Edits are those of the Go files of the working tree since a revision, by their paths below the root.
// A file that git does not know is all new.
func (r *Repo) Edits(ctx context.Context, from Revision) (map[string][]Edit, error) {
	text, err := git(ctx, r.root, readOnly, "-c", "core.quotePath=false", "diff", "--no-color", "--no-ext-diff", "--no-textconv", "--no-renames",
		"--unified=0", "--src-prefix=a/", "--dst-prefix=b/", from.Hash, "--", "*.go")
	if err != nil {
		return nil, err
	}
	others, err := git(ctx, r.root, readOnly, "ls-files", "--others", "--exclude-standard", "-z", "--", "*.go")
	if err != nil {
		return nil, err
	}
	edits := map[string][]Edit{}
	for _, name := range strings.FieldsFunc(others, func(c rune) bool { return c == 0 }) {
		edits[name] = []Edit{{At: 1, N: math.MaxInt32}}
	}
	file, rest := "", 0 // rest are lines of a hunk, of which one may look like a header
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		switch {
		case rest > 0 && !strings.HasPrefix(line, `\`):
			rest--
		case strings.HasPrefix(line, "+++ b/"):
			file = strings.TrimRight(strings.TrimPrefix(line, "+++ b/"), "\t")
		case strings.HasPrefix(line, "+++ "): // the file is gone
			file = ""
		case strings.HasPrefix(line, "@@ "):
			e, err := parseEdit(line)
			if err != nil {
				return nil, err
			}
			if rest = e.N0 + e.N; file != "" {
				edits[file] = append(edits[file], e)
			}
		}
	}
	return edits, nil
}

var hunk = regexp.MustCompile(`^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@`)

func parseEdit(line string) (e Edit, err error) {
	m := hunk.FindStringSubmatch(line)
	if m == nil {
		return e, fmt.Errorf("git diff: expected a hunk, found %q", line)
	}
	for i, n := range []*int{&e.At0, &e.N0, &e.At, &e.N} {
		if *n = 1; m[i+1] != "" {
			if *n, err = strconv.Atoi(m[i+1]); err != nil {
				return e, fmt.Errorf("git diff: %w", err)
			}
		}
	}
	return e, nil
}

// Has reports whether a line is one of those that differ now.
func (e Edit) Has(line int) bool { return line >= e.At && line-e.At < e.N }

// Now is where a line of before is, if it did not change.
func Now(edits []Edit, line int) (now int, same bool) {
	shift := 0
	for _, e := range edits {
		first := e.At0
		if e.N0 == 0 {
			first++ // lines were added behind it
		}
		if line < first {
			break
		}
		if line < e.At0+e.N0 {
			return 0, false
		}
		shift += e.N - e.N0
	}
	return line + shift, true
}
