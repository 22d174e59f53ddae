package process

import (
	"os"
	"strconv"
	"strings"
)

// A Load is what the machine has done since it started. Only the differences between two of a process
// have a meaning. Total is 0 where the system does not say, which only Linux does.
type Load struct {
	Waited float64 // seconds that the threads of this process have waited for a core
	Used   float64 // seconds of cores that all processes have used
	Stolen float64 // seconds of cores that the hypervisor has given to other machines
	Total  float64 // seconds of cores
}

// ReadLoad reads the load. It takes some 50 us, and 5 us for each thread.
func ReadLoad() Load {
	data, _ := os.ReadFile("/proc/stat") // which other systems do not have
	line, _, _ := strings.Cut(string(data), "\n")
	l := loadOf(line)
	l.Waited = threadsWaited().Seconds()
	return l
}

// loadOf reads the line of all processors in /proc/stat: "cpu", and hundredths of a second as user,
// nice, system, idle, waiting for a disk, in two kinds of interrupts, stolen, and two that user and
// nice contain.
func loadOf(line string) (l Load) {
	fields := strings.Fields(line)
	if len(fields) < 9 || fields[0] != "cpu" {
		return Load{}
	}
	for i, field := range fields[1:9] {
		n, err := strconv.ParseUint(field, 10, 64)
		if err != nil {
			return Load{}
		}
		seconds := float64(n) / 100
		switch l.Total += seconds; i {
		case 3, 4:
		case 7:
			l.Stolen = seconds
		default:
			l.Used += seconds
		}
	}
	return l
}
