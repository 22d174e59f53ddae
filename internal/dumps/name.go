package dumps

import (
	"fmt"
	"hash/fnv"
	"strings"
	"time"
)

// ID names a dump; it is the stem of the names of its files. IDs sort by time.
type ID string

const (
	prefix   = "profguard-"
	lockName = "lock"
	tempExt  = ".tmp"

	// The marks of dumps that are kept longer.
	first = "first"
	worst = "worst"

	sidecarSuffix = "json"
	profileExt    = ".pb.gz"
	traceExt      = ".out"

	timeForm = "20060102T150405.000Z"

	// maxSlug keeps the longest file name near 140 bytes, well under the 255
	// of common file systems and the 143 of eCryptfs.
	maxSlug = 48
	// hexLen is the length of the instance and random parts: 32 bits each, which
	// together with the millisecond make a clash a matter of theory.
	hexLen = 8
	// maxSuffix bounds ".goroutine.pb.gz" and its like; see maxSlug.
	maxSuffix = 32
)

// slug makes a budget's name safe for file names. A name that had to be changed
// gets a hash of the original, so that different budgets keep different slugs.
func slug(budget string) string {
	var b strings.Builder
	dash := false
	for _, r := range budget {
		if !isSlugRune(r) {
			dash = b.Len() > 0
			continue
		}
		if dash {
			b.WriteByte('-')
			dash = false
		}
		b.WriteRune(r)
	}
	s := b.String()
	if s == budget && s != "" && len(s) <= maxSlug {
		return s
	}
	h := fnv.New32a()
	h.Write([]byte(budget))
	s = s[:min(len(s), maxSlug-1-hexLen)]
	if s == "" {
		s = "budget"
	}
	return fmt.Sprintf("%s-%08x", strings.TrimRight(s, "-"), h.Sum32())
}

// A name is a taken-apart [ID].
type name struct {
	time     time.Time
	slug     string
	instance string
	random   string
	mark     string // "", first or worst
}

func (n name) id() ID {
	id := prefix + n.time.UTC().Format(timeForm) + "-" + n.slug + "-" + n.instance + "-" + n.random
	if n.mark != "" {
		id += "-" + n.mark
	}
	return ID(id)
}

// path is that of one of the dump's files in DumpDir.
func (n name) path(suffix string) string {
	return folderName(n.instance) + "/" + fileName(n.id(), suffix)
}

// parseID accepts exactly what [name.id] makes. Nothing with a separator, a
// dot outside the time, a NUL or an escape gets through, so an ID that parses
// is a safe file name on every platform.
func parseID(id ID) (name, bool) {
	rest, ok := strings.CutPrefix(string(id), prefix)
	var n name
	for _, mark := range []string{first, worst} {
		if stem, marked := strings.CutSuffix(rest, "-"+mark); marked {
			rest, n.mark = stem, mark
			break
		}
	}
	tail := 2 * (1 + hexLen)
	if !ok || len(rest) < len(timeForm)+2+tail {
		return name{}, false
	}
	stamp, mid, end := rest[:len(timeForm)], rest[len(timeForm):len(rest)-tail], rest[len(rest)-tail:]
	t, err := time.Parse(timeForm, stamp)
	n.time, n.slug, n.instance, n.random = t, mid[1:], end[1:1+hexLen], end[2+hexLen:]
	if err != nil || n.id() != id || !isHex(n.instance) || !isHex(n.random) || !isSlug(n.slug) {
		return name{}, false
	}
	return n, true
}

func isHex(s string) bool {
	return len(s) == hexLen && strings.Trim(s, "0123456789abcdef") == ""
}

func isSlug(s string) bool {
	return s != "" && len(s) <= maxSlug && !strings.ContainsFunc(s, func(r rune) bool { return !isSlugRune(r) && r != '-' })
}

func isSlugRune(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_'
}

// isSuffix reports whether s can follow an ID and a dot: "json", or a lower-case
// word with an extension that the store writes. A file that a person derived
// from a dump ("….cpu.svg", "….json.bak") is theirs and stays out of it.
func isSuffix(s string) bool {
	if s == sidecarSuffix {
		return true
	}
	stem, ok := strings.CutSuffix(s, profileExt)
	if !ok {
		stem, ok = strings.CutSuffix(s, traceExt)
	}
	return ok && stem != "" && len(s) <= maxSuffix && strings.Trim(stem, "abcdefghijklmnopqrstuvwxyz0123456789") == ""
}

// parseFile takes the name of a file of a dump apart. A suffix with ".tmp" is that of
// a file that does not have its name yet. It is false for what others have written.
func parseFile(file string) (n name, suffix string, ok bool) {
	at := len(prefix) + len(timeForm) // the time holds the only dot of an ID
	if len(file) <= at {
		return name{}, "", false
	}
	rest, suffix, _ := strings.Cut(file[at:], ".")
	n, ok = parseID(ID(file[:at] + rest))
	return n, suffix, ok && isSuffix(strings.TrimSuffix(suffix, tempExt))
}

func fileName(id ID, suffix string) string { return string(id) + "." + suffix }

// Folder is the folder in DumpDir that holds the files of the dump.
func (id ID) Folder() string {
	n, ok := parseID(id)
	if !ok {
		return ""
	}
	return folderName(n.instance)
}

func folderName(instance string) string { return prefix + instance }

func lockPath(instance string) string { return folderName(instance) + "/" + lockName }

// parseFolder is false for a folder that this package did not make.
func parseFolder(folder string) (instance string, ok bool) {
	instance, ok = strings.CutPrefix(folder, prefix)
	return instance, ok && isHex(instance)
}
