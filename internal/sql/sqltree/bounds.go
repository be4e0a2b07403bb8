package sqltree

import "fmt"

// Limits of a statement that DuckDB plans in the runtime's process. Nothing interrupts the
// binder, the planner and the evaluation of constants, and no limit counts their memory. A
// worker that overruns is killed instead, so isolated statements have none of them.
//
// They bound what is known of the text: a column can still have a value for which a
// function takes long. Planning takes up to about three seconds at the limits, on one
// processor of 2026.
const (
	mostStarColumns = 32_768    // of all stars; the time grows with the square of those of one
	tableColumns    = 16        // that a star is counted with for a table
	mostJoined      = 64        // tables that are ordered together
	mostCalls       = 500       // inside each other; the time grows with the cube
	mostElements    = 2_000_000 // of a list that constants give
	mostBuilt       = 32 << 20  // bytes of a text that constants give
	mostPattern     = 16 << 10  // bytes of a pattern that constants give
	mostCompared    = 16 << 10  // bytes of a text for an edit distance
	mostDigits      = 16 << 10  // of a BIGNUM
)

// bounds finds what is over a limit.
type bounds struct {
	refs    map[string]int // how often each name of a CTE is read
	columns int            // of all stars so far
	calls   int            // around what is walked
	over    *LimitError    // the first; nil: none
}

// width is what a table reference has: its columns, and the tables that the planner orders
// together with those next to it.
type width struct{ columns, tables int }

// named is the width of a reference by the name that its columns may be qualified with.
type named struct {
	name string
	width
}

// widths are the CTEs in scope, the innermost last.
type widths []named

func (ws widths) find(name string) (width, bool) {
	for i := len(ws) - 1; i >= 0; i-- {
		if ws[i].name == Fold(name) {
			return ws[i].width, true
		}
	}
	return width{}, false
}

// outOfBounds returns what is over the limits of a statement in the runtime's process, or
// nil.
func outOfBounds(root node, st *Statement) *LimitError {
	b := bounds{refs: map[string]int{}}
	for _, r := range st.Reads {
		b.refs[Fold(r.Name)]++
	}
	b.query(root, nil)
	return b.over
}

func (b *bounds) exceed(n node, hint, format string, args ...any) {
	if b.over == nil {
		b.over = &LimitError{fmt.Sprintf(format, args...), hint, firstOffset(map[string]any(n))}
	}
}

// query walks a query node and returns its width.
func (b *bounds) query(n node, ctes widths) width {
	for _, e := range n.ctes() {
		ctes = b.cte(ctes, e.str("key"), e.child("value").child("query").child("node"))
	}
	out := width{tables: 1}
	switch n.str("type") {
	case "SELECT_NODE":
		out = b.selectNode(n, ctes)
	case "SET_OPERATION_NODE":
		out.columns = b.query(n.child("left"), ctes).columns
		b.query(n.child("right"), ctes)
		b.anything(n["children"], ctes)
	case "RECURSIVE_CTE_NODE":
		left := b.query(n.child("left"), ctes)
		b.query(n.child("right"), append(ctes[:len(ctes):len(ctes)], named{Fold(n.str("cte_name")), width{left.columns, 1}}))
		out.columns = left.columns
	case "CTE_NODE":
		out = b.query(n.child("child"), b.cte(ctes, n.str("cte_name"), n.child("query")))
	}
	b.anything(n["modifiers"], ctes)
	return out
}

// cte returns the scope with a CTE. DuckDB computes one that is read several times apart.
func (b *bounds) cte(ctes widths, name string, query node) widths {
	w := b.query(query, ctes)
	if b.refs[Fold(name)] > 1 {
		w.tables = 1
	}
	return append(ctes[:len(ctes):len(ctes)], named{Fold(name), w})
}

func (b *bounds) selectNode(n node, ctes widths) width {
	items := b.from(n.child("from_table"), ctes)
	all := total(items)
	if all.tables > mostJoined {
		b.exceed(n, "join in steps: compute some of the joins in a CTE that is MATERIALIZED, or with GROUP BY",
			"the statement joins %d tables at once; at most %d can be joined in the runtime's process", all.tables, mostJoined)
	}
	out := width{tables: all.tables}
	for _, e := range n.list("select_list") {
		out.columns += max(1, b.stars(e, n.child("from_table"), items))
		b.anything(e, ctes)
	}
	for _, key := range []string{"where_clause", "group_expressions", "having", "qualify", "sample"} {
		b.anything(n[key], ctes)
	}
	if len(n.list("group_expressions")) > 0 || len(n.list("modifiers")) > 0 || n["having"] != nil || n["qualify"] != nil {
		out.tables = 1 // it is planned apart
	}
	return out
}

// stars returns how many columns the stars in an expression give, over the items of FROM, and
// counts them.
func (b *bounds) stars(v any, from node, items []named) int {
	columns := 0
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			columns += b.stars(e, from, items)
		}
	case map[string]any:
		n := node(v)
		if n["cte_map"] != nil {
			return 0
		}
		if n.str("class") != "STAR" {
			for _, e := range v {
				columns += b.stars(e, from, items)
			}
			return columns
		}
		columns = starWidth(n, items)
		if b.columns += columns; b.columns > mostStarColumns {
			b.exceed(from, "name the columns that are needed, or let a * read fewer tables",
				"the stars of the statement give more than %d columns in all, counting %d for each table; at most that many can "+
					"be planned in the runtime's process",
				mostStarColumns, tableColumns)
		}
		columns = min(columns, mostStarColumns+1)
	}
	return columns
}

// starWidth returns the columns of a star over the items of FROM.
func starWidth(n node, items []named) int {
	columns := total(items).columns
	if name := n.str("relation_name"); name != "" {
		if w, ok := widths(items).find(name); ok {
			columns = w.columns
		}
	}
	return max(0, columns-len(n.list("exclude_list")))
}

// from walks a table reference and returns its items.
func (b *bounds) from(n node, ctes widths) []named {
	one := named{Fold(n.str("alias")), width{tableColumns, 1}}
	switch n.str("type") {
	case "", "EMPTY":
		return nil
	case "BASE_TABLE":
		if n.str("catalog_name") == "" && n.str("schema_name") == "" {
			if w, ok := ctes.find(n.str("table_name")); ok {
				one.width = w
			}
		}
		if one.name == "" {
			one.name = Fold(n.str("table_name"))
		}
		b.anything(n["at_clause"], ctes)
	case "SUBQUERY":
		one.width = b.query(n.child("subquery").child("node"), ctes)
	case "JOIN":
		items := append(b.from(n.child("left"), ctes), b.from(n.child("right"), ctes)...)
		b.anything(n["condition"], ctes)
		return joinedBy(n, items)
	case "EXPRESSION_LIST":
		if rows := n.list("values"); len(rows) > 0 {
			first, _ := rows[0].([]any)
			one.columns = len(first)
		}
		b.anything(n["values"], ctes)
	case "PIVOT":
		one.width = total(b.from(n.child("source"), ctes))
		for _, key := range []string{"aggregates", "pivots", "groups"} {
			b.anything(n[key], ctes)
		}
	case "TABLE_FUNCTION": // its rows are a stream
		b.anything(n.child("function")["children"], ctes)
	case "SHOW_REF":
		if q := n.child("query"); q != nil {
			b.query(q, ctes)
		}
	}
	return []named{one}
}

// joinedBy returns the items of a join: columns with the same name are one if the join is
// by name, which is counted as if one side had only those.
func joinedBy(n node, items []named) []named {
	shared := len(n.list("using_columns"))
	if n.str("ref_type") != "NATURAL" && shared == 0 || len(items) < 2 {
		return items
	}
	last := &items[len(items)-1]
	if n.str("ref_type") == "NATURAL" {
		shared = last.columns
	}
	last.columns = max(0, last.columns-shared)
	return items
}

func total(items []named) (sum width) {
	for _, i := range items {
		sum.columns = min(sum.columns+i.columns, mostStarColumns+1)
		sum.tables = min(sum.tables+i.tables, 1_000_000)
	}
	return sum
}

// anything walks a value for the queries and the calls in it.
func (b *bounds) anything(v any, ctes widths) {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			b.anything(e, ctes)
		}
	case map[string]any:
		n := node(v)
		if n["cte_map"] != nil {
			b.query(n, ctes)
			return
		}
		switch n.str("class") {
		case "FUNCTION":
			if b.calls++; b.calls > mostCalls {
				b.exceed(n, "compute parts of it in a subquery in FROM, or write concat(a, b, …) for a || b || …",
					"calls and operators are nested more than %d deep; at most that many can be planned in the runtime's process",
					mostCalls)
			}
			defer func() { b.calls-- }()
			b.call(n)
		case "CAST":
			b.cast(n)
		}
		for _, e := range v {
			b.anything(e, ctes)
		}
	}
}
