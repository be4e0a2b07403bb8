package spicepod

import "strings"

// Nearest returns the candidate that a mistyped name most likely means, or ""
// when nothing is close: at most one edit for short names, up to three for
// long ones, where an edit is a letter added, dropped, replaced, or swapped
// with its neighbour. Case is free. Among equals the first candidate wins.
func Nearest(name string, candidates []string) string {
	runes := []rune(strings.ToLower(name))
	if len(runes) == 0 || len(runes) > 128 {
		return ""
	}
	best, bestDistance := "", 1+allowedEdits(len(runes))
	for _, candidate := range candidates {
		other := []rune(strings.ToLower(candidate))
		gap := len(other) - len(runes)
		if len(other) == 0 || gap >= bestDistance || -gap >= bestDistance {
			continue
		}
		if d := editDistance(runes, other); d < bestDistance && d < len(other) {
			best, bestDistance = candidate, d
		}
	}
	return best
}

func allowedEdits(length int) int {
	switch {
	case length <= 4:
		return 1
	case length <= 8:
		return 2
	default:
		return 3
	}
}

// editDistance is the Damerau-Levenshtein distance in its optimal string
// alignment form.
func editDistance(a, b []rune) int {
	before := make([]int, len(b)+1)
	above := make([]int, len(b)+1)
	row := make([]int, len(b)+1)
	for j := range above {
		above[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(above[j]+1, row[j-1]+1, above[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, above, row = above, row, before
	}
	return above[len(b)]
}

// didYouMean is a clause for a message, or "".
func didYouMean(name string, candidates []string) string {
	if near := Nearest(name, candidates); near != "" {
		return `; did you mean "` + near + `"?`
	}
	return ""
}
