package binary

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Escapes is what the compiler says of variables that it puts on the heap, in the package of a folder:
// by the names of its files, and by line. With tests it compiles the tests of the package as well.
func (b *Builder) Escapes(ctx context.Context, dir string, tests bool) (map[string]map[int][]string, error) {
	args := []string{"build", "-gcflags=-m", "-o", os.DevNull, dir}
	if tests {
		args = []string{"test", "-c", "-vet=off", "-gcflags=-m", "-o", os.DevNull, dir}
	}
	text, err := b.command(ctx, args...).CombinedOutput()
	if err != nil {
		return nil, err
	}
	return heaped(string(text)), nil
}

// onHeap is one line of what the compiler says.
var onHeap = regexp.MustCompile(`(?m)^(.+\.go):(\d+):\d+: (moved to heap: .+|.+ escapes to heap)$`)

func heaped(text string) map[string]map[int][]string {
	files := map[string]map[int][]string{}
	for _, m := range onHeap.FindAllStringSubmatch(text, -1) {
		name := filepath.Base(m[1])
		line, _ := strconv.Atoi(m[2])
		if files[name] == nil {
			files[name] = map[int][]string{}
		}
		if said := strings.TrimSpace(m[3]); !slices.Contains(files[name][line], said) {
			files[name][line] = append(files[name][line], said)
		}
	}
	return files
}
