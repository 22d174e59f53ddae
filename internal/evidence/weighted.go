package evidence

// Kish returns the effective number of samples that carry weights with the
// given sum and sum of squares: sum²/squares, by Kish's formula. Samples of the
// heap or of a mutex stand for bytes or seconds, each for a different amount; a
// hundred samples of which one carries nearly all the weight prove as much as
// one. Equal weights give their number.
//
// Judge a weighted share q with n = Kish(...) samples and k = q*n hits.
func Kish(sum, squares float64) float64 {
	if !(sum > 0 && squares > 0) {
		return 0
	}
	// Bytes squared go far beyond what amount allows, so only the quotient is
	// cut off. Dividing twice keeps the square from overflowing.
	return amount(sum / squares * sum)
}
