package process

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/profguard/profguard/internal/pattern"
	"github.com/profguard/profguard/internal/spelling"
)

// Missing are the patterns that match no function of the program, each with the linked name
// that is nearest to it, "" for none. functions calls its argument with all linked functions,
// as [Functions] does. Texts that are no patterns are left out.
func Missing(texts []string, functions func(func(name string) bool) error) (map[string]string, error) {
	missing := map[string]string{}
	var patterns []*pattern.Pattern
	var parsed []string
	for _, text := range texts {
		if p, err := pattern.Parse(text); err == nil {
			patterns, parsed, missing[text] = append(patterns, p), append(parsed, text), ""
		}
	}
	if len(patterns) == 0 {
		return missing, nil
	}
	index := pattern.NewIndex(patterns)
	var hits []int32
	err := functions(func(name string) bool {
		hits = index.Match(name, hits[:0])
		for _, h := range hits {
			delete(missing, parsed[h])
		}
		return true
	})
	if err != nil {
		return nil, err
	}
	hints, _ := near(slices.Sorted(maps.Keys(missing)), functions) // on an error there are no hints
	maps.Copy(missing, hints)
	return missing, nil
}

// A nearest is a text that matches no name, with the nearest name so far.
type nearest struct {
	text, bare string
	best       string
	away       int // the number of wrong letters in best, or at first one more than allowed
}

// near finds for each text, which matches no function, the linked package or function with
// the nearest name: with one to three wrong letters. There is none for regular expressions and
// for texts with wildcards. functions calls its argument with all linked functions, as
// [Functions] does.
func near(texts []string, functions func(func(name string) bool) error) (map[string]string, error) {
	// By number of parts and by fixed, so that each name is compared with few texts, however
	// many there are.
	wanted := map[int]map[string][]*nearest{}
	var all []*nearest
	for _, text := range texts {
		bare := bare(text)
		if strings.HasPrefix(text, "/") || strings.Contains(text, "...") || strings.ContainsAny(bare, "*?[") {
			continue
		}
		away := 1 + min(len(bare)/5, 2) // less for short names, which always have one at two wrong letters
		n := &nearest{text, bare, "", away}
		all = append(all, n)
		parts, key := 1+strings.Count(bare, "/")+strings.Count(bare, "."), fixed(bare)
		if wanted[parts] == nil {
			wanted[parts] = map[string][]*nearest{}
		}
		wanted[parts][key] = append(wanted[parts][key], n)
	}
	found := map[string]string{}
	if len(all) == 0 {
		return found, nil
	}
	err := functions(func(name string) bool {
		name, _, _ = strings.Cut(name, "[")
		name, _, _ = strings.Cut(name, ".func") // a literal within it
		dot := strings.LastIndexByte(name, '/') + 1
		dot += strings.IndexByte(name[dot:], '.')
		if dot <= 0 || strings.ContainsAny(name[dot:], ":-") {
			return true
		}
		pkg, plain := name[:dot], bare(name)
		short := unversioned(pkg)
		for parts, byFixed := range wanted {
			compare := func(name, plain string) {
				end := lastParts(plain, parts)
				for _, n := range byFixed[fixed(end)] {
					n.compare(name, end)
				}
			}
			compare(name, plain)
			compare(pkg, pkg)
			if short != pkg {
				compare(pkg, short)
			}
		}
		return true
	})
	for _, n := range all {
		if n.best != "" {
			found[n.text] = n.best
		}
	}
	return found, err
}

// unversioned is the path of a module without its major version, which people leave out.
func unversioned(path string) string {
	i := strings.LastIndex(path, "/v") + 1
	if version := path[i:]; i == 0 || len(version) < 2 || strings.Trim(version[1:], "0123456789") != "" {
		return path
	}
	return path[:i-1]
}

// lastParts is the end of a name with so many parts, "" if it has fewer.
func lastParts(name string, parts int) string {
	at := len(name)
	for range parts {
		if at < 0 {
			return ""
		}
		at = strings.LastIndexAny(name[:at], "/.")
	}
	return name[at+1:]
}

// compare compares the text with the end of a name that has as many parts.
func (n *nearest) compare(name, end string) {
	if d := len(end) - len(n.bare); d > n.away || -d > n.away {
		return
	}
	away := spelling.Distance(n.bare, end)
	if cmp.Or(cmp.Compare(away, n.away), cmp.Compare(len(name), len(n.best)), cmp.Compare(name, n.best)) < 0 {
		n.best, n.away = name, away
	}
}

// fixed is the part of a name that has to be the same: its digits, and the first letters of its
// parts in lower case. So sha3 is not proposed for sha1, nor Fprint for Sprint.
func fixed(name string) string {
	var list []byte
	for i := range len(name) {
		if name[i] >= '0' && name[i] <= '9' || i == 0 || name[i-1] == '/' || name[i-1] == '.' {
			list = append(list, name[i])
		}
	}
	return strings.ToLower(string(list))
}

// bare is a name without the signs around a method's receiver, which people leave out.
func bare(name string) string {
	if !strings.Contains(name, "(") {
		return name
	}
	return strings.NewReplacer("(*", "", "(", "", ")", "").Replace(name)
}
