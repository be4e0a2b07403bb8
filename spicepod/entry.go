package spicepod

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/spiced-sql/spiced/internal/kit/nearest"
)

// Entry is one entry of a section while its owner opens it. A fault of a param
// is added to Problems and its reader returns all the same, so that the params
// can be read in one go before Fault is checked. Paths are below the entry:
// ".from"; "" means the whole entry.
//
//	e := &spicepod.Entry{Pod: pod, Path: "models[0]", Component: "model m", Params: pod.Models[0].Params}
//	e.Known("a model from openai", []spicepod.Param{{Name: "timeout", Type: spicepod.ParamDuration, Doc: "…"}})
//	timeout := e.Duration("timeout", time.Minute, time.Hour)
//	if problem := e.Fault(); problem != nil {
//		return problem
//	}
type Entry struct {
	Pod       *Pod
	Path      string // of the entry: models[0]
	Component string // of every [Problem]: model m
	Params    Params
	Problems  Problems
}

// Problem returns a problem of the value at a path.
func (e *Entry) Problem(path, hint, format string, args ...any) *Problem {
	p := e.Pod.Problem(e.Path+path, fmt.Sprintf(format, args...), hint)
	p.Component = e.Component
	return &p
}

// CheckReferences adds a problem for each reference to a variable that is not set.
func (e *Entry) CheckReferences() {
	for _, u := range e.Pod.Unset(e.Path) {
		p := e.Pod.TextProblem(u.Path, u.Offset, u.Message, u.Hint)
		p.Component = e.Component
		e.Problems = append(e.Problems, p)
	}
}

// Remark is Problem as a Warning: the entry is served all the same.
func (e *Entry) Remark(path, hint, message string) Problem {
	p := e.Problem(path, hint, "%s", message)
	p.Severity = Warning
	return *p
}

// Fail adds a problem.
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

// Known refuses every param that is not declared or does not have its type, in
// the order of the keys; owner is "a model from openai".
func (e *Entry) Known(owner string, params []Param) {
	for _, err := range e.Params.Unknown(owner, ParamNames(params)) {
		e.fail(err)
	}
	for _, p := range params {
		if e.Params.Has(p.Name) {
			_, err := e.Params.Value(p.Name, p.Type)
			e.fail(err)
		}
	}
}

// fail adds the fault of a param, if err is one.
func (e *Entry) fail(err error) {
	var fault *ParamError
	if !errors.As(err, &fault) {
		return
	}
	locate := e.Pod.Problem
	if fault.Unknown {
		locate = e.Pod.KeyProblem
	}
	p := locate(e.Path+ParamPath(fault.Key), fault.Message, fault.Hint)
	p.Component = e.Component
	e.Problems = append(e.Problems, p)
}

// Providers are what `from: provider:id` can name.
type Providers struct {
	Kind     string            // "model", for messages
	Examples []string          // a value of from for each provider that is served
	Others   map[string]string // what to write for providers that are not served
	Hint     string            // for unknown providers, after the examples
}

// Provider splits `from: provider:id`.
func (e *Entry) Provider(from string, known Providers) (name, id string, problem *Problem) {
	name, id, _ = strings.Cut(strings.TrimSpace(from), ":")
	var names []string
	for _, example := range known.Examples {
		served, _, _ := strings.Cut(example, ":")
		if served != strings.ToLower(name) {
			names = append(names, served)
			continue
		}
		if id = strings.TrimSpace(id); id == "" {
			return served, "", e.Problem(".from", "write "+example, "%q names no model", from)
		}
		return served, id, nil
	}
	hint := "write one of " + strings.Join(known.Examples, ", ") + known.Hint
	if other := known.Others[strings.ToLower(name)]; other != "" {
		hint = other
	} else if near := nearest.Name(name, names); near != "" {
		hint = fmt.Sprintf("did you mean %q? %s", near, hint)
	}
	return "", "", e.Problem(".from", hint, "%s provider %q is not served by this build", known.Kind, name)
}

// Endpoint reads params.endpoint, the base URL of a provider whose own is
// fallback, without a slash at the end of its path; key is the param for its
// key, and routes what the path must not end in.
func (e *Entry) Endpoint(fallback, key string, routes ...string) *url.URL {
	text, hint := fallback, "write the base URL, for example "+fallback
	if e.Params.Has("endpoint") {
		text = e.Text("endpoint")
	}
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		e.FailParam("endpoint", hint, "params.endpoint takes an http or https URL")
		return &url.URL{}
	}
	if u.User != nil || u.Fragment != "" {
		e.FailParam("endpoint", hint+"; the key goes to params."+key, "params.endpoint takes a URL without user and fragment")
	}
	u.Path = strings.TrimRight(u.Path, "/")
	for _, route := range routes {
		if strings.HasSuffix(u.Path, route) {
			e.FailParam("endpoint", hint, "params.endpoint is the base URL; leave %s out", route)
		}
	}
	return u
}

// UseKey sets the param for the key of a provider to found, the one in the environment, as Spice
// does, with a remark that names the variable: only if the entry has neither a key nor an endpoint,
// so that the key is sent to the provider alone.
func (e *Entry) UseKey(key string, found Text) {
	if e.Params.Has(key) || e.Params.Has("endpoint") || found.Reveal() == "" {
		return
	}
	params := Params{key: found}
	maps.Copy(params, e.Params)
	e.Params = params
	e.Problems = append(e.Problems, e.Remark(".from", fmt.Sprintf("write %s: ${secrets:%[1]s}", key),
		fmt.Sprintf("params.%s is not set, so the key is that of the environment: SPICE_%[2]s, or %[2]s",
			key, strings.ToUpper(key))))
}

// NeedsKey returns a problem if neither the key of a provider nor another
// endpoint is set.
func (e *Entry) NeedsKey(from, key string) *Problem {
	if e.Fault() != nil || e.Params.Has("endpoint") || e.Text(key) != "" {
		return nil
	}
	p := e.Pod.KeyProblem(e.Path+".params", fmt.Sprintf("%s needs params.%s", from, key),
		fmt.Sprintf("write %s: ${env:%s}, or endpoint: with the base URL of a server that needs no key",
			key, strings.ToUpper(key)))
	p.Component = e.Component
	return &p
}

// Text reads a scalar without the space around it, "" when it is absent: keys
// often come from files that end in a line break.
func (e *Entry) Text(key string) string {
	text, err := e.Params.String(key)
	e.fail(err)
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

// Word reads one of some words; the first is the default.
func (e *Entry) Word(key string, words ...string) string {
	text := strings.ToLower(e.Text(key))
	if text == "" {
		return words[0]
	}
	if slices.Contains(words, text) {
		return text
	}
	e.FailParam(key, nearest.Hint(text, words, ""), "params.%s takes %s, not %q", key, strings.Join(words, " or "),
		fmt.Sprint(e.Params[key]))
	return words[0]
}

// Number reads a whole number from least to most. The fallback may lie outside.
func (e *Entry) Number(key string, fallback, least, most int) int {
	n, err := e.Params.Int(key, fallback)
	e.fail(err)
	if err == nil && e.Params.Has(key) && (n < least || n > most) {
		takes := fmt.Sprintf("%d to %d", least, most)
		if least == most {
			takes = fmt.Sprintf("%d only", least)
		}
		e.FailParam(key, "", "params.%s takes %s", key, takes)
	}
	return n
}

// Size reads a number of bytes from 1 to most; 0 is the default.
func (e *Entry) Size(key string, most Size) Size {
	n, err := valueOr(e.Params, key, ParamSize, Size(0))
	e.fail(err)
	if err == nil && e.Params.Has(key) && (n < 1 || n > most) {
		e.FailParam(key, "", "params.%s takes 1 to %d bytes", key, int64(most))
	}
	return n
}

// Duration reads a length of time above 0 and up to most. The fallback may lie
// outside.
func (e *Entry) Duration(key string, fallback, most time.Duration) time.Duration {
	d, err := e.Params.Duration(key, fallback)
	e.fail(err)
	if err == nil && e.Params.Has(key) && (d <= 0 || d > most) {
		e.FailParam(key, "", "params.%s takes more than 0 and at most %s", key, most)
	}
	return d
}

// Secrets lists the texts that messages must not contain, sorted: of the params that
// are declared as secret the values of keys that end in _api_key and of references,
// and of params.endpoint also the host and the values of the query.
func (e *Entry) Secrets(params []Param) []string {
	var secrets []string
	for _, p := range params {
		text, _ := e.Params[p.Name].(Text)
		if !p.Secret || !text.Secret() && !strings.HasSuffix(p.Name, "_api_key") {
			continue
		}
		secret, _ := e.Params.String(p.Name) // what is no scalar is refused by Known
		secrets = append(secrets, strings.TrimSpace(secret))
		if u, err := url.Parse(strings.TrimSpace(secret)); p.Name == "endpoint" && err == nil {
			secrets = append(secrets, u.Host, u.Hostname())
			secrets = append(secrets, slices.Concat(slices.Collect(maps.Values(u.Query()))...)...)
		}
	}
	slices.Sort(secrets)
	return slices.DeleteFunc(slices.Compact(secrets), func(s string) bool { return s == "" })
}
