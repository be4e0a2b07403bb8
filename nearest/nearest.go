// Package nearest finds the name somebody meant.
//
//	nearest.Name("descripton", []string{"description", "name"}) // "description"
package nearest

import "strings"

// maxLen bounds the names that are compared; longer ones are no typing slips.
const maxLen = 128

// Name returns the candidate closest to name, without regard to case, or ""
// when none is close: more than a third of the longer name differs. Equal
// distances go to the candidate that comes first. The distance is optimal
// string alignment: insertions, deletions, substitutions and swaps of
// neighbours count one each.
func Name(name string, candidates []string) string {
	want := []rune(strings.ToLower(name))
	if len(want) == 0 || len(want) > maxLen {
		return ""
	}
	best, bestDistance := "", -1
	for _, c := range candidates {
		have := []rune(strings.ToLower(c))
		limit := max(len(want), len(have)) / 3
		if bestDistance >= 0 {
			limit = min(limit, bestDistance-1)
		}
		if len(have) > maxLen || limit < 0 || abs(len(want)-len(have)) > limit {
			continue
		}
		if d := distance(want, have); d <= limit {
			best, bestDistance = c, d
		}
	}
	return best
}

// distance is the optimal string alignment distance of a and b.
func distance(a, b []rune) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}

func abs(n int) int { return max(n, -n) }
