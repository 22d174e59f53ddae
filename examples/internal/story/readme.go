package story

import (
	"os"
	"regexp"
	"slices"
	"strings"
)

// Missing are the lines that a README shows behind a heading and that a run has not printed. It
// compares what the example tells, the events, the verdicts, why alerts end, and where offenders are
// called from; not numbers, paths, and the figures and functions that differ from run to run.
func Missing(readme, heading, printed string) (missing []string) {
	text, err := os.ReadFile(readme)
	if err != nil {
		return []string{err.Error()}
	}
	_, shown, _ := strings.Cut(string(text), "\n"+heading+"\n")
	_, shown, _ = strings.Cut(shown, "\n```\n")
	shown, _, ok := strings.Cut(shown, "\n```")
	if !ok {
		return []string{"no text between ``` behind " + heading}
	}
	var lines []string
	for line := range strings.Lines(printed) {
		lines = append(lines, likeAny(line))
	}
	undecided := false
	for line := range strings.Lines(shown) {
		isReason := undecided // which differs from run to run
		if undecided = strings.Contains(line, "INCONCLUSIVE"); isReason {
			continue
		}
		whole, cut := strings.CutSuffix(likeAny(line), " ...")
		found := func(l string) bool { return l == whole || cut && strings.HasPrefix(l, whole) }
		if whole != "..." && isTold.MatchString(line) && !slices.ContainsFunc(lines, found) {
			missing = append(missing, strings.TrimSpace(line))
		}
	}
	return missing
}

// isTold are the lines that every run has: paragraphs, which are not indented, and some of the report.
var isTold = regexp.MustCompile(`^(\S| {6}[^\s\d]|\s+(profguard\.|still firing|FAIL|BROKEN|PASS|KEPT AGAIN|INCONCLUSIVE|called from))`)

var differing = []struct {
	text *regexp.Regexp
	by   string
}{
	{regexp.MustCompile(`\b(FAIL|BROKEN)\b`), "FAIL"},
	{regexp.MustCompile(`\b(PASS|KEPT AGAIN)\b`), "PASS"},
	{regexp.MustCompile(`called from \S*?(\(\*\w+\)\.\w+|\w+)( \(\d+% of it\))?\s+\S*/`), "called from $1 "},
	{regexp.MustCompile(`\bthe last (\d+ windows|window)`), "the last windows"},
	{regexp.MustCompile(`(^|[ (:])[0-9][0-9.]*(ns|µs|ms|s|B|KiB|MiB|%| cores?)?`), "$1#"},
	{regexp.MustCompile(`:\d+\b`), ":#"},
	{regexp.MustCompile(`^(\S+|the process) at #`), "at #"},
	{regexp.MustCompile(`^all windows together prove it; the last is at #`), "at #, surely above #"},
	{regexp.MustCompile(`^at most # in`), "at # in"},
	{regexp.MustCompile(`^none is above # in (.*), taken together`), "at # in $1"},
	{regexp.MustCompile(`# samples?`), "# samples"},
}

// likeAny is a line as any run prints it.
func likeAny(line string) string {
	line = strings.TrimSpace(line)
	for _, d := range differing {
		line = d.text.ReplaceAllString(line, d.by)
	}
	return line
}
