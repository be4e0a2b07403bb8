package sqlapi

import (
	"cmp"
	"maps"
	"net/http"
	"slices"

	"github.com/spiced-sql/spiced/internal/kit/schema"
)

// route is a route and all that is said about it.
type route struct {
	method, path string
	// match is the path in the form of ServeMux, where it cannot have path's
	// own: a name of several segments, a verb behind it.
	match string
	// verb is the end of path that match leaves out. Of routes with the same
	// match, the one without a verb stands last.
	verb      string
	id        string // OpenAPI's operationId
	tag       string
	summary   string // a line
	about     string // more, in Markdown
	params    []param
	body      []content // the media types that are read; none: no body
	answers   []answer
	failures  failures      // besides those every route has
	failed    schema.Schema // of an error; nil: Error
	is        traits
	waits     func(*http.Request) bool               // a request is free, too, for which it is true; nil: none
	errorBody func(*http.Request, *requestError) any // what an error is sent as; nil: as it is
	handle    handler
}

// traits are what is special about a route.
type traits uint8

const (
	bodyOptional traits = 1 << iota
	plainErrors         // errors are text unless the client accepts JSON
	scoped              // headers say for whom the request is made: see callerOf
	public              // no key is needed
	writes              // a key that may write is needed
	free                // the limits of a principal do not count it: it waits, or cancels what runs
	textErrors          // some errors are text
	quiet               // probed all the time: a 503 is not a warning
)

func (t traits) has(one traits) bool { return t&one != 0 }

// allParams are the route's parameters with those of scopes.
func (rt route) allParams() []param {
	if !rt.is.has(scoped) {
		return rt.params
	}
	return append(slices.Clone(rt.params), scopeParams...)
}

// pattern is the route's pattern in ServeMux.
func (rt route) pattern() string { return rt.method + " " + rt.pathPattern() }

// pathPattern is the pattern without the method.
func (rt route) pathPattern() string { return cmp.Or(rt.match, rt.path) }

// content is a body in one media type.
type content struct {
	media   string
	schema  schema.Schema // nil: bytes or text of that type
	example string
}

// answer is a status with what comes with it.
type answer struct {
	status int
	about  string
	body   []content
}

func asJSON(s schema.Schema, example string) []content {
	return []content{{"application/json", s, example}}
}

func asList(item schema.Schema, example string) []content {
	return append(asJSON(listOf(item), example), content{"text/csv", nil, ""})
}

func asText(example string) []content { return []content{{"text/plain", nil, example}} }

// failures are what an error means, by its status.
type failures map[int]string

// bodyFailures are those of a route that reads a body, with more of its own.
func bodyFailures(own failures) failures {
	all := failures{
		http.StatusRequestTimeout:        "The body took too long to arrive.",
		http.StatusRequestEntityTooLarge: "The body is over its limit.",
		http.StatusUnsupportedMediaType:  "The body is compressed.",
	}
	maps.Copy(all, own)
	return all
}

// ownAnswers are the answers and failures of the route, by their status.
func (rt route) ownAnswers() []answer {
	return rt.withFailures(rt.answers, rt.failures)
}

// allAnswers are also those that any route like this one has.
func (rt route) allAnswers() []answer {
	common := failures{
		http.StatusForbidden:           "The request comes from another site's page, or its key does not permit it.",
		http.StatusInternalServerError: "An internal error of the runtime.",
	}
	if !rt.is.has(public) {
		common[http.StatusUnauthorized] = "A key is needed, or is not known."
		common[http.StatusTooManyRequests] = "The key's limits are reached; see Retry-After."
	}
	return rt.withFailures(rt.ownAnswers(), common)
}

// withFailures adds the failures whose status is not in the list.
func (rt route) withFailures(list []answer, add failures) []answer {
	list = slices.Clone(list)
	for status, about := range add {
		if slices.ContainsFunc(list, func(a answer) bool { return a.status == status }) {
			continue
		}
		failed := rt.failed
		if failed == nil {
			failed = ref("Error")
		}
		body := asJSON(failed, "")
		if rt.is.has(plainErrors) || rt.is.has(textErrors) {
			body = append(asText(""), body...)
		}
		list = append(list, answer{status, about, body})
	}
	slices.SortStableFunc(list, func(x, y answer) int { return x.status - y.status })
	return list
}
