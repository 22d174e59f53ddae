package process

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/profguard/profguard/internal/names"
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
	away       int // the number of wrong letters in best, or at first one more than may be wrong
}

// near finds for texts, which match no function, the linked package or function with the
// nearest name: with one wrong letter in five letters and more, or two in ten. There is none for regular
// expressions and for texts with wildcards. functions calls its argument with all linked
// functions, as [Functions] does.
func near(texts []string, functions func(func(name string) bool) error) (map[string]string, error) {
	wanted, longest := map[string][]*nearest{}, 0 // by what has to be the same
	for _, text := range texts {
		plain := bare(text)
		if !strings.HasPrefix(text, "/") && !strings.Contains(text, "...") && !strings.ContainsAny(plain, "*?[") {
			away := 1 + min(len(plain)/5, 2) // less for short names, which always have one at two wrong letters
			longest = max(longest, len(plain))
			wanted[fixed(plain)] = append(wanted[fixed(plain)], &nearest{text: text, bare: plain, away: away})
		}
	}
	found := map[string]string{}
	if len(wanted) == 0 {
		return found, nil
	}
	err := functions(func(name string) bool {
		pkg := names.PackageOf(name)
		if pkg == "" {
			return true
		}
		name, _, _ = strings.Cut(name, "[")
		plain, unversioned := bare(name), pkg
		if i := strings.LastIndex(pkg, "/v"); i > 0 && strings.Trim(pkg[i+2:], "0123456789") == "" {
			unversioned = pkg[:i] // people leave the major version out
		}
		compare := func(name, plain string) {
			for at := len(plain); at >= 0; {
				at = strings.LastIndexAny(plain[:at], "/.")
				end := plain[at+1:] // a text may have the last parts of a name only
				if len(end) > longest+2 {
					return
				}
				for _, n := range wanted[fixed(end)] {
					n.compare(name, end)
				}
			}
		}
		compare(name, plain)
		compare(pkg, pkg)
		compare(pkg, unversioned)
		return true
	})
	for _, list := range wanted {
		for _, n := range list {
			if n.best != "" {
				found[n.text] = n.best
			}
		}
	}
	return found, err
}

// compare compares the text with the end of a name.
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
