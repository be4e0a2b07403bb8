package githubtest

import (
	"fmt"
	"maps"
	"regexp"
	"strconv"
	"strings"
)

// field is a field that a query selects, or a fragment of a type.
type field struct {
	key, name string
	args      string
	on        string // type of the fragment
	fields    []field
}

var token = regexp.MustCompile(`\.\.\.|[{}]|\([^)]*\)|[A-Za-z_]\w*|:`)

// evaluate answers a query from data: maps, and lists for connections. A field that the
// data does not have is an error, as one that a schema does not have.
func evaluate(text string, variables, data map[string]any) (map[string]any, error) {
	tokens := token.FindAllString(text, -1)
	if len(tokens) < 3 || tokens[0] != "query" || tokens[2] != "{" {
		return nil, fmt.Errorf("parse error on %q", text)
	}
	fields, rest, err := parse(tokens[3:])
	if err != nil || len(rest) > 0 {
		return nil, fmt.Errorf("parse error on %q: %w", rest, err)
	}
	return query{variables}.object(data, fields)
}

// parse reads fields up to the closing brace.
func parse(tokens []string) (fields []field, rest []string, err error) {
	for len(tokens) > 0 {
		if tokens[0] == "}" {
			return fields, tokens[1:], nil
		}
		var f field
		switch {
		case tokens[0] == "..." && len(tokens) > 3 && tokens[1] == "on":
			f.on, tokens = tokens[2], tokens[3:]
		case len(tokens) > 2 && tokens[1] == ":":
			f.key, f.name, tokens = tokens[0], tokens[2], tokens[3:]
		default:
			f.key, f.name, tokens = tokens[0], tokens[0], tokens[1:]
		}
		if len(tokens) > 0 && tokens[0][0] == '(' {
			f.args, tokens = tokens[0], tokens[1:]
		}
		if len(tokens) > 0 && tokens[0] == "{" {
			if f.fields, tokens, err = parse(tokens[1:]); err != nil {
				return nil, nil, err
			}
		}
		fields = append(fields, f)
	}
	return nil, nil, fmt.Errorf("a brace is not closed")
}

// query is a query that is answered.
type query struct{ variables map[string]any }

// object returns fields of an object.
func (q query) object(o map[string]any, fields []field) (map[string]any, error) {
	out := map[string]any{}
	for _, f := range fields {
		if f.on != "" {
			part, err := q.object(o, f.fields)
			if err != nil {
				return nil, err
			}
			maps.Copy(out, part)
			continue
		}
		value, ok := o[f.name]
		if !ok {
			return nil, fmt.Errorf("no field %q", f.name)
		}
		var err error
		switch v := value.(type) {
		case map[string]any:
			value, err = q.object(v, f.fields)
		case []any:
			value, err = q.connection(v, f)
		default:
			if f.fields != nil && v != nil {
				err = fmt.Errorf("selections can't be made on scalars (field %q)", f.name)
			}
		}
		if err != nil {
			return nil, err
		}
		out[f.key] = value
	}
	return out, nil
}

var (
	firstArg = regexp.MustCompile(`\b(first|last): *(\$?\w+)`)
	afterArg = regexp.MustCompile(`\bafter: *\$(\w+)`)
)

// connection returns a page of a list. The cursor of an element is its number.
func (q query) connection(list []any, f field) (map[string]any, error) {
	from, n := 0, len(list)
	if m := afterArg.FindStringSubmatch(f.args); m != nil {
		if cursor, ok := q.variables[m[1]].(string); ok {
			from, _ = strconv.Atoi(strings.TrimPrefix(cursor, "cursor:"))
		}
	}
	if m := firstArg.FindStringSubmatch(f.args); m != nil {
		n, _ = strconv.Atoi(m[2])
		if size, ok := q.variables[strings.TrimPrefix(m[2], "$")].(float64); ok {
			n = int(size)
		}
		if n < 1 || n > 100 {
			return nil, fmt.Errorf("requesting %d records on the connection exceeds the limit of 100 records", n)
		}
		if m[1] == "last" {
			from = max(0, len(list)-n)
		}
	}
	end := min(from+n, len(list))
	out := map[string]any{}
	for _, sub := range f.fields {
		switch sub.name {
		case "totalCount":
			out[sub.key] = len(list)
		case "pageInfo":
			out[sub.key] = map[string]any{"hasNextPage": end < len(list), "endCursor": fmt.Sprint("cursor:", end)}
		case "nodes", "edges":
			elements := []any{}
			for _, e := range list[from:end] {
				element, err := q.object(e.(map[string]any), sub.fields)
				if err != nil {
					return nil, err
				}
				elements = append(elements, element)
			}
			out[sub.key] = elements
		default:
			return nil, fmt.Errorf("no field %q of a connection", sub.name)
		}
	}
	return out, nil
}
