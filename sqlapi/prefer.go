package sqlapi

import (
	"net/http"
	"regexp"
	"strings"
)

// Headers of preferences (RFC 7240).
const (
	headerPrefer            = "Prefer"
	headerPreferenceApplied = "Preference-Applied"
	headerLocation          = "Location"

	preferAsync = "respond-async"
)

var preferParam = param{headerPrefer, "header", "respond-async: run the call as a job, if the function has async: true", text}

var quotedString = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)

// prefersAsync reports whether a client prefers an answer before the result is there.
func prefersAsync(r *http.Request) bool {
	for _, line := range r.Header.Values(headerPrefer) {
		for preference := range strings.SplitSeq(quotedString.ReplaceAllString(line, ""), ",") {
			token, _, _ := strings.Cut(preference, ";") // parameters
			if strings.EqualFold(strings.TrimSpace(token), preferAsync) {
				return true
			}
		}
	}
	return false
}
