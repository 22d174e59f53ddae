package dump

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
	lockName = prefix + "lock"
	liveExt  = ".live"
	tempExt  = ".tmp"

	sidecarSuffix = "json"
	profileExt    = ".pb.gz"
	traceExt      = ".out"

	timeForm = "20060102T150405.000Z"

	// maxSlug keeps the longest file name near 130 bytes, well under the 255
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
		ok := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_'
		if !ok {
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

// name is a taken-apart [ID].
type name struct {
	time     time.Time
	slug     string
	instance string
	random   string
}

func (n name) id() ID {
	return ID(prefix + n.time.UTC().Format(timeForm) + "-" + n.slug + "-" + n.instance + "-" + n.random)
}

// parseID accepts exactly what [name.id] makes. Nothing with a separator, a
// dot outside the time, a NUL or an escape gets through, so an ID that parses
// is a safe file name on every platform.
func parseID(id ID) (name, bool) {
	rest, ok := strings.CutPrefix(string(id), prefix)
	tail := 2 * (1 + hexLen)
	if !ok || len(rest) < len(timeForm)+2+tail {
		return name{}, false
	}
	t, err := time.Parse(timeForm, rest[:len(timeForm)])
	if err != nil || t.Format(timeForm) != rest[:len(timeForm)] {
		return name{}, false
	}
	mid, end := rest[len(timeForm):len(rest)-tail], rest[len(rest)-tail:]
	n := name{time: t, slug: mid[1:], instance: end[1 : 1+hexLen], random: end[2+hexLen:]}
	if mid[0] != '-' || end[0] != '-' || end[1+hexLen] != '-' ||
		!isHex(n.instance) || !isHex(n.random) || !isSlug(n.slug) {
		return name{}, false
	}
	return n, true
}

func isHex(s string) bool {
	return len(s) == hexLen && strings.Trim(s, "0123456789abcdef") == ""
}

func isSlug(s string) bool {
	if s == "" || len(s) > maxSlug {
		return false
	}
	for i := range len(s) {
		c := s[i]
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-') {
			return false
		}
	}
	return true
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
	if !ok || stem == "" || len(s) > maxSuffix {
		return false
	}
	return strings.Trim(stem, "abcdefghijklmnopqrstuvwxyz0123456789") == ""
}

// kindOf says what a file name in the directory is.
type kindOf int

const (
	foreign kindOf = iota // not ours: never touched
	final                 // belongs to a dump
	temp                  // being written, or the remains of a crash
	live                  // the mark of an instance
)

// parsedFile is a file name that was recognised.
type parsedFile struct {
	kind     kindOf
	id       ID     // of a final file
	name     name   // of a final file
	suffix   string // of a final file
	instance string
}

func parseFile(file string) parsedFile {
	rest, ok := strings.CutPrefix(file, prefix)
	if !ok {
		return parsedFile{}
	}
	if inst, ok := strings.CutSuffix(rest, liveExt); ok && isHex(inst) {
		return parsedFile{kind: live, instance: inst}
	}
	if mid, ok := strings.CutSuffix(rest, tempExt); ok {
		inst, random, ok := strings.Cut(mid, "-")
		if ok && isHex(inst) && isHex(random) {
			return parsedFile{kind: temp, instance: inst}
		}
		return parsedFile{}
	}
	// The time holds the stem's only dot, so the suffix starts at the second.
	at := len(prefix) + len(timeForm)
	if len(file) <= at {
		return parsedFile{}
	}
	stem, suffix, ok := strings.Cut(file[at:], ".")
	if !ok || !isSuffix(suffix) {
		return parsedFile{}
	}
	id := ID(file[:at] + stem)
	n, ok := parseID(id)
	if !ok {
		return parsedFile{}
	}
	return parsedFile{kind: final, id: id, name: n, suffix: suffix, instance: n.instance}
}

func tempName(instance, random string) string {
	return prefix + instance + "-" + random + tempExt
}

func liveName(instance string) string { return prefix + instance + liveExt }

func fileName(id ID, suffix string) string { return string(id) + "." + suffix }
