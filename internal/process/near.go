package process

import (
	"cmp"
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
	for _, text := range texts {
		if p, err := pattern.Parse(text); err == nil {
			patterns, missing[text] = append(patterns, p), ""
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
			delete(missing, patterns[h].String())
		}
		return true
	})
	if err != nil {
		return nil, err
	}
	findNear(missing, functions)
	return missing, nil
}

// A nearest is a text that matches no name, with the nearest name so far.
type nearest struct {
	text, bare, fixed string
	best              string
	away              int // the number of wrong letters in best, or at first one more than may be wrong
}

// findNear finds for texts, which match no function, the linked package or function with the
// nearest name: with one wrong letter in five letters and more, or two in ten. There is none for regular
// expressions and for texts with wildcards.
func findNear(missing map[string]string, functions func(func(name string) bool) error) {
	var wanted []*nearest
	for text := range missing {
		plain := bare(text)
		if plain != "" && !strings.HasPrefix(text, "/") && !strings.Contains(text, "...") && !strings.ContainsAny(plain, "*?[") {
			away := 1 + min(len(plain)/5, 2) // less for short names, which always have one at two wrong letters
			wanted = append(wanted, &nearest{text: text, bare: plain, fixed: fixed(plain), away: away})
		}
	}
	if len(wanted) == 0 {
		return
	}
	_ = functions(func(name string) bool { // after an error, there is a hint among the names until then or none
		pkg := pattern.PackageOf(name)
		if pkg == "" {
			return true
		}
		name, _, _ = strings.Cut(name, "[")
		plain, unversioned := bare(name), pkg
		if i := strings.LastIndex(pkg, "/v"); i > 0 && strings.Trim(pkg[i+2:], "0123456789") == "" {
			unversioned = pkg[:i] // people leave the major version out
		}
		for _, n := range wanted {
			n.compare(name, plain)
			n.compare(pkg, pkg)
			n.compare(pkg, unversioned)
		}
		return true
	})
	for _, n := range wanted {
		missing[n.text] = n.best
	}
}

// compare compares the text with a name, or with its last parts: a text may have only these.
func (n *nearest) compare(name, plain string) {
	start := len(plain) - len(n.bare) // if no letter is missing or too many
	for at := max(0, start-n.away); at <= min(start+n.away, len(plain)-1); at++ {
		end := plain[at:]
		whole := at == 0 || plain[at-1] == '/' || plain[at-1] == '.'
		if !whole || !strings.EqualFold(end[:1], n.fixed[:1]) || fixed(end) != n.fixed {
			continue
		}
		away := spelling.Distance(n.bare, end)
		if cmp.Or(cmp.Compare(away, n.away), cmp.Compare(len(name), len(n.best)), cmp.Compare(name, n.best)) < 0 {
			n.best, n.away = name, away
		}
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
