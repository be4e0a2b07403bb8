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
	return names(accept, func(media string) bool { return strings.HasSuffix(media, "json") })
}

// AcceptsHTML reports whether an Accept header names text/html, as those of browsers do.
func AcceptsHTML(accept string) bool {
	return names(accept, func(media string) bool { return media == "text/html" })
}

// names reports whether an Accept header names a media type, in lower case, that is wanted.
func names(accept string, wanted func(media string) bool) bool {
	for part := range strings.SplitSeq(accept, ",") {
		media, params, _ := strings.Cut(part, ";")
		media = strings.ToLower(strings.TrimSpace(media))
		if !excluded(params) && wanted(media) {
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
