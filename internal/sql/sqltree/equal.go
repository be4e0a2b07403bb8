package sqltree

import (
	"slices"
	"strconv"
)

// Equality is a condition that each row of a relation must meet to matter to its query:
// column = constant, or column IN (constants).
type Equality struct {
	Column string
	Table  bool       // the column is written with the name of its table
	Values []Constant // of one kind
}

// Constant is a literal, a parameter, or a name that is an argument where the text is the
// body of a function; or a text of several of them.
type Constant struct {
	Kind  ArgKind  // IntegerLiteral, StringLiteral, Parameter or ColumnRef; Expression: see Joined
	Text  string   // the value of a literal, the name or number of a Parameter
	Parts []string // of a ColumnRef
	Cast  string   // DuckDB's name of the type to which it is cast; "" if it is not
	// Joined are the parts of a || b and concat(a, b), in their order.
	Joined []Constant
}

// maxEqual is the number of constants of one [Equality]; DuckDB uses an index for 50.
const maxEqual = 50

// exactInteger is the limit of integers that a tree, whose numbers are floats, has exactly.
const exactInteger = 1 << 53

// fromTable is a table in the FROM clause of one query.
type fromTable struct {
	node
	name string // folded alias or name
}

// equalities finds the conditions on relations of the FROM clause of a SELECT node, which
// are those of w.st from index first on. Rows that do not meet such a condition change
// nothing: it is a conjunct of WHERE, and no join or sample before it counts rows.
func (w *walker) equalities(n node, sc scope, first int) {
	if n["where_clause"] == nil || n["sample"] != nil || len(sc.lambda) > 0 {
		return
	}
	refs, ok := fromTables(n.child("from_table"), nil)
	if !ok {
		return
	}
	names := map[string]int{}
	for _, r := range refs {
		names[r.name]++
	}
	conditions := conjuncts(n.child("where_clause"), nil)
	for _, r := range refs {
		if !r.isTable() || names[r.name] > 1 {
			continue
		}
		for i := first; i < len(w.st.Relations); i++ {
			if relation := &w.st.Relations[i]; relation.Offset >= 0 && relation.Offset == r.offset() {
				relation.Equal = equalTo(conditions, r.name, len(refs) == 1)
				relation.Cases = cases(n.child("where_clause"), r.name, len(refs) == 1)
			}
		}
	}
}

// fromTables returns the tables of a FROM clause; false if its joins may match rows by
// their order or number.
func fromTables(n node, all []fromTable) ([]fromTable, bool) {
	switch n.str("type") {
	case "JOIN":
		switch n.str("ref_type") {
		case "REGULAR", "CROSS":
		default:
			return nil, false
		}
		switch n.str("join_type") {
		case "INNER", "LEFT", "RIGHT", "FULL", "OUTER":
		default:
			return nil, false
		}
		if len(n.list("using_columns")) > 0 {
			return nil, false
		}
		all, ok := fromTables(n.child("left"), all)
		if !ok {
			return nil, false
		}
		return fromTables(n.child("right"), all)
	case "BASE_TABLE", "SUBQUERY":
		name := n.str("alias")
		if name == "" {
			name = n.str("table_name")
		}
		return append(all, fromTable{n, Fold(name)}), true
	}
	return nil, false
}

// conjuncts returns the conditions that AND connects.
func conjuncts(n node, all []node) []node {
	if n.str("class") != "CONJUNCTION" || n.str("type") != "CONJUNCTION_AND" {
		return append(all, n)
	}
	for _, part := range n.nodes("children") {
		all = conjuncts(part, all)
	}
	return all
}

// cases returns the alternatives of a condition: each row meets all conditions of one of them. There
// is one without conditions if they are too many.
func cases(n node, table string, only bool) [][]Equality {
	kind := n.str("type")
	if n.str("class") != "CONJUNCTION" || kind != "CONJUNCTION_AND" && kind != "CONJUNCTION_OR" {
		return [][]Equality{equalTo([]node{n}, table, only)}
	}
	var all [][]Equality
	for i, part := range n.nodes("children") {
		these := cases(part, table, only)
		switch {
		case i == 0:
			all = these
		case kind == "CONJUNCTION_OR":
			all = append(all, these...)
		case len(all)*len(these) <= maxEqual:
			all = both(all, these)
		}
		if len(all) > maxEqual {
			return [][]Equality{nil}
		}
	}
	return all
}

// both returns the alternatives of two conditions together.
func both(a, b [][]Equality) (all [][]Equality) {
	for _, x := range a {
		for _, y := range b {
			all = append(all, slices.Concat(x, y))
		}
	}
	return all
}

// equalTo returns the conditions on columns of the table of that name; only says that the
// query has no other table.
func equalTo(conditions []node, table string, only bool) []Equality {
	var out []Equality
	for _, c := range conditions {
		var operands []node
		switch {
		case c.str("class") == "COMPARISON" && c.str("type") == "COMPARE_EQUAL":
			operands = []node{c.child("left"), c.child("right")}
		case c.str("class") == "OPERATOR" && c.str("type") == "COMPARE_IN":
			operands = c.nodes("children")
		}
		if len(operands) < 2 || len(operands) > maxEqual+1 {
			continue
		}
		if e, ok := equality(operands, table, only); ok {
			out = append(out, e)
		}
		if c.str("class") == "COMPARISON" {
			if e, ok := equality([]node{operands[1], operands[0]}, table, only); ok {
				out = append(out, e)
			}
		}
	}
	return out
}

// equality reads a column and constants.
func equality(operands []node, table string, only bool) (e Equality, ok bool) {
	column := operands[0]
	switch parts := strs(column.list("column_names")); {
	case column.str("class") != "COLUMN_REF":
		return e, false
	case len(parts) == 1 && only:
		e.Column = parts[0]
	case len(parts) == 2 && Fold(parts[0]) == table:
		e.Column, e.Table = parts[1], true
	default:
		return e, false
	}
	for _, o := range operands[1:] {
		value, ok := constant(o)
		if !ok {
			return Equality{}, false
		}
		if e.Values = append(e.Values, value); value.Kind != e.Values[0].Kind || value.Cast != e.Values[0].Cast {
			return Equality{}, false
		}
	}
	return e, true
}

// constant reads a constant.
func constant(n node) (Constant, bool) {
	switch n.str("class") {
	case "PARAMETER":
		return Constant{Kind: Parameter, Text: n.str("identifier")}, n.str("identifier") != ""
	case "COLUMN_REF":
		parts := strs(n.list("column_names"))
		return Constant{Kind: ColumnRef, Parts: parts}, len(parts) > 0
	case "CAST":
		inner, ok := constant(n.child("child"))
		ok = ok && inner.Kind != ColumnRef
		twice := n.child("child").str("class") == "CAST"
		inner.Cast = n.child("cast_type").str("id")
		return inner, ok && !twice && !n.flag("try_cast")
	case "CONSTANT":
		switch value := n.child("value"); value["value"].(type) {
		case string:
			return Constant{Kind: StringLiteral, Text: value.str("value")}, literalKind(value) == StringLiteral
		case float64:
			f := value["value"].(float64)
			return Constant{Kind: IntegerLiteral, Text: strconv.FormatFloat(f, 'f', -1, 64)},
				literalKind(value) == IntegerLiteral && f < exactInteger && f > -exactInteger
		}
	case "SUBQUERY":
		return scalar(n)
	case "FUNCTION":
		return joined(n)
	}
	return Constant{}, false
}

// constants reads a list of constants; nil if n is no such list.
func constants(n node) []Constant {
	if n.str("class") != "FUNCTION" || Fold(n.str("function_name")) != "list_value" {
		return nil
	}
	list := []Constant{}
	for _, element := range n.nodes("children") {
		c, ok := constant(element)
		if !ok {
			return nil
		}
		list = append(list, c)
	}
	return list
}

// joined reads a || b and concat(a, b).
func joined(n node) (c Constant, ok bool) {
	name, schema := Fold(n.str("function_name")), Fold(n.str("schema"))
	if name != "||" && name != "concat" || n["filter"] != nil {
		return c, false
	}
	if schema != "" && schema != "main" {
		return c, false
	}
	for _, part := range n.nodes("children") {
		if part.str("class") == "CAST" && part.child("cast_type").str("id") == "VARCHAR" {
			part = part.child("child")
		}
		piece, ok := constant(part)
		if !ok || piece.Cast != "" {
			return c, false
		}
		c.Joined = append(c.Joined, piece)
	}
	return c, len(c.Joined) > 0
}

// scalar reads (SELECT column FROM table), as which a table function names an argument.
func scalar(n node) (Constant, bool) {
	query := n.child("subquery").child("node")
	shape, from := shapeOf(query), query.child("from_table")
	if n.str("subquery_type") != "SCALAR" || !shape.Plain || shape.Columns != 1 {
		return Constant{}, false
	}
	if !from.isTable() || from.str("schema_name") != "" || from.str("alias") != "" {
		return Constant{}, false
	}
	column := query.nodes("select_list")[0]
	parts := strs(column.list("column_names"))
	return Constant{Kind: ColumnRef, Parts: append([]string{from.str("table_name")}, parts...)},
		column.str("class") == "COLUMN_REF" && len(parts) == 1
}
