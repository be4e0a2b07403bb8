package format

import (
	"slices"
	"strconv"
	"strings"
)

// Negotiate returns the form for an Accept header: the first media type in it that is
// supported and not excluded by q=0. Quality values do not reorder, as in Spice. The
// default, also without a header, is JSON.
func Negotiate(accept string) Form {
	for part := range strings.SplitSeq(accept, ",") {
		media, params, _ := strings.Cut(part, ";")
		if excluded(params) {
			continue
		}
		if f, ok := byMediaType(strings.ToLower(strings.TrimSpace(media))); ok {
			return f
		}
	}
	return forms[0]
}

// AcceptsJSON reports whether an Accept header names a JSON media type, not
// only a wildcard.
func AcceptsJSON(accept string) bool {
	for part := range strings.SplitSeq(accept, ",") {
		media, params, _ := strings.Cut(part, ";")
		media = strings.ToLower(strings.TrimSpace(media))
		if !excluded(params) && strings.HasSuffix(media, "json") {
			return true
		}
	}
	return false
}

// excluded reports whether the parameters of a media range contain q=0.
func excluded(params string) bool {
	for p := range strings.SplitSeq(params, ";") {
		name, value, _ := strings.Cut(p, "=")
		if !strings.EqualFold(strings.TrimSpace(name), "q") {
			continue
		}
		q, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
		return err == nil && q == 0
	}
	return false
}

// byMediaType finds the form of a media type; a wildcard selects the first form that
// matches it.
func byMediaType(media string) (Form, bool) {
	prefix, wildcard := strings.CutSuffix(media, "/*")
	for _, f := range forms {
		switch {
		case f.MediaType == media, slices.Contains(f.aliases, media):
			return f, true
		case wildcard && (prefix == "*" || strings.HasPrefix(f.MediaType, prefix+"/")):
			return f, true
		}
	}
	return Form{}, false
}
