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
		line = quotedString.ReplaceAllStringFunc(line, func(s string) string { return strings.Repeat("x", len(s)-len(`""`)) })
		for preference := range strings.SplitSeq(line, ",") {
			preference, _, _ = strings.Cut(preference, ";") // parameters
			token, value, _ := strings.Cut(preference, "=")
			if strings.EqualFold(strings.TrimSpace(token), preferAsync) && strings.TrimSpace(value) == "" { // empty is as none
				return true
			}
		}
	}
	return false
}
