package models

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/spiced-sql/spiced/nearest"
	"github.com/spiced-sql/spiced/spicepod"
)

// entry is one entry of `models:` while it is opened. The first fault of a
// param stays in fault, so that the params can be read in one go.
type entry struct {
	pod      *spicepod.Pod
	declared spicepod.Model
	path     string
	kind     provider
	id       string // of `from:`, after the colon
	http     *http.Client
	fault    *spicepod.Problem
}

// problem is about the value at a path below the entry.
func (e *entry) problem(path, hint, format string, args ...any) *spicepod.Problem {
	p := e.pod.Problem(e.path+path, fmt.Sprintf(format, args...), hint)
	p.Component = "model " + e.declared.Name
	return &p
}

// remark is a problem that keeps nothing from serving.
func (e *entry) remark(path, hint, message string) spicepod.Problem {
	p := e.problem(path, hint, "%s", message)
	p.Severity = spicepod.Warning
	return *p
}

// fail keeps the first fault of a param.
func (e *entry) fail(key, hint, format string, args ...any) {
	if e.fault == nil {
		e.fault = e.problem(paramPath(key), hint, format, args...)
	}
}

// paramPath writes a key that is not a plain word as Pod.At wants it.
func paramPath(key string) string {
	if strings.Trim(key, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") == "" && key != "" {
		return ".params." + key
	}
	return fmt.Sprintf(".params[%q]", key)
}

// unknownParam refuses a param that nothing reads.
func (e *entry) unknownParam() *spicepod.Problem {
	known := e.kind.known()
	for _, key := range slices.Sorted(maps.Keys(e.declared.Params)) {
		if slices.Contains(known, key) {
			continue
		}
		hint := "known here: " + strings.Join(known, ", ")
		if near := nearest.Name(key, known); near != "" {
			hint = fmt.Sprintf("did you mean %q? %s", near, hint)
		}
		p := e.pod.KeyProblem(e.path+paramPath(key), fmt.Sprintf("unknown param %q of a model from %s", key, e.kind.name), hint)
		p.Component = "model " + e.declared.Name
		return &p
	}
	return nil
}

func (e *entry) has(key string) bool { return e.declared.Params.Has(key) }

// text reads a param without the space around it: keys often come from files
// that end in a line break.
func (e *entry) text(key string) string {
	text, err := e.declared.Params.String(key)
	if err != nil {
		e.fail(key, "", "%s", err)
	}
	return strings.TrimSpace(text)
}

// word reads a param that takes one of some words; the first is the default.
func (e *entry) word(key string, words ...string) string {
	text := strings.ToLower(e.text(key))
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
	e.fail(key, hint, "params.%s takes %s, not %q", key, strings.Join(words, " or "), fmt.Sprint(e.declared.Params[key]))
	return words[0]
}

func (e *entry) number(key string, fallback, least, most int) int {
	n, err := e.declared.Params.Int(key, fallback)
	if err != nil {
		e.fail(key, "", "%s", err)
	} else if e.has(key) && (n < least || n > most) {
		e.fail(key, "", "params.%s takes %d to %d", key, least, most)
	}
	return n
}

func (e *entry) size(key string, most int64) int64 {
	n, err := e.declared.Params.Size(key, 0)
	if err != nil {
		e.fail(key, "", "%s", err)
	} else if e.has(key) && (n < 1 || int64(n) > most) {
		e.fail(key, "", "params.%s takes 1 to %d bytes", key, most)
	}
	return int64(n)
}

// duration is 0 when nothing is said.
func (e *entry) duration(key string) time.Duration {
	d, err := e.declared.Params.Duration(key, 0)
	if err != nil {
		e.fail(key, "", "%s", err)
	} else if e.has(key) && (d <= 0 || d > MaxTimeout) {
		e.fail(key, "", "params.%s takes more than 0 and at most %s", key, MaxTimeout)
	}
	return d
}

// header reads a param that becomes the value of an HTTP header.
func (e *entry) header(key string) string {
	text := e.text(key)
	if strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' }) {
		e.fail(key, "", "params.%s holds a character that no header may hold", key)
	}
	return text
}

// endpoint reads the base URL, without a slash at the end of its path. A query
// such as ?api-version=… stays.
func (e *entry) endpoint() *url.URL {
	text, hint := e.kind.endpoint, "write the base URL, for example "+e.kind.endpoint
	if e.has("endpoint") {
		text = e.text("endpoint")
	}
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		e.fail("endpoint", hint, "params.endpoint takes an http or https URL")
		return &url.URL{}
	}
	if u.User != nil || u.Fragment != "" {
		e.fail("endpoint", hint+"; the key goes to params."+e.kind.key, "params.endpoint takes a URL without user and fragment")
	}
	u.Path = strings.TrimRight(u.Path, "/")
	for _, route := range e.kind.routes {
		if strings.HasSuffix(u.Path, route) {
			e.fail("endpoint", hint, "params.endpoint is the base URL; leave %s out", route)
		}
	}
	return u
}

// secrets lists what messages must not hold: keys always, and the provider's
// other settings where they were written as references.
func (e *entry) secrets() []string {
	var secrets []string
	for _, key := range e.kind.private {
		text, ok := e.declared.Params[key].(spicepod.Text)
		if !ok || !text.Secret() && !strings.HasSuffix(key, "_api_key") {
			continue
		}
		secrets = append(secrets, strings.TrimSpace(text.Reveal()))
		if u, err := url.Parse(secrets[len(secrets)-1]); key == "endpoint" && err == nil {
			secrets = append(secrets, u.Host, u.Hostname())
			secrets = append(secrets, slices.Concat(slices.Collect(maps.Values(u.Query()))...)...)
		}
	}
	slices.Sort(secrets)
	return slices.DeleteFunc(slices.Compact(secrets), func(s string) bool { return s == "" })
}
