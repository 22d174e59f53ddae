package budget

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/profguard/profguard/internal/pattern"
)

// A SyntaxError is a mistake in a sentence: the word that [Parse] could not read, the words that it
// expected, and a remedy.
type SyntaxError struct {
	Line   int    // from 1
	Column int    // of Word in Text, from 1, counted in characters
	Text   string // the line
	Word   string // the word that was found, "" at the end of the line

	Expected string // the words that were possible there
	Remedy   string // what to do, with the word that may be meant and a right sentence as an example
}

// Error returns the message in full, with the line and a mark under the word:
//
//	parse budget: line 1, column 19: expected ..., found "20"
//		no function above 20 cumulative
//		                  ^^
//		write, for example, "no function above 20% cumulative"
func (e *SyntaxError) Error() string {
	found := "the end of the line"
	if e.Word != "" {
		found = strconv.Quote(clipped(e.Word))
	}
	line, mark := e.picture()
	text := fmt.Sprintf("parse budget: line %d, column %d: expected %s, found %s\n\t%s\n\t%s", e.Line, e.Column, e.Expected, found, line, mark)
	if e.Remedy != "" {
		text += "\n\t" + e.Remedy
	}
	return text
}

// Longer words and lines are shown in part: a message is read in a terminal or a log, where
// 160 characters are two lines.
const (
	longestWord = 60
	longestLine = 160
)

func clipped(word string) string { return clip(word, longestWord) }

func clip(text string, longest int) string {
	if runes := []rune(text); len(runes) > longest {
		return string(runes[:longest]) + "..."
	}
	return text
}

// plain returns a part of a message fit to be printed, whatever it cites.
func plain(text string) string { return pattern.Visible(clip(text, 2*longestLine)) }

// picture returns the line, fit to be printed, with a blank for each tab, and the line to print
// below it that marks the word.
func (e *SyntaxError) picture() (line, mark string) {
	runes := []rune(pattern.Visible(strings.ReplaceAll(e.Text, "\t", " ")))
	start := min(max(e.Column-1, 0), len(runes))
	from, before := 0, ""
	if start > longestLine/2 && len(runes) > longestLine {
		from, before = start-longestLine/2, "..."
	}
	line = before + clip(string(runes[from:]), longestLine)
	marked := max(min(utf8.RuneCountInString(e.Word), len(runes)-start, from+longestLine-start), 1)
	return line, strings.Repeat(" ", len(before)+start-from) + strings.Repeat("^", marked)
}
