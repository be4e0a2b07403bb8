// Package plural counts things in messages.
package plural

import "strconv"

// Of returns "1 argument" and "2 arguments".
func Of(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}
