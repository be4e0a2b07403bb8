package models

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/spiced-sql/spiced/internal/kit/nearest"
	"github.com/spiced-sql/spiced/spicepod"
)

// entry is one entry of `models:` while it is opened.
type entry struct {
	spicepod.Entry
	declared spicepod.Model
	kind     provider
	id       string // of `from:`, after the colon
	http     *http.Client
}

// word reads a param that takes one of some words; the first is the default.
func (e *entry) word(key string, words ...string) string {
	text := strings.ToLower(e.Text(key))
	switch {
	case text == "":
		return words[0]
	case slices.Contains(words, text):
		return text
	}
	hint := ""
	if near := nearest.Name(text, words); near != "" {
		hint = fmt.Sprintf("did you mean %q?", near)
	}
	e.FailParam(key, hint, "params.%s takes %s, not %q", key, strings.Join(words, " or "), fmt.Sprint(e.Params[key]))
	return words[0]
}

func (e *entry) size(key string, most int64) int64 {
	n, err := e.Params.Size(key, 0)
	if err != nil {
		e.FailParam(key, "", "%s", err)
	} else if e.Params.Has(key) && (n < 1 || int64(n) > most) {
		e.FailParam(key, "", "params.%s takes 1 to %d bytes", key, most)
	}
	return int64(n)
}

// endpoint reads the base URL, without a slash at the end of its path. A query
// such as ?api-version=… stays.
func (e *entry) endpoint() *url.URL {
	text, hint := e.kind.endpoint, "write the base URL, for example "+e.kind.endpoint
	if e.Params.Has("endpoint") {
		text = e.Text("endpoint")
	}
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		e.FailParam("endpoint", hint, "params.endpoint takes an http or https URL")
		return &url.URL{}
	}
	if u.User != nil || u.Fragment != "" {
		e.FailParam("endpoint", hint+"; the key goes to params."+e.kind.key, "params.endpoint takes a URL without user and fragment")
	}
	u.Path = strings.TrimRight(u.Path, "/")
	for _, route := range e.kind.routes {
		if strings.HasSuffix(u.Path, route) {
			e.FailParam("endpoint", hint, "params.endpoint is the base URL; leave %s out", route)
		}
	}
	return u
}
