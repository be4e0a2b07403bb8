package engine

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/spiced-sql/spiced/internal/sql/sqltree"
)

// conditions are those of a statement on the relations that it names, for what this process
// reads for it: rows that do not meet them change nothing. They compare a column with a
// constant that DuckDB casts to the column's type, so that no row can make them fail.
type conditions struct {
	refs   map[Relation][]sqltree.Relation // by folded names
	whole  map[Relation]bool               // those that are arguments, too
	filter *sqltree.Filter                 // of the only relation; else nil
}

// conditions returns the conditions of a statement.
func (c *Catalog) conditions(st *sqltree.Statement) *conditions {
	out := &conditions{refs: map[Relation][]sqltree.Relation{}, whole: map[Relation]bool{}}
	for _, r := range st.Relations {
		if relation, ok := c.Relation(r.Catalog, r.Schema, r.Name); ok {
			out.refs[folded(relation)] = append(out.refs[folded(relation)], r)
		}
	}
	arguments, _ := c.named(&sqltree.Statement{Calls: st.Calls})
	for _, r := range arguments {
		out.whole[folded(r)] = true
	}
	if len(st.Relations) == 1 {
		out.filter = st.Filter
	}
	return out
}

// where returns a condition that each row of t meets which matters to the statement, or "".
func (c *conditions) where(t *SnapshotTable, dependencies []*Dependency, given *Params) string {
	r := folded(t.Relation)
	refs := c.refs[r]
	through := slices.ContainsFunc(dependencies, func(d *Dependency) bool { // a view or a function reads it
		return slices.ContainsFunc(d.uses, func(u *Dependency) bool { return u.Table == t })
	})
	if through || c.whole[r] || len(refs) == 0 {
		return ""
	}
	var any []string
	for _, ref := range refs {
		text := t.cases(ref, given)
		if text == "" {
			any = nil
			break
		}
		any = append(any, text)
	}
	all := []string{strings.Join(any, " OR ")}
	if c.filter != nil && c.filter.Where != nil {
		all = append(all, t.condition(c.filter.Where))
	}
	all = slices.DeleteFunc(all, func(text string) bool { return text == "" })
	if len(all) == 0 {
		return ""
	}
	return "(" + strings.Join(all, ") AND (") + ")"
}

// cases writes the alternatives of a reference, or "" if one of them has no condition.
func (t *SnapshotTable) cases(ref sqltree.Relation, given *Params) string {
	var any []string
	for _, conditions := range ref.Cases {
		var all []string
		for _, e := range conditions {
			values := slices.Clone(e.Values)
			for i, v := range values {
				values[i] = given.literal(v)
			}
			parts := []string{e.Column}
			if e.Table {
				parts = []string{ref.Alias, e.Column}
				if ref.Alias == "" {
					parts[0] = ref.Name
				}
			}
			if text := t.compare(parts, "IN", values); text != "" {
				all = append(all, text)
			}
		}
		if len(all) == 0 {
			return ""
		}
		any = append(any, "("+strings.Join(all, " AND ")+")")
	}
	return strings.Join(any, " OR ")
}

// condition writes a condition that each row meets that meets c, or "".
func (t *SnapshotTable) condition(c *sqltree.Condition) string {
	if c.Op != "AND" && c.Op != "OR" {
		return t.compare(c.Parts, c.Op, c.Values)
	}
	var parts []string
	for _, of := range c.Of {
		if part := t.condition(of); part != "" {
			parts = append(parts, part)
		} else if c.Op == "OR" {
			return ""
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return "(" + strings.Join(parts, " "+c.Op+" ") + ")"
}

// compare writes the comparison of a column with constants, or "" if it is not sure that
// the name means a column, or the constants are not of its type.
func (t *SnapshotTable) compare(parts []string, op string, values []sqltree.Constant) string {
	var column *Column
	for i, c := range t.Columns {
		switch name := sqltree.Fold(c.Name); {
		case len(parts) == 2 && name == sqltree.Fold(parts[0]): // its field, perhaps
			return ""
		case name == sqltree.Fold(parts[len(parts)-1]):
			column = &t.Columns[i]
		}
	}
	switch {
	case column == nil:
		return ""
	case op == "IS NULL" || op == "IS NOT NULL":
		return Identifier(column.Name) + " " + op
	}
	typ := column.Type.String()
	list, kind := keysOf(sqltree.Equality{Values: values}, typ, func(sqltree.Constant, string) (string, KeyKind) {
		return "", ""
	})
	if !(KeyColumn{Name: column.Name, Type: typ}).takes(kind) {
		return ""
	}
	list = strings.TrimSuffix(strings.TrimPrefix(list, "["), "]")
	if op == "IN" {
		list = "(" + list + ")"
	}
	return Identifier(column.Name) + " " + op + " " + list
}

// literal returns the value of a parameter as a literal, and other constants as they are.
func (p *Params) literal(v sqltree.Constant) sqltree.Constant {
	if v.Kind != sqltree.Parameter || len(v.Joined) > 0 {
		return v
	}
	given, ok := p.Named[v.Text]
	if n, err := strconv.Atoi(v.Text); !ok && err == nil && n >= 1 && n <= len(p.Positional) {
		given = p.Positional[n-1]
	}
	number := func(text string) {
		v.Kind, v.Text = sqltree.IntegerLiteral, text
	}
	switch given := given.(type) {
	case int:
		number(strconv.Itoa(given))
	case int64:
		number(strconv.FormatInt(given, 10))
	case uint64:
		number(strconv.FormatUint(given, 10))
	case json.Number:
		if plainInteger(given.String()) {
			number(given.String())
		}
	case string:
		v.Kind, v.Text = sqltree.StringLiteral, given
	}
	return v
}
