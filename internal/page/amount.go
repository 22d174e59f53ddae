package page

import (
	"fmt"
	"math"
	"strconv"
	"time"
)

// Amount shows a value in one of the units of a budget's result: "ratio",
// "cores", "seconds", "bytes", anything else being a count. What is no number
// is shown as a dash.
func Amount(v float64, unit string) string {
	switch {
	case math.IsNaN(v) || math.IsInf(v, 0):
		return "–"
	case unit == "ratio":
		return percent(v)
	case unit == "cores":
		return fmt.Sprintf("%.3g cores", v)
	case unit == "seconds":
		return seconds(v)
	case unit == "bytes":
		return size(v)
	}
	return strconv.FormatFloat(v, 'f', decimals(v), 64)
}

// decimals are as many as say something.
func decimals(v float64) int {
	if v == math.Trunc(v) || math.Abs(v) >= 100 {
		return 0
	}
	return 2
}

func percent(v float64) string {
	switch v = 100 * v; {
	case v == 0:
		return "0%"
	case math.Abs(v) < 1:
		return fmt.Sprintf("%.2f%%", v)
	}
	return fmt.Sprintf("%.1f%%", v)
}

func seconds(v float64) string {
	// Beyond that a time.Duration overflows, and nobody reads on.
	const most = 1e9
	switch {
	case math.Abs(v) >= most:
		return fmt.Sprintf("%.3gs", v)
	case math.Abs(v) >= 1:
		return fmt.Sprintf("%.2fs", v)
	}
	d := time.Duration(math.Round(v * 1e9))
	switch {
	case d.Abs() >= time.Millisecond:
		d = d.Round(10 * time.Microsecond)
	case d.Abs() >= time.Microsecond:
		d = d.Round(10 * time.Nanosecond)
	}
	return d.String()
}

func size(v float64) string {
	for _, u := range []struct {
		name string
		size float64
	}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}} {
		if math.Abs(v) >= u.size {
			return fmt.Sprintf("%.1f %s", v/u.size, u.name)
		}
	}
	return fmt.Sprintf("%.0f B", v)
}

// UnitOf is the unit of [Amount] for a profile's own: "nanoseconds" and its like
// become "seconds". Factor turns values into it.
func UnitOf(profile string) (unit string, factor float64) {
	switch profile {
	case "nanoseconds":
		return "seconds", 1e-9
	case "microseconds":
		return "seconds", 1e-6
	case "milliseconds":
		return "seconds", 1e-3
	case "seconds", "bytes":
		return profile, 1
	}
	return "count", 1
}

// Ago shows how long ago something was, or for how long it has been: in its
// two largest units.
func Ago(d time.Duration) string {
	d = max(d, 0)
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm %ds", int(d.Minutes()), int(d.Seconds())%60)
	case d < 24*time.Hour:
		return fmt.Sprintf("%dh %dm", int(d.Hours()), int(d.Minutes())%60)
	}
	return fmt.Sprintf("%dd %dh", int(d.Hours())/24, int(d.Hours())%24)
}
