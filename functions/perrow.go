package functions

import (
	"github.com/spiced-sql/spiced/internal/sql/sqltree"
	"github.com/spiced-sql/spiced/spicepod"
)

// severalRows are DuckDB's functions that turn a row into several.
var severalRows = map[string]bool{
	"unnest": true, "unlist": true, "generate_subscripts": true,
	"regexp_split_to_table": true,
}

// perRow refuses what would not give each call one value of its own. A function that
// returns several rows would repeat the rows of the statement. A subquery is computed once
// for the statement, or once for equal arguments, and so is a random value in it.
func (b *builder) perRow() error {
	if b.f.IsTable() {
		return nil
	}
	for _, call := range b.p.st.Calls {
		g := b.c.done[fold(call.Name)]
		switch {
		case g == nil && severalRows[fold(call.Name)] && !call.Inner && !call.Table:
			return at(b.p.offset(call.Offset), call.Name+" returns several rows, and a scalar function returns one value",
				"return the list itself, an element of it, or aggregate it in a subquery: (SELECT max(v) FROM unnest(…) AS t(v)); "+
					"or declare kind: table")
		case b.f.Volatility == spicepod.Volatile && call.Inner && b.draws(call, g):
			return at(b.p.offset(call.Offset),
				call.Name+" is called in a subquery, which DuckDB computes once for rows with equal arguments, and the "+
					"function is volatile",
				"call "+call.Name+" outside of subqueries; a random row is (SELECT list(v ORDER BY v) FROM t)[1 + floor(random() "+
					"* (SELECT count(*) FROM t))::BIGINT]; or declare volatility: stable")
		}
	}
	return nil
}

// draws reports whether a call, which may be of g, returns another value for each row.
func (b *builder) draws(call sqltree.Call, g *Function) bool {
	if g != nil {
		return g.facts.draws
	}
	return b.c.db.Builtins().Random(call.Name)
}
