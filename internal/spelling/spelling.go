// Package spelling measures the difference of two spellings, to find the word that is
// meant by a misspelt one.
package spelling

// Distance counts the single letters to insert, remove, replace, or swap with
// their neighbour to get from a to b (optimal string alignment).
func Distance(a, b string) int {
	before := make([]int, len(b)+1) // the row before the last
	last := make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row := make([]int, len(b)+1)
		row[0] = i
		for j := 1; j <= len(b); j++ {
			replace := last[j-1]
			if a[i-1] != b[j-1] {
				replace++
			}
			row[j] = min(last[j]+1, row[j-1]+1, replace)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last = last, row
	}
	return last[len(b)]
}

// Nearest is the first of the candidates that are nearest to a word, and at most so far away, or
// "" if there is none.
func Nearest(word string, most int, candidates []string) string {
	best := ""
	for _, c := range candidates {
		if d := Distance(word, c); d <= most {
			best, most = c, d-1
		}
	}
	return best
}
