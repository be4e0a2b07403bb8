// Package nearest finds the name that a mistyped name most likely means.
//
//	nearest.Name("descripton", []string{"description", "name"}) // "description"
package nearest

import (
	"fmt"
	"strings"
)

// maxLen limits the names that are compared: longer ones are not typing errors, and
// the time to compare is the product of the lengths.
const maxLen = 128

// Name returns the candidate that a mistyped name most likely means, or "" when none is
// close: at most one edit for short names, up to three for long ones, where an edit is a
// letter added, dropped, replaced, or swapped with its neighbour. Case is ignored. The
// first of several equally close candidates wins.
func Name(name string, candidates []string) string {
	runes := []rune(strings.ToLower(name))
	if len(runes) == 0 || len(runes) > maxLen {
		return ""
	}
	best, bestDistance := "", 1+allowedEdits(len(runes))
	for _, candidate := range candidates {
		other := []rune(strings.ToLower(candidate))
		gap := len(other) - len(runes)
		if len(other) == 0 || len(other) > maxLen || gap >= bestDistance || -gap >= bestDistance {
			continue
		}
		if d := distance(runes, other); d < bestDistance && d < len(other) {
			best, bestDistance = candidate, d
		}
	}
	return best
}

// Hint asks whether the nearest candidate is meant; otherwise it returns fallback.
func Hint(name string, candidates []string, fallback string) string {
	if near := Name(name, candidates); near != "" {
		return fmt.Sprintf("did you mean %q?", near)
	}
	return fallback
}

// Clause is Hint as the end of a message: "; did you mean …?", or "".
func Clause(name string, candidates []string) string {
	if hint := Hint(name, candidates, ""); hint != "" {
		return "; " + hint
	}
	return ""
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

// distance is the Damerau-Levenshtein distance in its optimal string
// alignment form.
func distance(a, b []rune) int {
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
