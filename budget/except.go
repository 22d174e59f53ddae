package budget

import (
	"slices"
	"strings"
	"time"

	"github.com/profguard/profguard/internal/judge"
	"github.com/profguard/profguard/internal/pattern"
)

// An exception is one element of [Budget.Except].
type exception struct {
	pattern string
	day     string // the last one on which it holds, "" for no end
}

// exceptionOf reads an element. What is no exception is a pattern that is refused.
func exceptionOf(text string) exception {
	l := lexer{line: text}
	first, until, day := l.next(modeWord), l.next(modeWord), l.next(modeWord)
	if until.raw != "until" || day.kind == tokenEnd || l.next(modeWord).kind != tokenEnd {
		return exception{pattern: text}
	}
	return exception{first.raw, day.raw}
}

func (e exception) String() string {
	if e.day == "" {
		return e.pattern
	}
	return e.pattern + " until " + e.day
}

// end is when the exception ends: when its day is over, in UTC.
func (e exception) end() time.Time {
	day, err := time.Parse(time.DateOnly, e.day)
	if err != nil {
		return time.Time{}
	}
	return day.AddDate(0, 0, 1)
}

// mistake is what is wrong with the exception.
func (e exception) mistake() mistake {
	switch {
	case e.pattern == "none" && e.day != "":
		return mistake{partExcept, `"except none" without a day`, `leave out "until ` + e.day + `"`}
	case e.pattern != "none" && patternMistake(e.pattern, partExcept).expected != "":
		return patternMistake(e.pattern, partExcept)
	case e.day != "" && e.end().IsZero():
		return mistake{partExcept, dayExpected, ""}
	}
	return mistake{}
}

// accept sets the exceptions of a rule: those that hold at a time.
func (b *Budget) accept(r *judge.Rule, at time.Time) {
	for _, text := range b.Except {
		switch e := exceptionOf(text); {
		case e.pattern == "none":
			r.Literal = true
		case e.day == "":
			r.Except = append(r.Except, e.pattern)
		case at.Before(e.end()):
			r.Except = append(r.Except, e.pattern)
			r.Ending = append(r.Ending, judge.Ending{Exception: e.String(), At: e.end()})
		}
	}
}

// acceptedUntil is the day until which a function or package was accepted, "" if it never was for a
// while, or is still.
func (b *Budget) acceptedUntil(name string) (last string) {
	for _, text := range b.Except {
		e := exceptionOf(text)
		if e.day == "" || e.day <= last || time.Now().Before(e.end()) {
			continue
		}
		if p, err := pattern.Parse(e.pattern); err == nil && p.Match(name) {
			last = e.day
		}
	}
	return last
}

// lapsed says of the offenders, and of what most of their cost is in, which were accepted for a while that is
// over, "" if none was: while a function is accepted, its samples are not charged to its callers either. What it
// calls is charged all the time.
func (r *Result) lapsed() string {
	var list []string
	for i := range r.Offenders {
		for _, f := range append([]Frame{r.Offenders[i].Frame}, r.Offenders[i].Callees...) {
			day := r.Budget.acceptedUntil(f.Function)
			note := pattern.Visible(f.Function) + " was accepted until " + day + ", which is over"
			if day != "" && !slices.Contains(list, note) {
				list = append(list, note)
			}
		}
	}
	return strings.Join(list, "; ")
}
