package page

import "html/template"

// Profile is the page of one profile: a dump's, or one just taken.
type Profile struct {
	Title string
	Home  string // the relative link to the overview
	Live  bool   // just taken; the flame graph has no links, for each would take another

	// Facts are what is known about it, in this order.
	Facts     []Fact
	Offenders []Offender
	Files     []File

	Flame *Flame // nil: see Note
	Note  string // why there is no flame graph, or what is wrong with it
	Top   []Function
}

// Fact is a line of a list of facts.
type Fact struct{ Name, Text string }

// File is a file to be downloaded. Link is relative to the page.
type File struct{ Name, Link string }

// SVG draws the flame graph.
func (p Profile) SVG() template.HTML {
	if p.Flame == nil {
		return ""
	}
	return p.Flame.SVG(!p.Live)
}

// Share shows a part of the profile.
func (p Profile) Share(v float64) string {
	if p.Flame == nil || p.Flame.Total <= 0 {
		return ""
	}
	return percent(v / p.Flame.Total)
}
