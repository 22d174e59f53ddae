package judge

// steady compares levels between the calls of a test, which package check does. Nothing else judges it.
type steady struct{ figure }

func (s steady) needs() Needs { return Needs{Periodic: true, Calls: true} }

func (s steady) window(*measurement) Finding { return Finding{Reason: BetweenCalls{}} }
