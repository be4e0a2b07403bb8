package sqlapi

import (
	"context"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/spiced-sql/spiced/registry"
)

// Headers of preferences (RFC 7240).
const (
	headerPrefer            = "Prefer"
	headerPreferenceApplied = "Preference-Applied"
	headerLocation          = "Location"

	preferAsync = "respond-async"
	preferWait  = "wait"
)

var preferParam = param{
	headerPrefer, "header",
	"respond-async: run the call as a job, if the function has async: true", text,
}

var waitParam = param{
	headerPrefer, "header",
	"wait=300: how many seconds a call that needs approval waits for the decision, at most 600, if that is longer than " +
		"runtime.tools.approval_wait", text,
}

var quotedString = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)

// preferences returns the preferences of a request by their lower-case names, the first of
// each name. Their own parameters are left out. The value of a text in quotes is x for each
// of its bytes: no preference here takes one.
func preferences(r *http.Request) map[string]string {
	all := map[string]string{}
	for _, line := range r.Header.Values(headerPrefer) {
		line = quotedString.ReplaceAllStringFunc(line, func(s string) string { return strings.Repeat("x", len(s)-len(`""`)) })
		for preference := range strings.SplitSeq(line, ",") {
			preference, _, _ = strings.Cut(preference, ";")
			token, value, _ := strings.Cut(preference, "=")
			token = strings.ToLower(strings.TrimSpace(token))
			if _, twice := all[token]; !twice {
				all[token] = strings.TrimSpace(value)
			}
		}
	}
	return all
}

// prefersAsync reports whether a client prefers an answer before the result is there.
func prefersAsync(r *http.Request) bool {
	value, ok := preferences(r)[preferAsync]
	return ok && value == "" // empty is as none
}

// maxApprovalWait limits how long a client can let calls wait for approval.
const maxApprovalWait = 10 * time.Minute

// withWait lets the calls of a chat wait for approval as long as its client prefers, and
// tells the client: Prefer: wait=300, in seconds.
func withWait(w http.ResponseWriter, r *http.Request) context.Context {
	seconds, err := strconv.ParseUint(preferences(r)[preferWait], 10, 31)
	if err != nil {
		return r.Context()
	}
	wait := min(time.Duration(seconds)*time.Second, maxApprovalWait)
	w.Header().Set(headerPreferenceApplied, fmt.Sprintf("%s=%d", preferWait, int(wait.Seconds())))
	return registry.WithApprovalWait(r.Context(), wait)
}
