package process

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/profguard/profguard/internal/pattern"
	"github.com/profguard/profguard/internal/spelling"
)

// Missing are those of some patterns that match no function of the program, each with
// the name that is nearest to it, "" for none. functions calls its argument with all that
// is linked, as [Functions] does. Texts that are no patterns are left out.
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
	hints, _ := near(slices.Sorted(maps.Keys(missing)), functions) // without which it does
	maps.Copy(missing, hints)
	return missing, nil
}

// MaxNear is how many texts are looked up. Nobody reads more hints, and each text is
// compared with every name of the program.
const MaxNear = 16

// A nearest is a text that matches no name, with the best that was seen for it.
type nearest struct {
	text, bare string
	best       string
	away       int // how many letters are wrong in best, or one more than may be
}

// near finds the linked package or function whose name is nearest to each of some
// texts that match none: spelt with a letter or two wrong. Texts that are near to
// nothing, regular expressions and those with wildcards have none. functions calls its
// argument with all that is linked, as [Functions] does.
func near(texts []string, functions func(func(name string) bool) error) (map[string]string, error) {
	var wanted []*nearest
	for _, text := range texts {
		n := &nearest{text: text, bare: bare(text), away: 1}
		if strings.HasPrefix(text, "/") || strings.Contains(text, "...") || strings.ContainsAny(n.bare, "*?[") || len(wanted) == MaxNear {
			continue
		}
		switch letters := len(n.bare); { // among short names there is always one that is two letters away
		case letters >= 10:
			n.away = 3
		case letters >= 5:
			n.away = 2
		}
		wanted = append(wanted, n)
	}
	found := map[string]string{}
	if len(wanted) == 0 {
		return found, nil
	}
	if err := functions(func(name string) bool {
		name, _, _ = strings.Cut(name, "[")
		name, _, _ = strings.Cut(name, ".func") // a literal within it
		dot := strings.LastIndexByte(name, '/') + 1
		dot += strings.IndexByte(name[dot:], '.')
		if dot <= 0 || strings.ContainsAny(name[dot:], ":-") {
			return true
		}
		for _, n := range wanted {
			n.compare(name)
			n.compare(name[:dot]) // its package
		}
		return true
	}); err != nil {
		return nil, fmt.Errorf("look for names that are near: %w", err)
	}
	for _, n := range wanted {
		if n.best != "" {
			found[n.text] = n.best
		}
	}
	return found, nil
}

// compare holds the end of a name that has as many parts as the text against it.
func (n *nearest) compare(name string) {
	end := bare(name)
	for at, parts := len(end), 1+strings.Count(n.bare, "/")+strings.Count(n.bare, "."); parts > 0; parts-- {
		if at = strings.LastIndexAny(end[:at], "/."); at < 0 && parts > 1 {
			return // it has not so many
		} else if parts == 1 {
			end = end[at+1:]
		}
	}
	if d := len(end) - len(n.bare); d > n.away || -d > n.away || digits(end) != digits(n.bare) || initials(end) != initials(n.bare) {
		return // nobody misspells a digit or a first letter: sha1 and sha3 are two names, as are Sprint and Fprint
	}
	away := spelling.Distance(n.bare, end)
	if n.best == "" && away < n.away || n.best != "" && cmp.Or(cmp.Compare(away, n.away), cmp.Compare(len(name), len(n.best)), cmp.Compare(name, n.best)) < 0 {
		n.best, n.away = name, away
	}
}

// digits are those of a name.
func digits(name string) string {
	return strings.Map(func(r rune) rune {
		if r < '0' || r > '9' {
			return -1
		}
		return r
	}, name)
}

// initials are the first letters of a name's elements, in lower case.
func initials(name string) string {
	var list []byte
	for i := range len(name) {
		if i == 0 || name[i-1] == '/' || name[i-1] == '.' {
			list = append(list, name[i])
		}
	}
	return strings.ToLower(string(list))
}

// bare is a name without the signs around a method's receiver, which people leave out.
func bare(name string) string {
	if strings.Contains(name, "(") {
		name = strings.NewReplacer("(*", "", "(", "", ")", "").Replace(name)
	}
	return name
}
