package sqlapi

import (
	"fmt"
	"maps"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/kit/nearest"
	"github.com/spiced-sql/spiced/internal/kit/schema"
	"github.com/spiced-sql/spiced/internal/kit/truncate"
)

// param is a parameter in the path, the query or a header.
type param struct {
	name, in, about string
	schema          schema.Schema
}

// formatParam chooses the form of a list.
var formatParam = param{"format", "query", "json, which is the default, or csv", oneOf("json", "csv")}

// checkParams refuses parameters of the query that do not fit their schemas, so that
// handlers read them without errors, and headers with another value than theirs. A route
// with parameters refuses others, which are likely misspelled; that of GET /v1/models does
// not, since it also answers the clients of other APIs, whose lists have more parameters.
func checkParams(rt route) func(*http.Request) error {
	var query, headers []param
	for _, p := range rt.params {
		switch {
		case p.in == "query":
			query = append(query, p)
		case p.in == "header" && p.schema["enum"] != nil:
			headers = append(headers, p)
		}
	}
	return func(r *http.Request) error {
		for _, p := range headers {
			var values []string
			for _, value := range r.Header.Values(p.name) {
				values = append(values, strings.ToLower(strings.TrimSpace(value)))
			}
			if err := p.check(values); err != nil {
				return err
			}
		}
		if r.URL.RawQuery == "" {
			return nil
		}
		q, err := url.ParseQuery(r.URL.RawQuery)
		if err != nil {
			return newError(errcode.InvalidRequest, "write & between parameters, and % as %25",
				"the query cannot be read: %v", err)
		}
		for _, p := range query {
			if err := p.check(q[p.name]); err != nil {
				return err
			}
		}
		if len(query) > 0 && !strings.HasPrefix(rt.path, pathModels) {
			return unknownParam(q, query)
		}
		return nil
	}
}

// unknownParam returns an error for the first parameter that is unknown.
func unknownParam(q url.Values, known []param) error {
	names := make([]string, len(known))
	for i, p := range known {
		names[i] = p.name
	}
	for _, name := range slices.Sorted(maps.Keys(q)) {
		if !slices.Contains(names, name) {
			return newError(errcode.InvalidRequest, nearest.Hint(name, names, "use "+orList(names)), "there is no parameter %q",
				truncate.Ellipsis(name, maxShown))
		}
	}
	return nil
}

// check returns what is wrong with the values of a parameter, or nil.
func (p param) check(values []string) error {
	s := p.schema
	if items, ok := s["items"].(schema.Schema); ok {
		s = items
	} else if len(values) > 1 {
		return newError(errcode.InvalidRequest, "give it once", "the parameter %s is there %d times", p.name, len(values))
	}
	for _, value := range values {
		if wanted := mismatch(value, s); wanted != "" {
			return newError(errcode.InvalidRequest, "use "+wanted, "the parameter %s is %q", p.name,
				truncate.Ellipsis(value, maxShown))
		}
	}
	return nil
}

// mismatch returns what a value should be by its schema, or "" if it is that.
func mismatch(value string, s schema.Schema) string {
	switch s["type"] {
	case "integer":
		n, err := strconv.ParseInt(value, 10, 32)
		return outside(float64(n), err, s, "a whole number")
	case "number":
		n, err := strconv.ParseFloat(value, 64)
		return outside(n, err, s, "a number")
	}
	switch choices := s["enum"].(type) {
	case []string:
		if !slices.Contains(choices, value) {
			return orList(choices)
		}
	case []any: // boolean
		if _, ok := parseFlag(value); !ok {
			return "true or false"
		}
	}
	return ""
}

// outside is [mismatch] for a number n, which is what.
func outside(n float64, err error, s schema.Schema, what string) string {
	least, hasLeast := s["minimum"].(int)
	most, hasMost := s["maximum"].(int)
	if hasLeast {
		what += fmt.Sprintf(" from %d", least)
	}
	if hasMost && most < math.MaxInt32 {
		what += fmt.Sprintf(" to %d", most)
	}
	if err != nil || math.IsNaN(n) || hasLeast && n < float64(least) || hasMost && n > float64(most) {
		return what
	}
	return ""
}

// orList is "a, b or c".
func orList(words []string) string {
	last := len(words) - 1
	if last == 0 {
		return words[0]
	}
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// flag is a parameter of the query that is true or false, false if it is left out. Its value
// was checked before.
func flag(r *http.Request, name string) bool {
	q := r.URL.Query()
	on, _ := parseFlag(q.Get(name))
	return on && q.Has(name)
}

// parseFlag parses the value of a parameter that is true or false: without a value, as in
// ?explain, it is true.
func parseFlag(value string) (on, ok bool) {
	switch value {
	case "", "true", "1":
		return true, true
	case "false", "0":
		return false, true
	}
	return false, false
}
