package decode

const (
	// slack is by how many elements a buffer is made larger than asked for, at
	// most a quarter of its size, because the next profile of the same program
	// will be of almost the same size.
	slack = 16 << 10
	// A buffer of more than kept elements that is more than keptFactor times
	// too large is given back: one huge profile must not cost memory for ever.
	kept       = 128 << 10
	keptFactor = 8
)

// fits says whether a buffer with this capacity should be used for n elements.
func fits(capacity, n int) bool {
	return capacity >= n && (capacity <= kept || capacity/keptFactor <= n)
}

// sized returns a slice of length n, of unspecified content, in s's memory if
// that fits.
func sized[T any](s []T, n int) []T {
	if fits(cap(s), n) {
		return s[:n]
	}
	return make([]T, n, n+min(n/4, slack))
}
