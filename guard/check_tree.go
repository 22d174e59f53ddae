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

// drawTree draws the calls beneath work as a tree, and of it only the ways to
// the culprits. Shares are of all samples of the profile.
func drawTree(p *profile.Profile, culprits culprits) string {
	root := &treeNode{children: map[string]*treeNode{}}
	value := len(p.SampleType) - 1
	for _, s := range p.Sample {
		root.add(pathOf(s), s.Value[value], culprits)
	}
	if root.value == 0 || !root.guilty {
		return ""
	}
	var lines []string
	root.draw(0, root.value, culprits, &lines)
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
	_, guilty = culprits.find(n.name)
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
func (n *treeNode) draw(depth int, total int64, culprits culprits, lines *[]string) {
	var children []*treeNode
	for _, c := range n.children {
		if c.guilty && float64(c.value) >= treeLeast*float64(total) {
			children = append(children, c)
		}
	}
	slices.SortFunc(children, func(a, b *treeNode) int {
		return cmp.Or(cmp.Compare(b.value, a.value), cmp.Compare(a.name, b.name))
	})
	for _, c := range children {
		share := float64(c.value) / float64(total)
		mark, _ := culprits.find(c.name)
		bar := strings.Repeat("#", int(share*treeBar+0.5))
		*lines = append(*lines, fmt.Sprintf("  %6.2f%% %-*s %s%s%s", 100*share, treeBar, bar, strings.Repeat("  ", depth), c.name[strings.LastIndexByte(c.name, '/')+1:], mark))
		c.draw(depth+1, total, culprits, lines)
	}
}
