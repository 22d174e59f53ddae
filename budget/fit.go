package budget

import "strings"

// A fit is a dimension that a limit may have, and what that asks of Per.
type fit struct {
	dim dimension
	per perNeed
}

// A perNeed says whether an amount is to be divided by a unit of work.
type perNeed int

const (
	perNever perNeed = iota
	perMay
	perMust
)

// fits returns what the limit of a budget may be, the most usual first.
func fits(c class, b Budget) []fit {
	kind := b.Kind
	if kind == "" {
		kind = "cpu"
	}
	switch {
	case b.Subject == "goroutines":
		return []fit{{dimCount, perNever}}
	case b.Subject == "heap", b.Subject == "rss":
		return []fit{{dimBytes, perNever}}
	case b.Subject == "gc":
		return []fit{{dimShare, perNever}}
	case c == classProcess && b.Rule == "steady":
		return []fit{{dimCores, perNever}}
	case c == classProcess && b.Rule == "grows":
		if kind == "cpu" || kind == "allocs" {
			return []fit{{dimShare, perMust}}
		}
		return nil
	case c == classProcess:
		switch kind {
		case "cpu":
			return []fit{{dimCores, perNever}, {dimTime, perMust}}
		case "allocs":
			return []fit{{dimBytes, perMay}, {dimCount, perMay}}
		case "heap":
			return []fit{{dimBytes, perNever}}
		}
		return nil
	case b.Rule == "grows":
		if kind == "cpu" || kind == "allocs" {
			return []fit{{dimPoints, perNever}, {dimShare, perMust}}
		}
		return []fit{{dimPoints, perNever}}
	}
	switch kind {
	case "cpu":
		return []fit{{dimShare, perNever}, {dimCores, perNever}, {dimTime, perMust}}
	case "heap":
		return []fit{{dimShare, perNever}, {dimBytes, perNever}, {dimCount, perNever}}
	case "allocs":
		return []fit{{dimShare, perNever}, {dimBytes, perMay}, {dimCount, perMay}}
	case "goroutine":
		return []fit{{dimShare, perNever}, {dimCount, perNever}}
	}
	return []fit{{dimShare, perNever}, {dimTime, perMust}, {dimCount, perMay}} // mutex, block
}

// fitsText lists fits as messages show them.
func fitsText(list []fit) string {
	var texts []string
	for _, f := range list {
		text := ""
		switch f.dim {
		case dimShare:
			text = "%"
		case dimPoints:
			text = "points"
		case dimCores:
			text = "cores"
		case dimTime:
			text = "a duration"
		case dimBytes:
			text = "bytes"
		case dimCount:
			text = "a count"
		}
		switch f.per {
		case perMust:
			text += " per unit of work"
		case perMay:
			text += " (alone or per unit of work)"
		}
		texts = append(texts, text)
	}
	if last := len(texts) - 1; last > 0 {
		return strings.Join(texts[:last], ", ") + " or " + texts[last]
	}
	return strings.Join(texts, "")
}
