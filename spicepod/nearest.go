package spicepod

import "github.com/spiced-sql/spiced/internal/kit/nearest"

// didYouMean is a clause for a message, or "".
func didYouMean(name string, candidates []string) string {
	if near := nearest.Name(name, candidates); near != "" {
		return `; did you mean "` + near + `"?`
	}
	return ""
}
