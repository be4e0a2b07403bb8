package engine

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spiced-sql/spiced/internal/kit/errcode"
	"github.com/spiced-sql/spiced/internal/sql/sqltree"
)

// The rows of some relations are fetched when a statement asks for them: its conditions on
// the columns of a request, such as request_path = '/users/7', are the request. They are
// found in the parse tree, also through views and functions, before the statement runs.

// RequestColumns are the columns whose values are a request.
var RequestColumns = []string{"request_path", "request_query", "request_body"}

// maxRequests is the most requests of a statement.
const maxRequests = 50

// Ask is what reading a relation or calling a function asks a relation for.
type Ask struct {
	Relation Relation // whose rows are fetched
	// Cases are the conditions, as those of [sqltree.Relation], on [RequestColumns]; nil: the
	// conditions are those of whoever reads the relation.
	Cases [][]sqltree.Equality
}

// Asked are the requests of a statement for a relation, each with values by the names in
// [RequestColumns]. A column that a request does not have may have any value.
type Asked struct {
	Relation Relation
	Requests []map[string]string
}

// Reading is what a statement needs before it can run.
type Reading struct {
	Relations []Relation // that it names
	Asked     []Asked
	Again     bool // it has waited for these: what has come since is new enough
}

// waits are the relations that a statement names, if some may have to be opened, and what
// it asks for.
type waits struct {
	names []Relation
	asks  []Ask
}

func (c *Catalog) waits(st *sqltree.Statement) waits {
	names, _ := c.named(st)
	return waits{names, c.asks(st)}
}

// requestCases returns the conditions on [RequestColumns], nil if there are none.
func requestCases(cases [][]sqltree.Equality) (some [][]sqltree.Equality) {
	for _, all := range cases {
		var on []sqltree.Equality
		for _, e := range all {
			if slices.Contains(RequestColumns, sqltree.Fold(e.Column)) {
				on = append(on, e)
			}
		}
		if len(on) > 0 {
			some = append(some, on)
		}
	}
	return some
}

// Asks returns what a statement, the query of a view or a body asks for. relation returns
// the asks of a relation, and function those of a function with its arguments.
func Asks(st *sqltree.Statement, relation func(sqltree.Relation) []Ask,
	function func(sqltree.Call) ([]Ask, []FunctionArg),
) (asks []Ask) {
	for _, r := range st.Relations {
		for _, a := range relation(r) {
			if a.Cases == nil {
				a.Cases = requestCases(r.Cases)
			}
			asks = append(asks, a)
		}
	}
	for _, c := range st.Calls {
		of, args := function(c)
		for _, a := range of {
			if a.Cases != nil {
				a.Cases = substitute(a.Cases, func(parts []string) (sqltree.Constant, bool) { return argument(c, args, parts) })
				asks = append(asks, a)
			}
		}
	}
	return asks
}

// argument returns the constant that a call has for the argument that a body names.
func argument(c sqltree.Call, args []FunctionArg, parts []string) (v sqltree.Constant, ok bool) {
	name := sqltree.Fold(parts[len(parts)-1])
	for i, a := range c.Args {
		at := i
		if a.Name != "" {
			at = slices.IndexFunc(args, func(d FunctionArg) bool { return sqltree.Fold(d.Name) == sqltree.Fold(a.Name) })
		}
		if at >= 0 && at < len(args) && sqltree.Fold(args[at].Name) == name && a.Constant != nil {
			return *a.Constant, true
		}
	}
	return v, false
}

// substitute replaces the names in conditions. A condition with a name that has no constant
// is left out.
func substitute(cases [][]sqltree.Equality,
	constant func(parts []string) (sqltree.Constant, bool),
) [][]sqltree.Equality {
	var replace func(v sqltree.Constant) (sqltree.Constant, bool)
	replace = func(v sqltree.Constant) (sqltree.Constant, bool) {
		if v.Kind == sqltree.ColumnRef {
			return constant(v.Parts)
		}
		v.Joined = slices.Clone(v.Joined)
		for i, part := range v.Joined {
			piece, ok := replace(part)
			if !ok {
				return v, false
			}
			v.Joined[i] = piece
		}
		return v, true
	}
	out := make([][]sqltree.Equality, 0, len(cases))
	for _, all := range cases {
		var known []sqltree.Equality
		for _, e := range all {
			values, ok := make([]sqltree.Constant, len(e.Values)), true
			for i, v := range e.Values {
				var found bool
				values[i], found = replace(v)
				ok = ok && found
			}
			if e.Values = values; ok {
				known = append(known, e)
			}
		}
		if len(known) > 0 {
			out = append(out, known)
		}
	}
	return out
}

// asks returns what a statement asks for.
func (c *Catalog) asks(st *sqltree.Statement) []Ask {
	if len(c.contents.Asks) == 0 {
		return nil
	}
	return Asks(st, func(r sqltree.Relation) []Ask {
		relation, _ := c.Relation(r.Catalog, r.Schema, r.Name)
		return c.contents.Asks[relation]
	}, func(call sqltree.Call) ([]Ask, []FunctionArg) {
		if f := declared(call, c); f != nil {
			return f.Asks, f.Args
		}
		return nil, nil
	})
}

// AskedOf returns the requests of a statement with the values of its parameters.
func AskedOf(asks []Ask, p *Params) (all []Asked, err error) {
	for _, ask := range asks {
		asked := Asked{Relation: ask.Relation}
		for _, c := range ask.Cases {
			requests, err := requestsOf(c, p)
			if err != nil {
				return nil, err
			}
			if asked.Requests = append(asked.Requests, requests...); len(asked.Requests) > maxRequests {
				return nil, NewError(errcode.Limit, "ask for fewer at once", "the statement asks for more than %d requests of %q",
					maxRequests, ask.Relation.Name)
			}
		}
		if len(asked.Requests) > 0 {
			all = append(all, asked)
		}
	}
	return all, nil
}

// requestsOf returns the requests that meet all of some conditions.
func requestsOf(conditions []sqltree.Equality, p *Params) ([]map[string]string, error) {
	values := map[string][]string{}
	for _, e := range conditions {
		column := sqltree.Fold(e.Column)
		var texts []string
		for _, v := range e.Values {
			if text, ok := textOf(v, p); ok {
				texts = append(texts, text)
			}
		}
		if before, ok := values[column]; ok {
			texts = slices.DeleteFunc(texts, func(t string) bool { return !slices.Contains(before, t) })
		}
		values[column] = texts
	}
	requests := []map[string]string{{}}
	for _, column := range RequestColumns {
		texts, ok := values[column]
		if !ok {
			continue
		}
		var next []map[string]string
		for _, r := range requests {
			for _, text := range texts {
				one := map[string]string{column: text}
				for name, value := range r {
					one[name] = value
				}
				next = append(next, one)
			}
		}
		if requests = next; len(requests) > maxRequests {
			return nil, NewError(errcode.Limit, "ask for fewer at once", "the statement asks for more than %d requests",
				maxRequests)
		}
	}
	return requests, nil
}

// textOf returns a constant as text; false if it has none, such as NULL.
func textOf(v sqltree.Constant, p *Params) (string, bool) {
	switch {
	case len(v.Joined) > 0:
		var b strings.Builder
		for _, part := range v.Joined {
			text, ok := textOf(part, p)
			if !ok {
				return "", false
			}
			b.WriteString(text)
		}
		return b.String(), true
	case v.Kind == sqltree.StringLiteral, v.Kind == sqltree.IntegerLiteral:
		return v.Text, true
	case v.Kind != sqltree.Parameter:
		return "", false
	}
	given, ok := p.Named[v.Text]
	if n, err := strconv.Atoi(v.Text); !ok && err == nil && n >= 1 && n <= len(p.Positional) {
		given = p.Positional[n-1]
	}
	switch given := given.(type) {
	case string:
		return given, true
	case int, int64, uint64, fmt.Stringer: // of json.Number, too
		return fmt.Sprint(given), true
	}
	return "", false
}
