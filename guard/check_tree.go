package guard

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/google/pprof/profile"
)

const (
	// treeLeast is the share from which a node is drawn, and treeLines how many
	// are: what fits a screen.
	treeLeast = 0.05
	treeLines = 24
	treeBar   = 10
)

// A treeNode is a function on a path from work down.
type treeNode struct {
	name     string
	value    int64
	guilty   bool // a culprit, or on the way to one
	children map[string]*treeNode
}

// A tree is being drawn.
type tree struct {
	culprits culprits
	places   map[string]int64 // by culprit: its samples in all places
	total    int64
	lines    []string
}

// count adds a path to what its culprits have in all.
func (t *tree) count(path []string, value int64) {
	var counted []string
	for _, name := range path {
		if key, _, ok := t.culprits.find(name); ok && !slices.Contains(counted, key) {
			counted = append(counted, key)
			t.places[key] += value
		}
	}
}

// drawTree draws the calls beneath work as a tree, and of it only the ways to
// the culprits. Shares are of all samples of the profile.
func drawTree(p *profile.Profile, culprits culprits) string {
	root := &treeNode{children: map[string]*treeNode{}}
	t := &tree{culprits: culprits, places: map[string]int64{}}
	value := len(p.SampleType) - 1
	for _, s := range p.Sample {
		path := pathOf(s)
		root.add(path, s.Value[value], culprits)
		t.count(path, s.Value[value])
	}
	if root.value == 0 || !root.guilty {
		return ""
	}
	t.total = root.value
	t.draw(root, 0)
	lines := t.lines
	if len(lines) > treeLines {
		lines = append(lines[:treeLines], fmt.Sprintf("  (%d more)", len(lines)-treeLines))
	}
	return strings.Join(lines, "\n")
}

// pathOf is a sample's functions from work down: what calls work is left out.
func pathOf(s *profile.Sample) []string {
	var path []string
	for i := len(s.Location) - 1; i >= 0; i-- {
		lines := s.Location[i].Line
		for j := len(lines) - 1; j >= 0; j-- {
			if lines[j].Function == nil {
				continue
			}
			name := lines[j].Function.Name
			if isLoop(name) {
				path = path[:0]
				continue
			}
			path = append(path, name)
		}
	}
	return path
}

// add adds a path below n and reports whether it is one to a culprit.
func (n *treeNode) add(path []string, value int64, culprits culprits) (guilty bool) {
	n.value += value
	_, _, guilty = culprits.find(n.name)
	if len(path) > 0 {
		child := n.children[path[0]]
		if child == nil {
			child = &treeNode{name: path[0], children: map[string]*treeNode{}}
			n.children[path[0]] = child
		}
		guilty = child.add(path[1:], value, culprits) || guilty
	}
	n.guilty = n.guilty || guilty
	return guilty
}

// draw draws n's children, heaviest first.
func (t *tree) draw(n *treeNode, depth int) {
	var children []*treeNode
	for _, c := range n.children {
		if c.guilty && float64(c.value) >= treeLeast*float64(t.total) {
			children = append(children, c)
		}
	}
	slices.SortFunc(children, func(a, b *treeNode) int {
		return cmp.Or(cmp.Compare(b.value, a.value), cmp.Compare(a.name, b.name))
	})
	for _, c := range children {
		share := float64(c.value) / float64(t.total)
		key, mark, _ := t.culprits.find(c.name)
		text := mark.text
		if all := t.places[key]; mark.all && all > c.value {
			text += fmt.Sprintf(" (%.2f%% in all)", 100*float64(all)/float64(t.total))
		}
		bar := strings.Repeat("#", int(share*treeBar+0.5))
		t.lines = append(t.lines, fmt.Sprintf("  %6.2f%% %-*s %s%s%s", 100*share, treeBar, bar, strings.Repeat("  ", depth), c.name[strings.LastIndexByte(c.name, '/')+1:], text))
		t.draw(c, depth+1)
	}
}
