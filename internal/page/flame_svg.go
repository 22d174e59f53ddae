package page

import (
	"fmt"
	"hash/fnv"
	"html/template"
	"strings"

	"github.com/profguard/profguard/internal/pattern"
)

const (
	// rowHeight holds a line of 11 pixels and is large enough for a finger.
	rowHeight = 19
	// textShare is the narrowest frame with a name on it, four letters on a wide
	// screen; wideShare is the same on a phone.
	textShare, wideShare = 0.025, 0.1
	// hues is the number of colours that packages are told apart by.
	hues = 6
)

// SVG draws the tree with the root at the top. Each frame is as wide as what it
// is worth, and says so to a mouse. With links, a frame leads to "?at=" and its
// path: the same page, drawn from that frame on.
func (f *Flame) SVG(links bool) template.HTML {
	if len(f.nodes) == 0 {
		return ""
	}
	root := f.nodes[0]
	var b strings.Builder
	fmt.Fprintf(&b, `<svg class="flame" xmlns="http://www.w3.org/2000/svg" width="100%%" height="%d" role="group" aria-label="Flame graph of %s in %d frames">`,
		(f.depth+1)*rowHeight, Amount(root.value, f.Unit), len(f.nodes))
	for _, n := range f.nodes {
		name, class := n.name, f.class(n.name)
		if len(n.path) == 0 {
			name, class = "all", "all"
		}
		if links {
			fmt.Fprintf(&b, `<a href="?at=%s#flame">`, n.path)
		}
		share := n.value / root.value
		// A nested svg clips its text, and its positions may be percentages.
		fmt.Fprintf(&b, `<svg class="%s" x="%.3f%%" y="%d" width="%.3f%%" height="%d"><title>%s
%s, %s%s`,
			class, 100*n.left/root.value, n.depth*rowHeight, 100*share, rowHeight-1,
			escape(name), Amount(n.value, f.Unit), percent(n.value/f.Total), f.selfText(n))
		b.WriteString(`</title><rect width="100%" height="100%"/>`)
		if share >= textShare {
			narrow := ""
			if share < wideShare {
				narrow = ` class="narrow"`
			}
			fmt.Fprintf(&b, `<text%s x="4" y="13">%s</text>`, narrow, escape(Short(name)))
		}
		b.WriteString(`</svg>`)
		if links {
			b.WriteString(`</a>`)
		}
	}
	b.WriteString(`</svg>`)
	return template.HTML(b.String())
}

// selfText says what a frame keeps for itself.
func (f *Flame) selfText(n node) string {
	if n.self == 0 {
		return ""
	}
	return fmt.Sprintf("; itself %s, %s", Amount(n.self, f.Unit), percent(n.self/f.Total))
}

// class is the colour of a function: the program's own code, the runtime, and
// for the rest one by package, so that neighbours of one package look alike.
func (f *Flame) class(function string) string {
	pkg := pattern.PackageOf(function)
	switch {
	case pkg == "main", f.own != "" && (pkg == f.own || strings.HasPrefix(pkg, f.own+"/")):
		return "own"
	case pkg == "runtime", strings.HasPrefix(pkg, "runtime/"), strings.HasPrefix(pkg, "internal/runtime/"):
		return "rt"
	}
	h := fnv.New32a()
	h.Write([]byte(pkg))
	return fmt.Sprintf("k%d", h.Sum32()%hues)
}
