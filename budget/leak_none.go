//go:build !go1.27 && !goexperiment.goroutineleakprofile

package budget

const hasLeaks = false
