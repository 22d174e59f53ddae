package figures

import (
	"runtime/metrics"
	"time"
)

// CollectorCPU returns the CPU time that the garbage collector has taken since the
// process began, as of the end of the last collection. It is the runtime's
// estimate; see the doc of this package. A difference around a forced collection
// says what that one took.
func CollectorCPU() time.Duration {
	s := []metrics.Sample{{Name: metricNames[gcTotal]}}
	metrics.Read(s)
	if s[0].Value.Kind() != metrics.KindFloat64 {
		return 0
	}
	return time.Duration(s[0].Value.Float64() * float64(time.Second))
}
