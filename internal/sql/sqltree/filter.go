package sqltree

import "strconv"

// Filter is what a query with one table, without subqueries and CTEs, needs of its rows.
// The query has the same result if the table leaves out rows that do not meet Where, and,
// if Limit is not 0 and all of Where is applied, rows after so many.
type Filter struct {
	Where *Condition // nil: all rows; parts of AND that are not understood are left out
	Whole bool       // nothing was left out
	Limit int64      // rows; 0: no limit that the table could apply
	// Plain says that the rows are those of the table that meet the condition, and columns of
	// them under their own names.
	Plain bool
}

// Condition is a condition on columns of a table.
type Condition struct {
	Op     string   // AND, OR, =, <>, <, <=, >, >=, IN, IS NULL, IS NOT NULL
	Parts  []string // of the column's name: with that of the table, or without
	Values []Constant
	Of     []*Condition // of AND and OR
}

var comparisons = map[string]string{
	"COMPARE_EQUAL": "=", "COMPARE_NOTEQUAL": "<>", "COMPARE_LESSTHAN": "<", "COMPARE_LESSTHANOREQUALTO": "<=",
	"COMPARE_GREATERTHAN": ">", "COMPARE_GREATERTHANOREQUALTO": ">=",
}

// mirrored are comparisons with their sides swapped.
var mirrored = map[string]string{"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}

// filterOf returns the filter of a query node, or nil if it is not a SELECT from one table.
func filterOf(n node) *Filter {
	from := n.child("from_table")
	if n.str("type") != "SELECT_NODE" || len(n.ctes()) > 0 || n["sample"] != nil {
		return nil
	}
	if !from.isTable() || from["at_clause"] != nil {
		return nil
	}
	f := &Filter{Whole: true, Plain: n.lacks("having", "qualify", "group_expressions") &&
		n.str("aggregate_handling") == "STANDARD_HANDLING" && plainList(n)}
	if where := n.child("where_clause"); where != nil {
		f.Where, f.Whole = condition(where)
	}
	for _, modifier := range n.nodes("modifiers") {
		if f.Plain { // there was no modifier before
			f.Limit = limitOf(modifier)
		}
		f.Plain = false
	}
	return f
}

// limitOf returns the number of rows of a LIMIT that is a literal, without OFFSET; else 0.
func limitOf(modifier node) (rows int64) {
	count, ok := constant(modifier.child("limit"))
	if !ok || modifier.str("type") != "LIMIT_MODIFIER" || modifier["offset"] != nil {
		return 0
	}
	if count.Kind == IntegerLiteral && count.Cast == "" {
		rows, _ = strconv.ParseInt(count.Text, 10, 64)
	}
	return rows
}

// plainList reports whether the select list has columns under their own names only.
func plainList(n node) bool {
	for _, entry := range n.nodes("select_list") {
		switch class := entry.str("class"); {
		case entry.str("alias") != "":
			return false
		case class == "COLUMN_REF" && len(entry.list("column_names")) == 1:
		case class == "STAR" && !entry.flag("columns") && entry.lacks("expr", "replace_list", "rename_list"):
		default:
			return false
		}
	}
	return true
}

// condition reads a condition; nil if nothing of it is understood. whole says that all of
// it is.
func condition(n node) (c *Condition, whole bool) {
	switch class, kind := n.str("class"), n.str("type"); {
	case class == "CONJUNCTION" && (kind == "CONJUNCTION_AND" || kind == "CONJUNCTION_OR"):
		return junction(n, kind == "CONJUNCTION_OR")
	case class == "COMPARISON" && comparisons[kind] != "":
		op := comparisons[kind]
		if c = compared(op, n.child("left"), n.child("right")); c == nil {
			c = compared(mirrored[op], n.child("right"), n.child("left"))
		}
	case class == "BETWEEN" && kind == "COMPARE_BETWEEN":
		lower, upper := compared(">=", n.child("input"), n.child("lower")), compared("<=", n.child("input"), n.child("upper"))
		if lower != nil && upper != nil {
			c = &Condition{Op: "AND", Of: []*Condition{lower, upper}}
		}
	case class == "OPERATOR":
		operands := n.nodes("children")
		switch {
		case kind == "COMPARE_IN" && len(operands) > 1:
			c = compared("IN", operands[0], operands[1:]...)
		case kind == "OPERATOR_IS_NULL" && len(operands) == 1:
			c = compared("IS NULL", operands[0])
		case kind == "OPERATOR_IS_NOT_NULL" && len(operands) == 1:
			c = compared("IS NOT NULL", operands[0])
		}
	}
	return c, c != nil
}

// junction reads AND and OR. Parts of AND may be left out; OR needs all of them.
func junction(n node, or bool) (*Condition, bool) {
	c, whole := &Condition{Op: "AND"}, true
	if or {
		c.Op = "OR"
	}
	for _, part := range n.nodes("children") {
		p, all := condition(part)
		whole = whole && all
		if p != nil {
			c.Of = append(c.Of, p)
		} else if or {
			return nil, false
		}
	}
	if len(c.Of) == 0 {
		return nil, false
	}
	return c, whole
}

// compared returns the comparison of a column with constants.
func compared(op string, column node, values ...node) *Condition {
	c := &Condition{Op: op, Parts: strs(column.list("column_names"))}
	if column.str("class") != "COLUMN_REF" || len(c.Parts) == 0 || len(c.Parts) > 2 {
		return nil
	}
	for _, v := range values {
		value, ok := constant(v)
		literal := value.Kind == StringLiteral || value.Kind == IntegerLiteral
		if !ok || !literal || len(value.Joined) > 0 {
			return nil
		}
		c.Values = append(c.Values, value)
	}
	return c
}
