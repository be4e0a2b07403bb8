package sqlapi

import (
	"net/http"
	"slices"
	"strings"

	"github.com/spiced-sql/spiced/internal/kit/nearest"
)

// unmatched answers what no route does: with the methods the path has, or with
// the nearest path.
func (a *API) unmatched(_ http.ResponseWriter, r *http.Request) error {
	if allow := a.methods(r); len(allow) > 0 {
		e := newError(codeMethod, "use "+strings.Join(allow, " or "), "%s has no %s", r.URL.Path, r.Method)
		e.allow = strings.Join(allow, ", ")
		return e
	}
	paths := make([]string, len(a.routes))
	for i, rt := range a.routes {
		paths[i] = rt.path
	}
	hint := "GET /v1/openapi.json lists the routes"
	if i := slices.Index(paths, nearest.Name(r.URL.Path, paths)); i >= 0 {
		hint = "did you mean " + a.routes[i].method + " " + paths[i] + "?"
	}
	return newError(codeNoRoute, hint, "there is no route %s", r.URL.Path)
}

// methods are those that the request's path would have been served with.
func (a *API) methods(r *http.Request) []string {
	var served []route
	for _, rt := range a.routes {
		probe := &http.Request{Method: rt.method, URL: r.URL, Host: r.Host}
		if _, pattern := a.mux.Handler(probe); pattern == rt.pattern() && strings.HasSuffix(r.URL.Path, rt.verb) {
			served = append(served, rt)
		}
	}
	var allow []string
	withVerb := slices.ContainsFunc(served, func(rt route) bool { return rt.verb != "" }) // others take it for a name
	for _, rt := range served {
		if (rt.verb != "") == withVerb && !slices.Contains(allow, rt.method) {
			allow = append(allow, rt.method)
		}
	}
	if slices.Contains(allow, http.MethodGet) {
		allow = append(allow, http.MethodHead)
	}
	slices.Sort(allow)
	return allow
}
