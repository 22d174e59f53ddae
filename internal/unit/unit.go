// Package unit has the units of a budget's amounts: their names, their dimensions, and how
// an amount is printed.
package unit

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A Dimension is what a unit measures. Amounts of one dimension compare.
type Dimension int

const (
	Unknown Dimension = iota
	Share             // a part of a total, from 0 to 1
	Points            // a difference of shares between two profiles
	Cores             // CPU seconds in a second
	Waited            // seconds that goroutines have waited in a second. Limits say "cores"
	Time              // CPU time or waiting time per unit of work
	Bytes             // memory, or memory per unit of work
	Count             // a number of things
)

// A Unit is a dimension, and how many of the dimension's base units make one unit.
type Unit struct {
	Name      string
	Dimension Dimension
	factor    float64
	spellings []string // that are accepted and printed as Name
	mistaken  string   // what people write in its place, in lower case
}

var units = []Unit{
	{Name: "%", Dimension: Share, factor: 0.01, mistaken: "percent pct"},
	{Name: "points", Dimension: Points, factor: 0.01, spellings: []string{"point"}, mistaken: "pp"},
	{Name: "cores", Dimension: Cores, factor: 1, spellings: []string{"core"}, mistaken: "cpu cpus vcpu vcpus"},
	{Name: "ns", Dimension: Time, factor: 1e-9},
	// U+00B5, which Go prints, and U+03BC, which keyboards have.
	{Name: "us", Dimension: Time, factor: 1e-6, spellings: []string{"µs", "μs"}},
	{Name: "ms", Dimension: Time, factor: 1e-3, mistaken: "msec millisecond milliseconds"},
	{Name: "s", Dimension: Time, factor: 1, mistaken: "sec second seconds"},
	{Name: "m", Dimension: Time, factor: 60, mistaken: "min minute minutes"},
	{Name: "h", Dimension: Time, factor: 3600, mistaken: "hour hours"},
	{Name: "B", Dimension: Bytes, factor: 1},
	{Name: "KiB", Dimension: Bytes, factor: 1 << 10, mistaken: "k ki kib"},
	{Name: "MiB", Dimension: Bytes, factor: 1 << 20, mistaken: "m mi mib"},
	{Name: "GiB", Dimension: Bytes, factor: 1 << 30, mistaken: "g gi gib"},
	{Name: "kB", Dimension: Bytes, factor: 1e3, mistaken: "kb kilobytes"},
	{Name: "MB", Dimension: Bytes, factor: 1e6, mistaken: "mb megabytes"},
	{Name: "GB", Dimension: Bytes, factor: 1e9, mistaken: "gb gigabytes"},
	{Name: "", Dimension: Count, factor: 1},
}

// List names all units, for messages.
func List() string {
	var names []string
	for _, u := range units {
		if u.Name != "" {
			names = append(names, u.Name)
		}
	}
	return strings.Join(names, ", ") + ", or none for a count"
}

// An Amount is a number with the name of its unit.
type Amount struct {
	Value float64
	Unit  string
}

// of returns the unit of that name; of an unknown name, one of dimension Unknown.
func of(name string) Unit {
	for i := range units {
		if units[i].Name == name {
			return units[i]
		}
	}
	return Unit{}
}

// Dimension is Unknown if the name of the unit is.
func (a Amount) Dimension() Dimension { return of(a.Unit).Dimension }

// Base is the amount in the base unit of its dimension: a share from 0 to 1 (percent and points
// alike), cores, seconds, bytes, or a count.
func (a Amount) Base() float64 {
	u := of(a.Unit)
	if u.factor < 1 { // a division by 100 is exact where a product with 0.01 is not, as 35% shows
		return a.Value / math.Round(1/u.factor)
	}
	return a.Value * u.factor
}

// String is the amount as a budget's sentence spells it: "20%", "1.5 cores", "64MiB", "5000".
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

// Named returns the unit that a word names, in any accepted spelling.
func Named(word string) (Unit, bool) {
	for _, u := range units {
		if word != "" && (u.Name == word || slices.Contains(u.spellings, word)) {
			return u, true
		}
	}
	return Unit{}, false
}

// Meant is the name of the unit that is meant by a word that is none, "" if it is not known.
func Meant(word string) string {
	for _, u := range units {
		if slices.Contains(strings.Fields(u.mistaken), word) {
			return u.Name
		}
	}
	return ""
}

// bases are the names of the dimensions' base units, as results have them.
var bases = [...]string{Unknown: "ratio", Share: "ratio", Points: "ratio", Cores: "cores", Waited: "s waited per second", Time: "seconds", Bytes: "bytes", Count: "count"}

// String names the dimension's base unit: "ratio", "cores", "s waited per second", "seconds",
// "bytes" or "count".
func (d Dimension) String() string {
	if d < 0 || int(d) >= len(bases) {
		return "Dimension(" + strconv.Itoa(int(d)) + ")"
	}
	return bases[d]
}

// Plural is "1 sample", "2 samples", "2 batches". Names of metrics, and what is a plural already, stay as they
// are: "2 http_requests_total", "1 requests".
func Plural[N int | int64](n N, what string) string {
	switch {
	case n == 1, strings.ContainsAny(what, "_{"), strings.HasSuffix(what, "s"):
	case strings.HasSuffix(what, "ch"):
		what += "es"
	default:
		what += "s"
	}
	return strconv.FormatInt(int64(n), 10) + " " + what
}

// Format prints an amount in base units, as reports show it. NaN is a dash.
func Format(v float64, d Dimension) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return "–"
	}
	switch d {
	case Share:
		return strconv.FormatFloat(100*v, 'f', 2, 64) + "%" // as pprof shows it
	case Points:
		return strconv.FormatFloat(100*v, 'f', 2, 64) + " points"
	case Cores:
		if v == 1 {
			return "1 core"
		}
		return significant(v, 3) + " cores"
	case Waited:
		return significant(v, 3) + " " + d.String()
	case Time:
		return formatSeconds(v)
	case Bytes:
		return formatBytes(v)
	}
	if v >= 1000 {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return significant(v, 4)
}

// Short is Format for an amount beside another: "0.1 s" beside "30.2 s waited per second".
func Short(v float64, d Dimension) string {
	return strings.TrimSuffix(Format(v, d), " waited per second")
}

// Range prints two amounts, with the words behind the numbers once.
func Range(low, high float64, d Dimension) string {
	from, to := Short(low, d), Short(high, d)
	if number, words, ok := strings.Cut(from, " "); ok && strings.HasSuffix(to, " "+words) {
		from = number
	}
	return from + " to " + to
}

func significant(v float64, digits int) string { return strconv.FormatFloat(v, 'g', digits, 64) }

func formatSeconds(v float64) string {
	if math.Abs(v) >= 1 {
		return strconv.FormatFloat(v, 'f', 2, 64) + "s"
	}
	if ns := 1e9 * v; ns != 0 && math.Abs(ns) < 999.5 {
		return significant(ns, 3) + "ns"
	}
	return time.Duration(math.Round(rounded(v, placeOf(v)/1000) * 1e9)).String() // four digits
}

// placeOf is the power of ten of a number's first digit.
func placeOf(v float64) float64 { return math.Pow(10, math.Floor(math.Log10(math.Abs(v)))) }

// rounded is v as a multiple of a power of ten. A division by a whole number is exact where a product is not.
func rounded(v, place float64) float64 { return inPlace(v, place, math.Round) }

func inPlace(v, place float64, round func(float64) float64) float64 {
	switch {
	case v == 0:
		return 0
	case place < 1:
		inverse := math.Round(1 / place)
		return round(v*inverse) / inverse
	}
	return round(v/place) * place
}

// Rounded is Format for a measured amount, with the digits that its bounds carry: the last one is that of the
// first digit of the error, but there are two at least. Shares have the digits that pprof shows,
// and bytes those of their unit.
func Rounded(v, low, high float64, d Dimension) string {
	off := max(v-low, high-v)
	if v < low || v > high || !hasError(v, off, d) { // some results have no bounds
		return Format(v, d)
	}
	return Format(rounded(v, min(placeOf(off), placeOf(v)/10)), d)
}

func hasError(v, off float64, d Dimension) bool {
	return d != Share && d != Points && d != Bytes && off > 0 && v != 0 && !math.IsNaN(v) && !math.IsInf(v, 0)
}

// Bound is Short for a bound of a measured value, with as many digits, and rounded away from the value.
func Bound(v, value float64, d Dimension) string {
	off, away := v-value, math.Ceil
	if off < 0 {
		off, away = -off, math.Floor
	}
	if !hasError(v, off, d) {
		return Short(v, d)
	}
	place := min(placeOf(off), placeOf(v)/10)
	if nearest := rounded(v, place); math.Abs(nearest-v) < place*1e-6 {
		return Short(nearest, d) // and not the next one, by an error of rounding
	}
	return Short(inPlace(v, place, away), d)
}

func formatBytes(v float64) string {
	for _, u := range slices.Backward(units) {
		if strings.HasSuffix(u.Name, "iB") && math.Abs(v) >= u.factor {
			return strconv.FormatFloat(v/u.factor, 'f', 2, 64) + u.Name
		}
	}
	return significant(v, 4) + "B"
}

// A Work is a unit of work, which follows "per" in a budget. It is the name of a counter,
// which labels may restrict: http_requests_total{code="200"}. With a label behind "by", each value of that label
// is a unit of its own: http_requests_total by handler.
type Work struct {
	Name   string
	Labels map[string]string
	By     string // "" for one unit
}

// WorkBy is a unit of work for each value of a label, unless the unit names a label itself.
func WorkBy(text, label string) string {
	if w, ok := ParseWork(text); ok && w.By == "" && label != "" {
		return text + by + label
	}
	return text
}

const by = " by "

// CutBy splits a unit and the label behind "by", which is "" without one.
func CutBy(text string) (unit, label string) {
	at := strings.LastIndex(text, by)
	if at < 0 || !IsName(text[at+len(by):]) {
		return text, ""
	}
	return text[:at], text[at+len(by):]
}

// Of is the unit of work of one value of the label behind "by".
func (w Work) Of(value string) string {
	list := []string{w.By + "=" + strconv.Quote(value)}
	for key, v := range w.Labels {
		list = append(list, key+"="+strconv.Quote(v))
	}
	slices.Sort(list)
	return w.Name + "{" + strings.Join(list, ",") + "}"
}

// ParseWork reads a unit of work. It reports false for other texts.
func ParseWork(text string) (Work, bool) {
	text, each := CutBy(text)
	name, rest, more := strings.Cut(text, "{")
	rest, closed := strings.CutSuffix(rest, "}")
	w := Work{Name: name, By: each}
	if !IsName(name) || closed != more {
		return w, false
	}
	for more {
		key, after, _ := strings.Cut(rest, "=")
		key, after = strings.TrimSpace(key), strings.TrimSpace(after)
		raw, err := strconv.QuotedPrefix(after)
		if _, twice := w.Labels[key]; err != nil || raw[0] != '"' || !IsName(key) || twice {
			return w, false
		}
		if w.Labels == nil {
			w.Labels = map[string]string{}
		}
		w.Labels[key], _ = strconv.Unquote(raw)
		rest, more = strings.CutPrefix(strings.TrimSpace(after[len(raw):]), ",")
	}
	return w, rest == ""
}

// IsName reports whether text is a name, of a unit of work or of a budget: a letter or a
// digit, and letters, digits, "_", "." and "-" behind it.
func IsName(text string) bool {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
	return text != "" && strings.Contains(letters, text[:1]) && strings.Trim(text, letters+"_.-") == ""
}

// CutCount splits a unit and how many there were of it, as in requests{code="200"}=12. The last
// "=" divides them, as labels have one, too.
func CutCount(text string) (unit, count string) {
	at := max(strings.LastIndexByte(text, '='), 0)
	return text[:at], strings.TrimPrefix(text[at:], "=")
}
