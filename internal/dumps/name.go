package dumps

import (
	"cmp"
	"regexp"
	"strings"
	"sync"
	"time"
)

// FolderName is the guard's folder in DumpDir, of all processes of a user. It belongs to that user, and
// nobody else may write to it, whoever has DumpDir.
const FolderName = "profguard"

// ID identifies a dump. The names of its files begin with it. IDs sort by time.
type ID string

const (
	prefix  = "profguard-"
	tempExt = ".tmp"

	sidecarSuffix = "json"

	timeForm = "20060102T150405.000Z"

	// maxSlug keeps the longest file name near 140 bytes, well under the 255
	// of common file systems and the 143 of eCryptfs.
	maxSlug = 48
	// hexLen is the length of the instance and random parts: 32 bits each. Together with
	// the millisecond, equal names are next to impossible.
	hexLen = 8
)

// fileForm matches exactly the names that [newName] makes for files, and the same with ".tmp"
// while a file is being written, so no separators, NULs or escapes, and not what a person has
// derived from a dump ("….json.bak"). It is compiled only if there is a DumpDir.
var fileForm = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^profguard-(\d{8}T\d{6}\.\d{3}Z)-[\w-]{1,48}-([0-9a-f]{8})-[0-9a-f]{8}(?:-(first|worst))?` +
		`\.((?:json|(?:before\.)?[a-z0-9]{1,24}\.(?:pb\.gz|out|sent|refused))(?:\.tmp)?)$`)
})

// A name is an [ID] and its parts.
type name struct {
	id       ID
	time     time.Time
	instance string
	mark     string // "", First or Worst
}

func newName(at time.Time, budget, instance, random, mark string) name {
	id := prefix + at.UTC().Format(timeForm) + "-" + slug(budget) + "-" + instance + "-" + random
	if mark != "" {
		id += "-" + mark
	}
	return name{ID(id), at, instance, mark}
}

// NewID is the ID of a dump that is kept elsewhere.
func NewID(at time.Time, budget, mark string) ID {
	return newName(at, budget, randomHex(), randomHex(), mark).id
}

// file is the name of one of the dump's files, and path its path in the guard's folder.
func (n name) file(suffix string) string { return string(n.id) + "." + suffix }
func (n name) path(suffix string) string { return folderName(n.instance) + "/" + n.file(suffix) }

// parseFile parses the name of a file of a dump. ok is false for other files.
func parseFile(file string) (n name, suffix string, ok bool) {
	m := fileForm().FindStringSubmatch(file)
	if m == nil {
		return name{}, "", false
	}
	at, err := time.Parse(timeForm, m[1])
	id := strings.TrimSuffix(file, "."+m[4])
	return name{ID(id), at, m[2], m[3]}, m[4], err == nil
}

func isTemp(suffix string) bool { return strings.HasSuffix(suffix, tempExt) }

// slug makes a budget's name safe for file names. Two budgets may have the same slug; the
// sidecar has the whole name.
func slug(budget string) string {
	s := strings.Join(strings.FieldsFunc(budget, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_')
	}), "-")
	return cmp.Or(strings.TrimRight(s[:min(len(s), maxSlug)], "-"), "budget")
}

// Folder is the path in DumpDir of the folder that holds the files of the dump.
func (id ID) Folder() string {
	n, _, ok := parseFile(string(id) + "." + sidecarSuffix)
	if !ok {
		return ""
	}
	return FolderName + "/" + folderName(n.instance)
}

func folderName(instance string) string { return prefix + instance }

// parseFolder parses the name of a folder. ok is false for folders that this package did not
// make.
func parseFolder(folder string) (instance string, ok bool) {
	instance, ok = strings.CutPrefix(folder, prefix)
	return instance, ok && len(instance) == hexLen && strings.Trim(instance, "0123456789abcdef") == ""
}
