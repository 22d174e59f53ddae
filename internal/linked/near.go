package linked

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/profguard/profguard/internal/spelling"
)

// Near finds the linked package or function whose name is nearest to each of some
// texts that match none: spelt with other capitals, or with a letter or two wrong.
// Texts that are near to nothing, regular expressions and those with wildcards
// have none. functions calls its argument with all that is linked, as [Functions] does.
func Near(texts []string, functions func(func(name string) bool) error) (map[string]string, error) {
	near := newNearest(texts)
	if len(near) > 0 {
		if err := functions(func(name string) bool { near.see(name); return true }); err != nil {
			return nil, fmt.Errorf("look for names that are near: %w", err)
		}
	}
	out := map[string]string{}
	for _, n := range near {
		if n.best != "" {
			out[n.text] = n.best
		}
	}
	return out, nil
}

// nearest are the texts, with the best that was seen for each.
type nearest []*nearestTo

type nearestTo struct {
	text     string
	plain    string // as it is compared
	slashes  int
	function bool // it names something in a package
	method   bool // it begins with a type

	best        string
	away, exact int // single letters, without and with regard to capitals
}

func newNearest(texts []string) nearest {
	var near nearest
	for _, text := range texts {
		if strings.HasPrefix(text, "/") || strings.ContainsAny(text, "*?[") && !strings.HasPrefix(text, "(*") && !strings.Contains(text, ".(*") || strings.Contains(text, "...") {
			continue
		}
		last := text[strings.LastIndexByte(text, '/')+1:]
		near = append(near, &nearestTo{
			text: text, plain: plain(text), slashes: strings.Count(text, "/"),
			function: strings.Contains(last, "."), method: strings.HasPrefix(text, "("),
			away: farthest(text) + 1,
		})
	}
	return near
}

// farthest is how many letters may be wrong: among short names there is always one
// that is two letters away.
func farthest(text string) int {
	switch n := len(text); {
	case n < 5:
		return 0
	case n < 10:
		return 1
	}
	return 2
}

// plain is a name without what people leave out or get wrong: capitals, and the
// signs around a method's receiver.
func plain(name string) string {
	if strings.Contains(name, "(") {
		name = strings.NewReplacer("(*", "", "(", "", ")", "").Replace(name)
	}
	return strings.ToLower(name)
}

// see takes the name of a function that is linked.
func (near nearest) see(name string) {
	name, _, _ = strings.Cut(name, "[")
	dir := strings.LastIndexByte(name, '/') + 1
	dot := strings.IndexByte(name[dir:], '.')
	if dot <= 0 {
		return
	}
	pkg, item := name[:dir+dot], name[dir+dot+1:]
	if at := strings.Index(item, ".func"); at >= 0 { // a literal
		item = item[:at]
	}
	if item == "" || strings.ContainsAny(item, ":-") {
		return
	}
	for _, n := range near {
		switch {
		case n.method:
			n.compare(item, pkg+"."+item)
		case n.function:
			if end := ending(pkg, n.slashes); end != "" {
				n.compare(end+"."+item, pkg+"."+item)
			}
		default:
			if end := ending(pkg, n.slashes); end != "" {
				n.compare(end, pkg)
			}
			if n.slashes == 0 && !strings.Contains(item, ".") {
				n.compare(item, pkg+"."+item)
			}
		}
	}
}

// ending is the last elements of a path, with so many slashes.
func ending(path string, slashes int) string {
	for at := len(path); ; slashes-- {
		at = strings.LastIndexByte(path[:at], '/')
		switch {
		case slashes == 0:
			return path[at+1:]
		case at < 0:
			return ""
		}
	}
}

func (n *nearestTo) compare(end, whole string) {
	most := farthest(n.text)
	// The receiver's signs are three letters.
	if d := len(end) - len(n.text); d > most+3 || -d > most+3 {
		return
	}
	other := plain(end)
	if d := len(other) - len(n.plain); d > most || -d > most {
		return
	}
	away := spelling.Distance(n.plain, other)
	if away > n.away || away > most {
		return
	}
	exact := spelling.Distance(n.text, end)
	if cmp.Or(cmp.Compare(away, n.away), cmp.Compare(exact, n.exact), cmp.Compare(len(whole), len(n.best)), cmp.Compare(whole, n.best)) < 0 {
		n.best, n.away, n.exact = whole, away, exact
	}
}
