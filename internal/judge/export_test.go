package judge

// MaxStreams is the most functions that a watch remembers of one rule.
const MaxStreams = maxStreams

// Remembered is how many functions the watch remembers of rule i.
func (w *Watch) Remembered(i int) int { return len(w.records[i].by) }

// HasCountedBaseline reports whether a baseline was added up.
func (j *Judge) HasCountedBaseline() bool { return j.base.table != nil }
