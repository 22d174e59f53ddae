package label

// Kept is how many labels are kept.
func Kept() int { return len(*kept.all.Load()) }

// Forget forgets all labels.
func Forget() { kept.all.Store(nil) }
