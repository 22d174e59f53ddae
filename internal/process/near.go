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
	near, _ := Near(slices.Sorted(maps.Keys(missing)), functions) // hints, without which it does
	maps.Copy(missing, near)
	return missing, nil
}

// maxNear is how many texts are looked up. Nobody reads more hints, and each text is
// compared with every name of the program.
const maxNear = 16

// Near finds the linked package or function whose name is nearest to each of some
// texts that match none: spelt with other capitals, or with a letter or two wrong.
// Texts that are near to nothing, regular expressions and those with wildcards
// have none. functions calls its argument with all that is linked, as [Functions] does.
func Near(texts []string, functions func(func(name string) bool) error) (map[string]string, error) {
	var near []*nearest
	for _, text := range texts {
		wild := strings.HasPrefix(text, "/") || strings.Contains(text, "...") || strings.ContainsAny(strings.ReplaceAll(text, "(*", ""), "*?[")
		if !wild && len(near) < maxNear {
			near = append(near, newNearest(text))
		}
	}
	found := map[string]string{}
	if len(near) == 0 {
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
		p := plain(name)
		for _, n := range near {
			n.compare(name, p)
			n.compare(name[:dot], p[:dot]) // its package
		}
		return true
	}); err != nil {
		return nil, fmt.Errorf("look for names that are near: %w", err)
	}
	for _, n := range near {
		if n.best != "" {
			found[n.text] = n.best
		}
	}
	return found, nil
}

// A nearest is a text, with the best that was seen for it.
type nearest struct {
	text, plain string
	parts       int
	farthest    int // letters that may be wrong

	best        string
	away, exact int // wrong letters, without and with regard to capitals
}

func newNearest(text string) *nearest {
	n := &nearest{text: text, plain: plain(text)}
	n.parts = parts(n.plain)
	switch letters := len(n.plain); { // among short names there is always one that is two letters away
	case letters >= 10:
		n.farthest = 2
	case letters >= 5:
		n.farthest = 1
	}
	n.away = n.farthest + 1
	return n
}

// compare holds the end of a name that has as many parts as the text against it.
func (n *nearest) compare(name, plain string) {
	other := ending(plain, n.parts)
	if d := len(other) - len(n.plain); other == "" || d > n.farthest || -d > n.farthest {
		return
	}
	away := spelling.Distance(n.plain, other)
	if away > min(n.away, n.farthest) {
		return
	}
	exact := spelling.Distance(n.text, ending(name, n.parts))
	if cmp.Or(cmp.Compare(away, n.away), cmp.Compare(exact, n.exact), cmp.Compare(len(name), len(n.best)), cmp.Compare(name, n.best)) < 0 {
		n.best, n.away, n.exact = name, away, exact
	}
}

// plain is a name without what people leave out or get wrong: capitals, and the
// signs around a method's receiver.
func plain(name string) string {
	if strings.Contains(name, "(") {
		name = strings.NewReplacer("(*", "", "(", "", ")", "").Replace(name)
	}
	return strings.ToLower(name)
}

// parts is how many names there are between the slashes and dots.
func parts(name string) int { return 1 + strings.Count(name, "/") + strings.Count(name, ".") }

// ending is the last parts of a name, or nothing if it has not so many.
func ending(name string, parts int) string {
	at := len(name)
	for ; parts > 0; parts-- {
		if at < 0 {
			return ""
		}
		at = strings.LastIndexAny(name[:at], "/.")
	}
	return name[at+1:]
}
