package guard

import (
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/profguard/profguard/budget"
	"github.com/profguard/profguard/internal/linked"
	"github.com/profguard/profguard/internal/pattern"
)

// A linkage says which patterns of a set match nothing in the program.
type linkage struct {
	notLinked []string
	vacuous   []string          // what to tell the user about them
	near      map[string]string // by pattern that matches nothing: what it may have meant
}

// linkCache remembers what was found for a pattern. It is the process's, as the
// executable is, and reading that takes tens of milliseconds.
type linkCache struct {
	mu    sync.Mutex
	found map[string]bool
	near  map[string]string // of those that were not found, "" where nothing is near
}

var checkLinks = linkCache{found: map[string]bool{}, near: map[string]string{}}

// linkageOf looks the subjects of the budgets up. Where the executable cannot be
// read, everything counts as linked: a pattern that matches nothing is then found
// out by no sample.
func linkageOf(set budget.Set) linkage {
	var l linkage
	missing := checkLinks.missing(patternsOf(set))
	l.near = checkLinks.nearest(slices.Sorted(maps.Keys(missing)))
	for _, b := range set {
		text := b.Subject
		switch {
		case missing[text]:
			l.notLinked = append(l.notLinked, text)
			if b.Rule == "absent" {
				continue // the best possible pass
			}
		case missing[b.In]:
			text = b.In
		default:
			continue
		}
		l.vacuous = append(l.vacuous, fmt.Sprintf(
			"%s: no function linked into this test matches %s: %scheck the spelling, make work call it, or drop the budget", b, text, l.didYouMean(text)))
	}
	return l
}

// didYouMean asks, or is "".
func (l *linkage) didYouMean(text string) string {
	if l.near[text] == "" {
		return ""
	}
	return fmt.Sprintf("did you mean %s? ", l.near[text])
}

// hint says what is linked under a similar name, in the reason of a budget that is
// kept because nothing of its name is.
func (l *linkage) hint(res *budget.Result) {
	if near := l.near[res.Budget.Subject]; near != "" && res.Budget.Rule == "absent" && l.isMissing(res.Budget) {
		res.Reason += fmt.Sprintf(". Did you mean %s, which is linked?", near)
	}
}

// isMissing reports whether the budget's pattern matches nothing in the program.
func (l *linkage) isMissing(b budget.Budget) bool { return slices.Contains(l.notLinked, b.Subject) }

// patternsOf lists the patterns that budgets are about.
func patternsOf(set budget.Set) []string {
	var texts []string
	for _, b := range set {
		switch b.Subject {
		case "no function", "no package", "no goroutine", "process", "goroutines", "heap", "rss", "gc":
		default:
			texts = append(texts, b.Subject)
		}
		if b.In != "" {
			texts = append(texts, b.In)
		}
	}
	return texts
}

// nearest looks for what patterns may have meant that match nothing. Where the
// executable cannot be read, that is not known.
func (c *linkCache) nearest(texts []string) map[string]string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var unknown []string
	for _, text := range texts {
		if _, ok := c.near[text]; !ok {
			unknown = append(unknown, text)
		}
	}
	if len(unknown) > 0 {
		found, _ := linked.Near(unknown, linked.Functions)
		for _, text := range unknown {
			c.near[text] = found[text]
		}
	}
	out := map[string]string{}
	for _, text := range texts {
		out[text] = c.near[text]
	}
	return out
}

// missing tells which of the patterns match no function of the program.
func (c *linkCache) missing(texts []string) map[string]bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	var unknown []*pattern.Pattern
	for _, text := range texts {
		if _, ok := c.found[text]; ok {
			continue
		}
		if p, err := pattern.Parse(text); err == nil {
			unknown = append(unknown, p)
		}
	}
	if len(unknown) > 0 {
		hit := make([]bool, len(unknown))
		index := pattern.NewIndex(unknown)
		var buf []int32
		err := linked.Functions(func(name string) bool {
			buf = index.Match(name, buf[:0])
			for _, i := range buf {
				hit[i] = true
			}
			return true
		})
		for i, p := range unknown {
			c.found[p.String()] = hit[i] || err != nil
		}
	}
	out := map[string]bool{}
	for _, text := range texts {
		if found, ok := c.found[text]; ok && !found {
			out[text] = true
		}
	}
	return out
}
