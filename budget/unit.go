package budget

import (
	"strconv"
	"strings"
)

// A dimension is what a unit measures. Amounts of one dimension compare.
type dimension int

const (
	dimUnknown dimension = iota
	dimShare             // of a profile's total
	dimPoints            // of share, between two profiles
	dimCores             // CPU seconds per second
	dimTime
	dimBytes
	dimCount
)

// A unit is a dimension and the number of its base units (1, core, second,
// byte, piece) that one of it makes, or how many of it make one: a division by 100
// is exact where a product with 0.01 is not, as 35% shows.
type unit struct {
	dim       dimension
	factor    float64
	fractions float64 // 0 or, with a factor of 1, how many make a base unit
}

// unitList is what messages show of unitOf.
const unitList = "%, points, cores, ns, us, ms, s, m, h, B, KiB, MiB, GiB, kB, MB, GB, or none for a count"

// unitOf returns the unit of a name as [Amount] spells it; the dimension of
// an unknown name is dimUnknown.
func unitOf(name string) unit {
	switch name {
	case "":
		return unit{dim: dimCount, factor: 1}
	case "%":
		return unit{dim: dimShare, factor: 1, fractions: 100}
	case "points":
		return unit{dim: dimPoints, factor: 1, fractions: 100}
	case "cores":
		return unit{dim: dimCores, factor: 1}
	case "ns":
		return unit{dim: dimTime, factor: 1, fractions: 1e9}
	case "us":
		return unit{dim: dimTime, factor: 1, fractions: 1e6}
	case "ms":
		return unit{dim: dimTime, factor: 1, fractions: 1e3}
	case "s":
		return unit{dim: dimTime, factor: 1}
	case "m":
		return unit{dim: dimTime, factor: 60}
	case "h":
		return unit{dim: dimTime, factor: 3600}
	case "B":
		return unit{dim: dimBytes, factor: 1}
	case "KiB":
		return unit{dim: dimBytes, factor: 1 << 10}
	case "MiB":
		return unit{dim: dimBytes, factor: 1 << 20}
	case "GiB":
		return unit{dim: dimBytes, factor: 1 << 30}
	case "kB":
		return unit{dim: dimBytes, factor: 1e3}
	case "MB":
		return unit{dim: dimBytes, factor: 1e6}
	case "GB":
		return unit{dim: dimBytes, factor: 1e9}
	}
	return unit{dim: dimUnknown}
}

// unitNamed returns the name under which an [Amount] keeps a unit that was
// written as word, and whether word is a unit at all.
func unitNamed(word string) (name string, ok bool) {
	switch word {
	case "µs", "μs": // U+00B5, which Go prints, and U+03BC, which keyboards have
		return "us", true
	case "core":
		return "cores", true
	case "point":
		return "points", true
	}
	return word, word != "" && unitOf(word).dim != dimUnknown
}

// unitMeant guesses the unit behind a word that is none: the way it is
// written elsewhere, or a misspelling. "a or b" means that both are likely,
// "" that nothing comes to mind.
func unitMeant(word string) string {
	switch strings.ToLower(word) {
	case "percent", "pct", "procent", "prozent", "perc", "percentage", "%%":
		return "%"
	case "pp", "pts", "pt", "ppt":
		return "points"
	case "cpu", "cpus", "vcpu", "vcpus", "c":
		return "cores"
	case "k", "kb", "kbyte", "kbytes", "kilobytes":
		return "kB or KiB"
	case "mb", "mbyte", "mbytes", "megabytes", "meg", "mi":
		return "MB or MiB"
	case "g", "gb", "gbyte", "gbytes", "gigabytes", "gi":
		return "GB or GiB"
	case "byte", "bytes":
		return "B"
	case "nsec", "nanos", "nanosecond", "nanoseconds":
		return "ns"
	case "usec", "micros", "microsecond", "microseconds":
		return "us"
	case "msec", "millis", "millisecond", "milliseconds":
		return "ms"
	case "sec", "secs", "second", "seconds":
		return "s"
	case "min", "mins", "minute", "minutes":
		return "m"
	case "hr", "hrs", "hour", "hours":
		return "h"
	}
	if word == "M" {
		return "MB or MiB"
	}
	for _, name := range []string{"ns", "us", "ms", "B", "KiB", "MiB", "GiB"} {
		if strings.EqualFold(word, name) {
			return name
		}
	}
	if strings.HasPrefix(word, "%") {
		return "%" // "%." or "%,": punctuation that slipped in
	}
	if len(word) > 3 {
		return nearest(word, "points", "cores")
	}
	return ""
}

func (a Amount) dimension() dimension { return unitOf(a.Unit).dim }

// base returns the amount in the base unit of its dimension: a share from 0 to
// 1 (percent and points alike), cores, seconds, bytes, or a count.
func (a Amount) base() float64 {
	u := unitOf(a.Unit)
	if u.fractions > 0 {
		return a.Value / u.fractions
	}
	return a.Value * u.factor
}

// String returns the amount as a budget's sentence spells it: "20%",
// "1.5 cores", "64MiB", "5000".
func (a Amount) String() string {
	number := strconv.FormatFloat(a.Value, 'f', -1, 64)
	switch a.Unit {
	case "cores", "points":
		name := a.Unit
		if a.Value == 1 {
			name = strings.TrimSuffix(name, "s")
		}
		return number + " " + name
	}
	return number + a.Unit
}
