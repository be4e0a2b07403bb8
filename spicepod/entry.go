package spicepod

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/spiced-sql/spiced/internal/kit/nearest"
)

// Entry is one entry of a section while its owner opens it. What is wrong with
// a param stays in Problems and its reader returns all the same, so that the
// params can be read in one go before Fault is asked. Paths are below the
// entry: ".from"; "" is all of it.
type Entry struct {
	Pod       *Pod
	Path      string // of the entry: models[0]
	Component string // of every [Problem]: model m
	Params    Params
	Problems  Problems
}

// Problem is about the value at a path. It is not kept.
func (e *Entry) Problem(path, hint, format string, args ...any) *Problem {
	p := e.Pod.Problem(e.Path+path, fmt.Sprintf(format, args...), hint)
	p.Component = e.Component
	return &p
}

// Remark is Problem as a Warning: the entry is served all the same.
func (e *Entry) Remark(path, hint, message string) Problem {
	p := e.Problem(path, hint, "%s", message)
	p.Severity = Warning
	return *p
}

// Fail keeps a Problem.
func (e *Entry) Fail(path, hint, format string, args ...any) {
	e.Problems = append(e.Problems, *e.Problem(path, hint, format, args...))
}

// FailParam is Fail for the value of a param.
func (e *Entry) FailParam(key, hint, format string, args ...any) {
	e.Fail(ParamPath(key), hint, format, args...)
}

// Fault is the first of Problems that is more than a Warning, or nil.
func (e *Entry) Fault() *Problem {
	if i := slices.IndexFunc(e.Problems, func(p Problem) bool { return p.Severity == Error }); i >= 0 {
		return &e.Problems[i]
	}
	return nil
}

// ParamPath is the path of a param; a key that is not a plain word is written
// as Pod.At wants it.
func ParamPath(key string) string {
	return string(segment{key: key}.appendTo([]byte(".params")))
}

// Known refuses every param that is none of names, in the order of the keys;
// owner is "a model from openai".
func (e *Entry) Known(owner string, names []string) {
	for _, key := range slices.Sorted(maps.Keys(e.Params)) {
		if slices.Contains(names, key) {
			continue
		}
		hint := "known here: " + strings.Join(names, ", ")
		if near := nearest.Name(key, names); near != "" {
			hint = fmt.Sprintf("did you mean %q? %s", near, hint)
		}
		p := e.Pod.KeyProblem(e.Path+ParamPath(key), fmt.Sprintf("unknown param %q of %s", key, owner), hint)
		p.Component = e.Component
		e.Problems = append(e.Problems, p)
	}
}

// Text reads a scalar without the space around it, "" when it is absent: keys
// often come from files that end in a line break.
func (e *Entry) Text(key string) string {
	text, err := e.Params.String(key)
	if err != nil {
		e.FailParam(key, "", "%s", err)
	}
	return strings.TrimSpace(text)
}

// Header is Text for the value of an HTTP header: printable ASCII.
func (e *Entry) Header(key string) string {
	text := e.Text(key)
	if strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' }) {
		e.FailParam(key, "", "params.%s holds a character that no header may hold", key)
	}
	return text
}

// Number reads a whole number from least to most. The fallback may lie outside.
func (e *Entry) Number(key string, fallback, least, most int) int {
	n, err := e.Params.Int(key, fallback)
	if err != nil {
		e.FailParam(key, "", "%s", err)
	} else if e.Params.Has(key) && (n < least || n > most) {
		e.FailParam(key, "", "params.%s takes %d to %d", key, least, most)
	}
	return n
}

// Duration reads a length of time above 0 and up to most. The fallback may lie
// outside.
func (e *Entry) Duration(key string, fallback, most time.Duration) time.Duration {
	d, err := e.Params.Duration(key, fallback)
	if err != nil {
		e.FailParam(key, "", "%s", err)
	} else if e.Params.Has(key) && (d <= 0 || d > most) {
		e.FailParam(key, "", "params.%s takes more than 0 and at most %s", key, most)
	}
	return d
}

// Secrets lists what messages must not hold, sorted: the texts of keys that end
// in _api_key, and of the others those that were written as references; of
// params.endpoint its host and the values of its query too.
func (e *Entry) Secrets(keys []string) []string {
	var secrets []string
	for _, key := range keys {
		text, _ := e.Params[key].(Text)
		if !text.Secret() && !strings.HasSuffix(key, "_api_key") {
			continue
		}
		secret, _ := e.Params.String(key) // what is no scalar is refused by Text
		secrets = append(secrets, strings.TrimSpace(secret))
		if u, err := url.Parse(strings.TrimSpace(secret)); key == "endpoint" && err == nil {
			secrets = append(secrets, u.Host, u.Hostname())
			secrets = append(secrets, slices.Concat(slices.Collect(maps.Values(u.Query()))...)...)
		}
	}
	slices.Sort(secrets)
	return slices.DeleteFunc(slices.Compact(secrets), func(s string) bool { return s == "" })
}
