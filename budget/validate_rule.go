package budget

import "slices"

// ruleMistake says what is wrong with a rule that the subject does not have.
func ruleMistake(b Budget) mistake {
	m := mistake{part: partRule, found: b.Rule, expected: rulesText(b.Subject)}
	switch class := classOf(b.Subject); class {
	case classLeak:
		m.remedy = `to limit their number write "goroutines below 5000"`
	case classEach:
		switch b.Rule {
		case "absent":
			m.remedy = `name what shall be absent: "portlist absent"`
		case "leaked":
			m.remedy = didYouMean("no goroutine leaked")
		default:
			m.remedy = example(b.Subject + " above 20%")
		}
	case classFigure:
		switch {
		case b.Rule == "grows":
			m.remedy = `growth over hours is "` + b.Subject + ` steady"`
		case b.Rule == "absent":
			m.remedy = figureRemedy(b.Subject)
		case b.Rule == "leaked":
			m.remedy = didYouMean("no goroutine leaked")
		}
		if b.Subject == "gc" {
			m.remedy = example("gc below 5%")
			if b.Rule == "absent" {
				m.remedy = figureRemedy(b.Subject)
			}
		}
	case classProcess:
		m.remedy = `"process" is all that runs; for a package of that name write its full path`
		if b.Rule == "leaked" {
			m.remedy = didYouMean("no goroutine leaked")
		}
	default:
		switch b.Rule {
		case "steady":
			m.remedy = `steady is for goroutines, heap, rss and process: for a function write "grows below 5 points"`
		case "leaked":
			m.remedy = didYouMean("no goroutine leaked")
		default:
			m.remedy = `a Rule is "", "absent", "grows", "steady" or "leaked"`
		}
	}
	if !slices.Contains([]string{"", "absent", "grows", "steady", "leaked"}, b.Rule) {
		m.remedy = `a Rule is "", "absent", "grows", "steady" or "leaked"`
	}
	return m
}

// figureRemedy says how to name a package whose name is a figure's.
func figureRemedy(figure string) string {
	path := "example.com/" + figure
	if figure == "heap" {
		path = "container/heap"
	}
	return `"` + figure + `" is a figure of the process; for the package write its full path: ` + path
}

// rulesText lists the rules that a subject has, as messages show them.
func rulesText(subject string) string {
	rules := "below, grows or absent after a pattern"
	switch classOf(subject) {
	case classEach:
		rules = `above or grows after "` + subject + `"`
	case classProcess:
		rules = `below, grows or steady after "process"`
	case classFigure:
		rules = `below or steady after "` + subject + `"`
		if subject == "gc" {
			rules = `below after "gc"`
		}
	case classLeak:
		rules = `leaked after "no goroutine"`
	}
	return rules
}
