package pattern

// This file has what tests need beyond the face of the package.

const MaxLength = maxLength

// Needs are what each name has that a regular expression matches, and Tried whether it matches
// where that is not looked for.
func (p *Pattern) Needs() []string        { return p.needs }
func (p *Pattern) Tried(name string) bool { return p.regexp.MatchString(name) }
