package registry

import (
	"cmp"
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strings"
	"unicode"

	"github.com/spiced-sql/spiced/tools"
)

// NextTool is a tool that takes something that a result has.
type NextTool struct {
	ToolID string            `json:"tool_id"`
	Takes  map[string]string `json:"takes" doc:"Its arguments that the result has, each with the field of the result."`
}

// Limits of hints.
const (
	maxNext       = 3   // tools in a result
	maxTakers     = 500 // tools that take an argument: more say nothing
	maxFields     = 200 // of a schema of results
	maxFieldDepth = 3   // objects in objects, and in lists
)

// takers are the tools of a catalog by the arguments that they take, to find those that can go
// on with a result. A field fits an argument of the same name and type: customer_id is
// customerId, and one of customer_ids. It is read from the schemas alone, without a comparison
// of all tools with each other: the fields of a result are looked up one by one.
//
// A name that many tools take connects everything with everything. So names that say nothing
// of what they are (common) do not count, nor do those that more than half of the tools
// take, and rare names count more than frequent ones.
type takers struct {
	tools  int
	byName map[string][]taker
}

// taker is an argument of a tool.
type taker struct {
	entry    *entry
	argument string
	field    field
	required int // required arguments of the tool
}

// field is a field of a result, or an argument: its type is that of a value or, with many, of
// the values of a list.
type field struct {
	path, kind, format string
	many, required     bool
}

// fits reports whether a value of the field can be passed for the argument.
func (f field) fits(argument field) bool {
	if f.many && !argument.many {
		return false
	}
	return (f.kind == argument.kind || f.kind == "integer" && argument.kind == "number") &&
		(f.format == argument.format || f.format == "" || argument.format == "")
}

// common are names of fields and arguments that do not say what their values are, as plainName
// writes them.
var common = setOf(
	"id", "ids", "name", "names", "key", "uuid", "guid", "code", "type", "kind", "value", "values", "data",
	"text", "title", "description", "content", "body", "message", "query", "q", "sql", "filter", "sort", "order",
	"orderby", "limit", "offset", "page", "pagesize", "perpage", "cursor", "nextcursor", "count", "total",
	"size", "number", "n", "status", "state", "date", "time", "timestamp", "createdat", "updatedat", "start",
	"end", "from", "to", "format", "lang", "language", "locale", "url", "link", "path", "result", "results",
	"items", "rows", "input", "output", "mode", "options", "params", "level", "index", "position", "version",
	"tags", "label", "labels", "unit", "units", "note", "x", "y",
)

func setOf(names ...string) map[string]bool {
	set := make(map[string]bool, len(names))
	for _, name := range names {
		set[name] = true
	}
	return set
}

// plainName is a name in lower case, with letters and digits only.
func plainName(name string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, name)
}

// singular is the name of one of what a plain name is several of.
func singular(name string) string {
	if one, ok := strings.CutSuffix(name, "s"); ok && !strings.HasSuffix(one, "s") {
		return one
	}
	return name
}

// shape is what is read of a schema.
type shape struct {
	Type       json.RawMessage            `json:"type"`
	Format     string                     `json:"format"`
	Properties map[string]json.RawMessage `json:"properties"`
	Required   []string                   `json:"required"`
	Items      json.RawMessage            `json:"items"`
	AnyOf      []json.RawMessage          `json:"anyOf"`
	OneOf      []json.RawMessage          `json:"oneOf"`
}

// parseShape parses a schema. Its type is the first that it names: a number that may be text,
// as large ones are, is a number. Of alternatives the first that has a type counts: the result of a
// table function comes before its form for a result that is too large.
func parseShape(raw json.RawMessage) (s shape, kind string) {
	if json.Unmarshal(raw, &s) != nil {
		return shape{}, ""
	}
	if json.Unmarshal(s.Type, &kind) == nil {
		return s, kind
	}
	var kinds []string
	if json.Unmarshal(s.Type, &kinds) == nil {
		if i := slices.IndexFunc(kinds, func(k string) bool { return k != "null" }); i >= 0 {
			return s, kinds[i]
		}
	}
	for _, branch := range slices.Concat(s.AnyOf, s.OneOf) {
		var typed struct{ Type json.RawMessage }
		if json.Unmarshal(branch, &typed) == nil && len(typed.Type) > 0 && string(typed.Type) != `"null"` {
			return parseShape(branch)
		}
	}
	return s, ""
}

// links reports whether fields of the type can connect tools: not a flag, which fits every
// other flag.
func links(kind string) bool { return kind == "string" || kind == "integer" || kind == "number" }

// newTakers reads the arguments of the tools.
func newTakers(entries []*entry) *takers {
	t := &takers{tools: len(entries), byName: map[string][]taker{}}
	for _, e := range entries {
		s, _ := parseShape(e.def.Parameters)
		for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
			of, kind := parseShape(s.Properties[name])
			f := field{path: name, kind: kind, format: of.Format, required: slices.Contains(s.Required, name)}
			plain := plainName(name)
			if kind == "array" {
				item, kind := parseShape(of.Items)
				f.kind, f.format, f.many, plain = kind, item.Format, true, singular(plain)
			}
			if links(f.kind) && plain != "" && !common[plain] {
				t.byName[plain] = append(t.byName[plain], taker{e, name, f, len(s.Required)})
			}
		}
	}
	most := min(max(t.tools/2, maxNext+1), maxTakers)
	maps.DeleteFunc(t.byName, func(_ string, list []taker) bool { return len(list) > most })
	return t
}

// fieldsOf returns the fields of results by plain name, the first of a name. The id in
// {"customer": {"id": 1}} and in {"customers": [{"id": 1}]} is customerid, too.
func fieldsOf(returns json.RawMessage) map[string]field {
	fields := map[string]field{}
	var read func(raw json.RawMessage, path, within string, many bool, depth int)
	read = func(raw json.RawMessage, path, within string, many bool, depth int) {
		s, kind := parseShape(raw)
		switch {
		case kind == "array":
			read(s.Items, path, singular(within), true, depth)
		case len(s.Properties) > 0 && depth < maxFieldDepth:
			for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
				inner := name
				if path != "" {
					inner = path + "." + name
				}
				read(s.Properties[name], inner, plainName(name), false, depth+1)
				if within != "" && common[plainName(name)] {
					read(s.Properties[name], inner, within+plainName(name), false, maxFieldDepth)
				}
			}
		case links(kind) && within != "" && len(fields) < maxFields:
			if _, known := fields[within]; !known {
				fields[within] = field{path: path, kind: kind, format: s.Format, many: many && depth > 0}
			}
		}
	}
	read(returns, "", "", false, 0)
	return fields
}

// candidate is a tool that can go on with a result.
type candidate struct {
	entry   *entry
	takes   map[string]string
	score   float64
	missing int // required arguments that the result does not have
}

// destroys is 1 of a destructive tool: each of an MCP server that does not say otherwise.
func (c *candidate) destroys() int {
	if c.entry.def.Annotations.Destructive {
		return 1
	}
	return 0
}

// next returns the tools that take what the tool returns, best first: those that destroy
// nothing, then those that get more of what they require, and rarer names. May says which may
// be shown.
func (t *takers) next(of *entry, may func(*entry) bool) []NextTool {
	found := map[*entry]*candidate{}
	fields := fieldsOf(of.def.Returns)
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		list := t.byName[name]
		for _, x := range list {
			if x.entry == of || !fields[name].fits(x.field) {
				continue
			}
			c := found[x.entry]
			if c == nil {
				c = &candidate{entry: x.entry, takes: map[string]string{}, missing: x.required}
				found[x.entry] = c
			}
			c.takes[x.argument] = fields[name].path
			weight := math.Log(1 + float64(t.tools)/float64(len(list)))
			if x.field.required {
				c.missing--
				weight *= 2
			}
			c.score += weight
		}
	}
	order := slices.SortedFunc(maps.Values(found), func(a, b *candidate) int {
		return cmp.Or(a.destroys()-b.destroys(), cmp.Compare(b.score/float64(1+b.missing), a.score/float64(1+a.missing)),
			strings.Compare(a.entry.def.Name, b.entry.def.Name))
	})
	var next []NextTool
	for _, c := range order {
		if len(next) == maxNext {
			break
		}
		if may(c.entry) {
			next = append(next, NextTool{c.entry.def.Name, c.takes})
		}
	}
	return next
}

// nextTools returns the tools that can go on with the result of a call, of those that the
// scope may call; nil if the Spicepod does not ask for hints, or the result is empty.
func (c *Catalog) nextTools(name string, result json.RawMessage, scope tools.Scope) []NextTool {
	e := c.get(name)
	if !c.NextTools || e == nil || len(e.def.Returns) == 0 || slices.Contains(emptyResults, string(result)) {
		return nil
	}
	return c.takers().next(e, func(x *entry) bool {
		name := x.def.Name
		return (scope.Visible == nil || scope.Visible(name)) && scope.MayCall(name) && c.sees(x, scope) &&
			x.unavailable(scope) == ""
	})
}

// emptyResults are results that no tool can go on with.
var emptyResults = []string{"", "null", "[]", "{}"}
